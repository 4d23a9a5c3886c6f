//! The exact top-k inner product on the CPU: nominate in f32, rescore in f64.
//!
//! ```text
//! threshold[query] = -inf, candidates[query] = {}
//! for each block of vectors, on every thread:
//!     error[query] = bound of |f32 score - score| for the block's longest vector        (bounds.rs)
//!     for each vector x, query q:
//!         if f32 score(q, x) + error[q] >= threshold[q]: add x to candidates[q]         (scan.rs)
//!     when candidates[q] is full:                                                       (candidates.rs)
//!         threshold[q] = its k-th best lower bound; drop the upper bounds below it
//! for each query: rescore its candidates in f64, sort, keep k                           (rescore.rs)
//! ```
//!
//! A dropped vector's score is below that of k others, by bounds that hold for the rounded score: so the
//! result does not depend on blocks, threads, or what is dropped when.
//!
//! Cost model: a block of vectors is read from memory once per group of queries, and stays in the
//! second-level cache while all queries pass; so few queries cost bytes / memory bandwidth, many cost
//! 2 * queries * vectors * dim / multiply-add rate. The scores of a tile are compared in registers and
//! never written down. With vectors in random order, about k (1 + ln(n / k)) are nominated a query.

mod blocks;
mod bounds;
mod candidates;
mod rescore;
mod rows;
mod scan;
mod thresholds;

use std::sync::atomic::AtomicUsize;

use rayon::prelude::*;
use toller_ir::{Hit, Ranking};

use self::blocks::Blocks;
use self::candidates::{Candidate, Candidates, best, capacity};
use self::rescore::{Pair, Scores};
use self::scan::{FEW, Group, Scan};
use self::thresholds::Thresholds;
use crate::Collection;
use crate::simd::{Isa, dispatch_on};

/// Bytes of a block of vectors in f32: a share of the second-level cache. Not tuned yet.
const BLOCK_BYTES: usize = 256 << 10;
/// The same for [`FEW`] queries: first-level cache, since a row is used few times.
const BLOCK_BYTES_FEW: usize = 32 << 10;
/// A multiple of the rows of every instruction set's register tile.
const TILE_ROWS: usize = 12;
/// Blocks that every thread should get, so that the last ones end together.
const BLOCKS_PER_THREAD: usize = 8;

/// Bytes of candidates of all threads: what a group of queries may need.
const CANDIDATE_BYTES: usize = 256 << 20;
/// Queries of a group, at most: enough that reading the vectors again for the next group costs nothing.
const GROUP_QUERIES: usize = 4096;

/// Pairs of query and vector that are rescored as one piece of work.
const RESCORE_AT_ONCE: usize = 512;

/// See [`crate::ip_topk`]. The arguments are checked.
pub(crate) fn search(isa: Isa, collection: &Collection<'_>, queries: &[f32], k: usize) -> Vec<Ranking> {
    let threads = rayon::current_num_threads();
    // More candidates than vectors there cannot be.
    let kept = capacity(k).min(collection.rows().max(1)) * size_of::<Candidate>();
    let group_queries = (CANDIDATE_BYTES / threads / kept).clamp(1, GROUP_QUERIES);
    let groups = queries.chunks(group_queries * collection.dim());
    groups.flat_map(|queries| search_group(isa, collection, queries, k, threads)).collect()
}

fn search_group(
    isa: Isa,
    collection: &Collection<'_>,
    queries: &[f32],
    k: usize,
    threads: usize,
) -> Vec<Ranking> {
    let dim = collection.dim();
    let group = Group::new(queries, dim, k);
    let blocks = Blocks::new(collection, block_rows(collection, group.count, threads));
    let thresholds = Thresholds::new(group.count);
    let taken = AtomicUsize::new(0);
    let scan = |_| {
        let (group, blocks, taken, thresholds) = (&group, &blocks, &taken, &thresholds);
        dispatch_on(isa, Scan { collection, group, blocks, taken, thresholds })
    };
    let found: Vec<Vec<Candidates>> =
        (0..threads.min(blocks.count())).into_par_iter().with_max_len(1).map(scan).collect();

    let merge = |query: usize| {
        let mut candidates = Candidates::default();
        for found in &found {
            candidates.extend(found[query].entries());
        }
        candidates.reduce(k, thresholds.get(query));
        candidates.entries().iter().map(|candidate| Pair::new(candidate.doc, query)).collect()
    };
    let pairs: Vec<Vec<Pair>> = (0..group.count).into_par_iter().map(merge).collect();
    drop(found);
    rescore(isa, collection, queries, pairs, k)
}

/// Scores the nominated vectors of each query, and ranks them.
fn rescore(
    isa: Isa,
    collection: &Collection<'_>,
    queries: &[f32],
    nominated: Vec<Vec<Pair>>,
    k: usize,
) -> Vec<Ranking> {
    // Room for each query's hits, and then all pairs in the order of the vectors, for the memory's sake.
    let mut hits: Vec<Vec<Hit>> = nominated.iter().map(|pairs| Vec::with_capacity(pairs.len())).collect();
    let mut pairs = nominated.concat();
    drop(nominated);
    pairs.par_sort_unstable();
    let mut scores = vec![0.0; pairs.len()];
    let pieces = pairs.par_chunks(RESCORE_AT_ONCE).zip(scores.par_chunks_mut(RESCORE_AT_ONCE));
    pieces.for_each(|(pairs, scores)| dispatch_on(isa, Scores { collection, queries, pairs, scores }));
    for (pair, score) in pairs.iter().zip(scores) {
        hits[pair.query()].push(Hit::new(pair.doc(), score));
    }
    hits.into_par_iter().map(|hits| Ranking { hits: best(hits, k) }).collect()
}

/// Rows of a block: what fits the cache, but enough blocks for all threads.
fn block_rows(collection: &Collection<'_>, queries: usize, threads: usize) -> usize {
    let bytes = if queries <= FEW { BLOCK_BYTES_FEW } else { BLOCK_BYTES };
    let cached = bytes / (collection.dim() * size_of::<f32>());
    let shared = collection.rows() / (threads * BLOCKS_PER_THREAD);
    (cached.min(shared) / TILE_ROWS).max(1) * TILE_ROWS
}
