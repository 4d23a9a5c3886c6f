//! The exact top-k inner product on the CPU: nominate in f32, f16 or int8, rescore in f64.
//!
//! ```text
//! search a sample of the blocks; threshold[query] = a score that k vectors almost certainly reach (group.rs)
//! candidates[query] = {}
//! for each other block of vectors, on every thread:                                    (thread_scan.rs)
//!     choose a pass                                                                         (passes.rs)
//!     for each vector x, query q:
//!         if an upper bound of score(q, x) >= threshold[q]:
//!             add x to candidates[q]                                   (compare.rs, floats.rs, codes/)
//!     when candidates[q] is full:                                                         (nominate.rs)
//!         threshold[q] = its k-th best lower bound; drop the upper bounds below it
//! for each query: rescore its candidates in f64, sort, keep k                               (ranked.rs)
//! for each query for which fewer than k reach the first threshold: search again without it  (group.rs)
//! ```
//!
//! A dropped vector scores less than k others, by bounds that hold for the rounded score (bounds.rs, codes/).
//! So the result does not depend on the pass, the blocks, the threads, or what is dropped when.
//!
//! Cost model: a block of vectors is read from memory once per group of queries, while the previous block is
//! multiplied (prefetch.rs), and stays in the second-level cache while all queries pass. So few queries cost
//! bytes / memory bandwidth, and many cost 2 * queries * vectors * dim / multiply-add rate. Int8 is quicker
//! than f32 by the bytes of stored codes, or by the rate of byte products even where the vectors are rounded
//! during the scan. The sums of a tile are compared in registers; they wait in memory only where the depth of
//! the product is divided: f32 vectors of more than 768 numbers, on AVX-512. After the sample, the other
//! blocks nominate two to three times k vectors per query (more in int8, by the width of its bounds).
//! Thresholds that rise from nothing would nominate k (1 + ln(n / k)).

mod blocks;
mod bounds;
mod candidates;
mod codes;
mod collect;
mod compare;
mod count;
mod first_ranks;
mod floats;
mod group;
mod nominate;
mod packed_queries;
mod passes;
mod prefetch;
mod queries;
mod ranked;
mod rescore;
mod rows;
mod thread_scan;
mod thresholds;

use toller_simd::Isa;

use self::blocks::Blocks;
use self::candidates::{Candidate, most};
pub(crate) use self::first_ranks::first_ranks;
use self::group::search_group;
use self::queries::QueryGroup;
use crate::collection::Collection;
use crate::options::IpTopkOptions;
use crate::top_k::TopK;

/// Bytes of a block of vectors in f32: a share of the second-level cache. Not swept.
const BLOCK_BYTES: usize = 256 << 10;
/// A multiple of the rows of every instruction set's register tile.
const TILE_ROWS: usize = 12;
/// Blocks that every thread should get, so that the last blocks end together.
const BLOCKS_PER_THREAD: usize = 8;

/// Bytes of candidates of all threads that a group of queries may need.
const CANDIDATE_BYTES: usize = 256 << 20;
/// The most queries of a group: enough that reading the vectors again for the next group costs nothing.
const GROUP_QUERIES: usize = 4096;

/// See [`crate::ip_topk`]. The arguments are checked.
pub(crate) fn search(
    isa: Isa,
    collection: &Collection<'_>,
    queries: &[f32],
    k: usize,
    options: &IpTopkOptions<'_>,
) -> TopK {
    let threads = rayon::current_num_threads();
    // There are never more candidates than vectors.
    let kept = most(k).min(collection.rows().max(1)) * size_of::<Candidate>();
    let group_queries = (CANDIDATE_BYTES / threads / kept).clamp(1, GROUP_QUERIES);
    let dim = collection.dim();
    let blocks = Blocks::new(collection, block_rows(collection, threads));
    let mut found = TopK::default();
    for (index, queries) in queries.chunks(group_queries * dim).enumerate() {
        let first = index * group_queries;
        let numbers: Vec<usize> = (first..first + queries.len() / dim).collect();
        let group = QueryGroup { collection, queries, numbers: &numbers, filter: options.filter };
        let of_group = search_group(isa, group, k, &blocks, options);
        found.rankings.extend(of_group.rankings);
        found.nominated.extend(of_group.nominated);
    }
    found
}

/// Rows of a block: as many as fit the cache, but few enough that all threads get blocks.
fn block_rows(collection: &Collection<'_>, threads: usize) -> usize {
    let cached = BLOCK_BYTES / (collection.dim() * size_of::<f32>());
    let shared = collection.rows() / (threads * BLOCKS_PER_THREAD);
    (cached.min(shared) / TILE_ROWS).max(1) * TILE_ROWS
}
