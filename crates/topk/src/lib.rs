//! The exact top-k inner product: a reference, the CPU and CUDA.

mod collection;
mod cpu;
pub mod cuda;
mod error;
mod first_ranks;
mod options;
mod quantize;
pub mod reference;
mod sample;
mod top_k;

pub use toller_ir::{DocSet, Filter};
use toller_simd::Isa;

pub use self::collection::{Codes, Collection, Segment, Vectors};
pub use self::error::IpTopkError;
pub use self::first_ranks::{FirstRank, ip_first_ranks};
pub use self::options::{IpTopkOptions, ReadAhead, Scan};
pub use self::quantize::{Quantized, quantize};
pub use self::top_k::TopK;

/// The `k` vectors of the largest inner product with each query, in the order of [`toller_ir::Hit`]; all that
/// the filter admits where those are fewer than `k`. `queries` is `[queries, dim]`.
///
/// A score is the inner product in f64, accumulated in one fixed order and rounded to f32 once; beyond the
/// range of f32 it is infinite. The order: number `i` goes to partial sum `i % 16`, in ascending order; then
/// the upper half of the partial sums is added to the lower half until one is left. So the hits have the same
/// bits on every CPU, for any scan, batch of queries, division into segments and number of threads.
///
/// Runs on rayon's current thread pool. Besides the result it needs memory for a few times `k` candidates per
/// query and thread. Queries are searched in groups whose candidates fit in some hundred MiB (at least one
/// query at a time), whatever the number of vectors.
///
/// # Errors
/// [`IpTopkError::ZeroK`], [`IpTopkError::QueryShape`], [`IpTopkError::QueryNotFinite`],
/// [`IpTopkError::ExclusionShape`], and [`IpTopkError::DimTooLarge`] for [`Scan::Int8`].
pub fn ip_topk(
    collection: &Collection<'_>,
    queries: &[f32],
    k: usize,
    options: &IpTopkOptions<'_>,
) -> Result<TopK, IpTopkError> {
    collection.check_search(queries, k, &options.filter)?;
    options.scan.check_dim(collection.dim())?;
    Ok(cpu::search(Isa::active(), collection, queries, k, options))
}

#[cfg(test)]
mod tests;
