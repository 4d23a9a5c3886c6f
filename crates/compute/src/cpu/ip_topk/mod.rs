//! The exact top-k inner product on the CPU: nominate in f32, f16 or int8, rescore in f64.
//!
//! ```text
//! threshold[query] = -inf, candidates[query] = {}
//! for each block of vectors, on every thread:
//!     choose a pass                                                                     (choice.rs)
//!     for each vector x, query q:
//!         if an upper bound of score(q, x) >= threshold[q]: add x to candidates[q]      (numbers.rs, codes.rs)
//!     when candidates[q] is full:                                                       (nominate.rs)
//!         threshold[q] = its k-th best lower bound; drop the upper bounds below it
//! for each query: rescore its candidates in f64, sort, keep k                           (rescore.rs)
//! ```
//!
//! A dropped vector's score is below that of k others, by bounds that hold for the rounded score (bounds.rs,
//! codes.rs): so the result does not depend on the pass, the blocks, the threads, or what is dropped when.
//!
//! Cost model: a block of vectors is read from memory once per group of queries, while the block before it is
//! multiplied (ahead.rs), and stays in the second-level cache while all queries pass. So few queries cost
//! bytes / memory bandwidth, many cost 2 * queries * vectors * dim / multiply-add rate, and int8 is quicker
//! than f32 by the bytes of stored codes, or by the rate of byte products even where it has to round the
//! vectors first. The sums of a tile are compared in registers and never written down. With vectors in random
//! order, about k (1 + ln(n / k)) are nominated a query.

mod ahead;
mod blocks;
mod bounds;
mod candidates;
mod choice;
mod codes;
mod few;
mod nominate;
mod numbers;
mod rescore;
mod rows;
mod scan;
mod thresholds;

use std::sync::atomic::AtomicUsize;

use rayon::prelude::*;
use toller_ir::{Hit, Ranking};

use self::blocks::Blocks;
use self::candidates::{Candidate, Candidates, best, most};
use self::nominate::{Group, Nominated};
use self::rescore::{Pair, Scores};
use self::scan::{Prepared, Scan};
use self::thresholds::Thresholds;
use crate::simd::{Isa, dispatch_bytes_on, dispatch_on};
use crate::{Collection, IpTopkOptions, TopK};

/// Bytes of a block of vectors in f32: a share of the second-level cache. Not swept.
const BLOCK_BYTES: usize = 256 << 10;
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
pub(crate) fn search(
    isa: Isa,
    collection: &Collection<'_>,
    queries: &[f32],
    k: usize,
    options: &IpTopkOptions<'_>,
) -> TopK {
    let threads = rayon::current_num_threads();
    // More candidates than vectors there cannot be.
    let kept = most(k).min(collection.rows().max(1)) * size_of::<Candidate>();
    let group_queries = (CANDIDATE_BYTES / threads / kept).clamp(1, GROUP_QUERIES);
    let dim = collection.dim();
    let mut found = TopK::default();
    for (index, queries) in queries.chunks(group_queries * dim).enumerate() {
        let (count, first) = (queries.len() / dim, index * group_queries);
        let group = Group { collection, queries, count, first, k, filter: options.filter };
        let of_group = search_group(isa, group, options, threads);
        found.rankings.extend(of_group.rankings);
        found.nominated.extend(of_group.nominated);
    }
    found
}

fn search_group(isa: Isa, group: Group<'_>, options: &IpTopkOptions<'_>, threads: usize) -> TopK {
    let Group { collection, queries, count, k, .. } = group;
    let prepared = Prepared::new(options.scan, queries, collection.dim());
    let blocks = Blocks::new(collection, block_rows(collection, threads));
    let thresholds = Thresholds::new(count);
    let taken = AtomicUsize::new(0);
    let scan = |_| {
        let (prepared, blocks, taken, thresholds) = (&prepared, &blocks, &taken, &thresholds);
        let (precision, read_ahead) = (options.scan, options.read_ahead);
        dispatch_bytes_on(isa, Scan { group, prepared, precision, blocks, taken, thresholds, read_ahead })
    };
    let found: Vec<Nominated> =
        (0..threads.min(blocks.count())).into_par_iter().with_max_len(1).map(scan).collect();

    let merge = |query: usize| {
        let mut candidates = Candidates::default();
        for found in &found {
            candidates.extend(found.candidates[query].entries());
        }
        candidates.reduce(k, thresholds.get(query));
        candidates
    };
    let candidates: Vec<Candidates> = (0..count).into_par_iter().map(merge).collect();
    let mut nominated = vec![0; count];
    for found in &found {
        nominated.iter_mut().zip(&found.rescored).for_each(|(sum, rescored)| *sum += rescored);
    }
    drop(found);
    rescore(isa, group, candidates, nominated)
}

/// Scores the candidates of each query that have no score yet, and ranks them all.
fn rescore(isa: Isa, group: Group<'_>, candidates: Vec<Candidates>, mut nominated: Vec<usize>) -> TopK {
    let Group { collection, queries, k, .. } = group;
    let mut hits: Vec<Vec<Hit>> = Vec::with_capacity(candidates.len());
    let mut pairs = Vec::new();
    for (query, candidates) in candidates.into_iter().enumerate() {
        let mut known = Vec::with_capacity(candidates.len());
        for candidate in candidates.entries() {
            match candidate.score() {
                Some(score) => known.push(Hit::new(candidate.doc, score)),
                None => pairs.push(Pair::new(candidate.doc, query)),
            }
        }
        nominated[query] += candidates.len() - known.len();
        hits.push(known);
    }
    // In the order of the vectors, for the memory's sake.
    pairs.par_sort_unstable();
    let mut scores = vec![0.0; pairs.len()];
    let pieces = pairs.par_chunks(RESCORE_AT_ONCE).zip(scores.par_chunks_mut(RESCORE_AT_ONCE));
    pieces.for_each(|(pairs, scores)| dispatch_on(isa, Scores { collection, queries, pairs, scores }));
    for (pair, score) in pairs.iter().zip(scores) {
        hits[pair.query()].push(Hit::new(pair.doc(), score));
    }
    let rankings = hits.into_par_iter().map(|hits| Ranking { hits: best(hits, k) }).collect();
    TopK { rankings, nominated }
}

/// Rows of a block: what fits the cache, but enough blocks for all threads.
fn block_rows(collection: &Collection<'_>, threads: usize) -> usize {
    let cached = BLOCK_BYTES / (collection.dim() * size_of::<f32>());
    let shared = collection.rows() / (threads * BLOCKS_PER_THREAD);
    (cached.min(shared) / TILE_ROWS).max(1) * TILE_ROWS
}
