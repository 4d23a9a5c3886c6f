//! The exact top-k inner product: what is searched, what can be wrong, and the operation.

mod collection;
mod cpu;
pub mod cuda;
mod error;
mod options;
mod quantized;
pub mod reference;

use toller_ir::Ranking;
use toller_simd::Isa;

pub use self::collection::{Codes, Collection, Segment, Vectors};
pub use self::error::IpTopkError;
pub use self::options::{IpTopkOptions, ReadAhead, Scan, UnknownScan};
pub use self::quantized::{Quantized, quantize};
pub use toller_ir::{DocSet, Filter};

/// The most numbers a vector can have for the int8 scan: 255 * 127 times as many fit in 31 bits.
pub(crate) const MAX_INT8_DIM: usize = 65_536;

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopK {
    /// The hits of each query, best first.
    pub rankings: Vec<Ranking>,
    /// For each query, how many vectors the scan nominated, to be scored again. It depends on the scan, the
    /// threads and their timing.
    pub nominated: Vec<usize>,
}

/// The `k` vectors of the largest inner product with each query, in the order of [`toller_ir::Hit`];
/// all that the filter admits where those are fewer than `k`. `queries` is `[queries, dim]`.
///
/// A score is the inner product in f64, accumulated in one fixed order (number `i` goes to partial sum
/// `i % 16`, in ascending order; then the upper half of the partial sums is added to the lower half until
/// one is left) and rounded to f32 once; beyond the range of f32 it is infinite. So the hits have the same
/// bits on every CPU, for any scan, any batch of queries, any division into segments and any number of
/// threads.
///
/// Runs on rayon's current thread pool. Besides the result it needs memory for a few times `k` candidates a
/// query and thread, of as many queries at a time as fit in some hundred MiB (at least one), whatever the
/// number of vectors.
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
    check(collection, queries, k, &options.filter)?;
    if options.scan == Scan::Int8 && collection.dim() > MAX_INT8_DIM {
        return Err(IpTopkError::DimTooLarge { dim: collection.dim(), max: MAX_INT8_DIM });
    }
    Ok(cpu::search(Isa::active(), collection, queries, k, options))
}

/// Checks what [`ip_topk`] is given.
pub(crate) fn check(
    collection: &Collection<'_>,
    queries: &[f32],
    k: usize,
    filter: &Filter<'_>,
) -> Result<(), IpTopkError> {
    let dim = collection.dim();
    if k == 0 {
        return Err(IpTopkError::ZeroK);
    }
    if !queries.len().is_multiple_of(dim) {
        return Err(IpTopkError::QueryShape { len: queries.len(), dim });
    }
    let (lists, queries_count) = (filter.excluded.len(), queries.len() / dim);
    if lists != 0 && lists != queries_count {
        return Err(IpTopkError::ExclusionShape { lists, queries: queries_count });
    }
    match queries.iter().position(|value| !value.is_finite()) {
        Some(at) => {
            Err(IpTopkError::QueryNotFinite { query: at / dim, column: at % dim, value: queries[at] })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
