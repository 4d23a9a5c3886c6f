//! The search for a group of queries: a sample, the rest, and again what the sample misjudged.
//!
//! One block in 32 is searched exactly first, for its best `depth` vectors. `depth` is chosen so that the
//! whole collection almost certainly holds k vectors that score higher ([`sample_depth`]). What scores more
//! than the last of the sample is where the thresholds start in the scan of the rest. If k vectors are found
//! at or above this start, no vector that was dropped is among the k best. If not, the query is searched
//! again without a start. So a sample that misleads, for instance of a collection sorted by topic, costs time
//! but never hits. A sample of depth k has k vectors already, and cannot mislead: the start is its last
//! score.

use std::ops::Range;

use rayon::prelude::*;
use toller_ir::Hit;
use toller_simd::Isa;

use super::blocks::Blocks;
use super::candidates::Candidates;
use super::nominate::{Nominated, Nominator};
use super::passes::Passes;
use super::queries::QueryGroup;
use super::ranked::ranked;
use super::thread_scan::BlockScan;
use super::thresholds::Thresholds;
use crate::options::IpTopkOptions;
use crate::sample::sample_depth;
use crate::top_k::TopK;

/// Fewer blocks are scanned without a sample.
const LEAST_BLOCKS: usize = 64;

/// The k best of each query.
pub(crate) fn search_group(
    isa: Isa,
    group: QueryGroup<'_>,
    k: usize,
    blocks: &Blocks<'_>,
    options: &IpTopkOptions<'_>,
) -> TopK {
    let passes = Passes::new(options.scan, group.queries, group.collection.dim());
    let sweep = Sweep { isa, group, passes: &passes, blocks, options };
    let nowhere = || Start::nowhere(group.count());
    if blocks.count() < LEAST_BLOCKS {
        return sweep.search(0..blocks.count(), k, nowhere());
    }
    let (sampled, depth) = (blocks.sampled(), sample_depth(k, blocks.sample_share()));
    let sample = sweep.search(0..sampled, depth, nowhere());
    // What the sample has dropped scores no more than its last hit: less than the start, or after k hits.
    let start = |last: &Hit| if depth == k { last.score } else { last.score.next_up() };
    let starts: Vec<f32> = sample
        .rankings
        .iter()
        .map(|ranking| ranking.hits.get(depth - 1).map_or(f32::NEG_INFINITY, start))
        .collect();
    let seeds = sample.rankings.into_iter().map(|ranking| ranking.hits).collect();
    let mut found = sweep.search(sampled..blocks.count(), k, Start { scores: starts.clone(), seeds });
    found.nominated.iter_mut().zip(sample.nominated).for_each(|(sum, sample)| *sum += sample);

    let misled: Vec<usize> = (0..group.count())
        .filter(|&query| {
            let start = starts[query];
            // Nothing scores more than infinity: the sample may have dropped some of these vectors, too.
            let is_certain = depth == k || start != f32::INFINITY;
            let is_reached = |hit: &Hit| is_certain && hit.score >= start;
            start != f32::NEG_INFINITY && !found.rankings[query].hits.get(k - 1).is_some_and(is_reached)
        })
        .collect();
    if !misled.is_empty() {
        sweep.search_again(&misled, k, &mut found);
    }
    found
}

/// Searches of blocks for a group of queries.
#[derive(Clone, Copy)]
struct Sweep<'a> {
    isa: Isa,
    group: QueryGroup<'a>,
    passes: &'a Passes,
    blocks: &'a Blocks<'a>,
    options: &'a IpTopkOptions<'a>,
}

/// What is known before a search.
struct Start {
    /// For each query, a score: vectors that score less may be left out.
    scores: Vec<f32>,
    /// For each query, hits that are found already; or none at all.
    seeds: Vec<Vec<Hit>>,
}

impl Start {
    /// Nothing is known of these queries.
    fn nowhere(queries: usize) -> Self {
        Self { scores: vec![f32::NEG_INFINITY; queries], seeds: Vec::new() }
    }
}

impl Sweep<'_> {
    /// The `k` best of each query among the seeds and the blocks whose turns are `turns`.
    fn search(&self, turns: Range<usize>, k: usize, start: Start) -> TopK {
        let thresholds = &Thresholds::new(&start.scores);
        let &Self { isa, group, passes, blocks, options } = self;
        let scan = BlockScan::new(group, passes, options, blocks, turns);
        let mut scanned = scan.run(isa, || Nominator::new(group, k, thresholds));
        scanned.push(Nominated::exact(start.seeds));

        let merge = |query: usize| {
            let mut candidates = Candidates::default();
            for scanned in &scanned {
                candidates.extend(scanned.candidates.get(query).map_or(&[], Candidates::entries));
            }
            candidates.reduce(k, thresholds.get(query));
            candidates.put_likeliest_first(k);
            candidates
        };
        let candidates: Vec<Candidates> = (0..group.count()).into_par_iter().map(merge).collect();
        let mut nominated = vec![0; group.count()];
        for scanned in &scanned {
            nominated.iter_mut().zip(&scanned.rescored).for_each(|(sum, rescored)| *sum += rescored);
        }
        drop(scanned);
        ranked(isa, group, k, candidates, nominated)
    }

    /// Searches the queries `misled` again, without a start.
    fn search_again(&self, misled: &[usize], k: usize, found: &mut TopK) {
        let dim = self.group.collection.dim();
        let queries: Vec<f32> =
            misled.iter().flat_map(|&query| &self.group.queries[query * dim..][..dim]).copied().collect();
        let numbers: Vec<usize> = misled.iter().map(|&query| self.group.numbers[query]).collect();
        let group = QueryGroup { queries: &queries, numbers: &numbers, ..self.group };
        let passes = Passes::new(self.options.scan, &queries, dim);
        let again = Sweep { group, passes: &passes, ..*self };
        let again = again.search(0..self.blocks.count(), k, Start::nowhere(misled.len()));
        for (&query, (ranking, nominated)) in
            misled.iter().zip(again.rankings.into_iter().zip(again.nominated))
        {
            found.rankings[query] = ranking;
            found.nominated[query] += nominated;
        }
    }
}
