//! The search for a group of queries: a sample, the rest, and once more what the sample misjudged.
//!
//! Every so manyeth block is searched first, exactly, but for fewer than k vectors: for as many as make it all
//! but certain that the whole collection has k better than the last of them ([`sample_depth`]). Its score is
//! where the thresholds start from in the scan of the rest. If k vectors are found at or above this start, then
//! the k best are above it, and nothing that was dropped is among them. If not, the query is searched again
//! without a start. So a sample that misleads, say of a collection that is sorted by topic, costs time and never hits.

use std::ops::Range;
use std::sync::atomic::AtomicUsize;

use rayon::prelude::*;
use toller_ir::Hit;

use super::blocks::Blocks;
use super::candidates::Candidates;
use super::nominate::Nominated;
use super::ranked::ranked;
use super::scan::{Prepared, Scan};
use super::thresholds::Thresholds;
use crate::{Collection, Filter, IpTopkOptions, TopK};
use toller_simd::{Isa, dispatch_bytes_on};

/// Fewer blocks are scanned without a sample.
const LEAST_BLOCKS: usize = 64;

/// Queries that are searched in one pass.
#[derive(Clone, Copy)]
pub(crate) struct Group<'a> {
    pub(crate) collection: &'a Collection<'a>,
    /// `[count, dim]`.
    pub(crate) queries: &'a [f32],
    /// Each query's number among all, for the filter.
    pub(crate) numbers: &'a [usize],
    pub(crate) filter: Filter<'a>,
}

impl Group<'_> {
    /// How many queries there are.
    pub(crate) fn count(&self) -> usize {
        self.numbers.len()
    }
}

/// The k best of each query.
pub(crate) fn search_group(
    isa: Isa,
    group: Group<'_>,
    k: usize,
    blocks: &Blocks<'_>,
    options: &IpTopkOptions<'_>,
) -> TopK {
    let prepared = Prepared::new(options.scan, group.queries, group.collection.dim());
    let pass = Pass { isa, group, prepared: &prepared, blocks, options };
    if blocks.count() < LEAST_BLOCKS {
        return pass.search(0..blocks.count(), k, &vec![f32::NEG_INFINITY; group.count()], Vec::new());
    }
    let (sampled, depth) = (blocks.sampled(), sample_depth(k, blocks.sample_share()));
    let sample = pass.search(0..sampled, depth, &vec![f32::NEG_INFINITY; group.count()], Vec::new());
    // What the sample has dropped scores no more than the last of its hits: less than the start.
    let starts: Vec<f32> = sample
        .rankings
        .iter()
        .map(|ranking| match ranking.hits.get(depth - 1) {
            Some(last) => last.score.next_up(),
            None => f32::NEG_INFINITY,
        })
        .collect();
    let seeds = sample.rankings.into_iter().map(|ranking| ranking.hits).collect();
    let mut found = pass.search(sampled..blocks.count(), k, &starts, seeds);
    found.nominated.iter_mut().zip(sample.nominated).for_each(|(sum, sample)| *sum += sample);

    let misled: Vec<usize> = (0..group.count())
        .filter(|&query| {
            let is_reached = |hit: &Hit| hit.score >= starts[query];
            !found.rankings[query].hits.get(k - 1).is_some_and(is_reached)
                && starts[query] != f32::NEG_INFINITY
        })
        .collect();
    if !misled.is_empty() {
        pass.search_again(&misled, k, &mut found);
    }
    found
}

/// The depth at which a sample is searched, of a `share` of the collection, so that more than `k` vectors of
/// the collection are as good as the last, all but certainly.
///
/// Of the k best, the sample holds k * share if it was drawn vector by vector, with a standard deviation of less
/// than the root of that. Vectors that are stored next to each other are alike, and drawn together: hence twice
/// as many, and four deviations more.
fn sample_depth(k: usize, share: f64) -> usize {
    let expected = k as f64 * share;
    ((2.0 * expected + 4.0 * expected.sqrt() + 4.0).ceil() as usize).min(k)
}

/// One way through blocks for a group of queries.
#[derive(Clone, Copy)]
struct Pass<'a> {
    isa: Isa,
    group: Group<'a>,
    prepared: &'a Prepared,
    blocks: &'a Blocks<'a>,
    options: &'a IpTopkOptions<'a>,
}

impl Pass<'_> {
    /// The `k` best of each query among the blocks whose turns are `turns` and the hits in `seeds`. Those that
    /// score less than the query's start may be left out.
    fn search(&self, turns: Range<usize>, k: usize, starts: &[f32], seeds: Vec<Vec<Hit>>) -> TopK {
        let threads = rayon::current_num_threads().min(turns.len());
        let thresholds = Thresholds::new(starts);
        let taken = AtomicUsize::new(turns.start);
        let &Self { group, prepared, blocks, .. } = self;
        let (thresholds, taken) = (&thresholds, &taken);
        let scan = |_| {
            let turns = turns.clone();
            dispatch_bytes_on(
                self.isa,
                Scan { group, k, prepared, options: self.options, blocks, turns, taken, thresholds },
            )
        };
        let mut scanned: Vec<Nominated> = (0..threads).into_par_iter().with_max_len(1).map(scan).collect();
        scanned.push(Nominated::exact(seeds));

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
        ranked(self.isa, group, k, candidates, nominated)
    }

    /// Searches some of the queries once more, without a start.
    fn search_again(&self, misled: &[usize], k: usize, found: &mut TopK) {
        let dim = self.group.collection.dim();
        let queries: Vec<f32> =
            misled.iter().flat_map(|&query| &self.group.queries[query * dim..][..dim]).copied().collect();
        let numbers: Vec<usize> = misled.iter().map(|&query| self.group.numbers[query]).collect();
        let group = Group { queries: &queries, numbers: &numbers, ..self.group };
        let prepared = Prepared::new(self.options.scan, &queries, dim);
        let again = Pass { group, prepared: &prepared, ..*self };
        let again =
            again.search(0..self.blocks.count(), k, &vec![f32::NEG_INFINITY; misled.len()], Vec::new());
        for (&query, (ranking, nominated)) in
            misled.iter().zip(again.rankings.into_iter().zip(again.nominated))
        {
            found.rankings[query] = ranking;
            found.nominated[query] += nominated;
        }
    }
}
