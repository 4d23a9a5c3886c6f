//! The ranks of relevant vectors: score these, then count what scores higher.

use toller_ir::DocOrd;
use toller_simd::{Isa, dispatch_on};

use super::blocks::Blocks;
use super::count::{Counter, Tally, words};
use super::passes::Passes;
use super::queries::QueryGroup;
use super::rescore::{Pair, Scores};
use super::thread_scan::BlockScan;
use super::{CANDIDATE_BYTES, GROUP_QUERIES, block_rows};
use crate::collection::Collection;
use crate::first_ranks::FirstRank;
use crate::options::{IpTopkOptions, Scan};

/// See [`crate::ip_first_ranks`]. The arguments are checked.
pub(crate) fn first_ranks(
    isa: Isa,
    collection: &Collection<'_>,
    queries: &[f32],
    relevant: &[Vec<DocOrd>],
    groups: Option<&[u32]>,
    options: &IpTopkOptions<'_>,
) -> Vec<Option<FirstRank>> {
    let dim = collection.dim();
    let members = groups.map(|groups| Members::new(collection, groups));
    let (threads, words) = (rayon::current_num_threads(), groups.map_or(1, words).max(1));
    let group_queries = (CANDIDATE_BYTES / threads / (2 * words * size_of::<u64>())).clamp(1, GROUP_QUERIES);
    let blocks = Blocks::new(collection, block_rows(collection, threads));
    // The bounds of int8 are so wide that most of the time would go into scoring.
    let scan = if options.scan == Scan::Auto { Scan::F32 } else { options.scan };

    let mut ranks = vec![None; relevant.len()];
    for first in (0..relevant.len()).step_by(group_queries) {
        let end = (first + group_queries).min(relevant.len());
        let numbers: Vec<usize> = (first..end).collect();
        let of_group = &queries[first * dim..end * dim];
        let group = QueryGroup { collection, queries: of_group, numbers: &numbers, filter: options.filter };
        let best = best_scores(isa, group, &relevant[first..end], members.as_ref());

        // The queries that have a relevant vector.
        let (mut numbers, mut references, mut queries) = (Vec::new(), Vec::new(), Vec::new());
        for ((number, best), query) in (first..end).zip(best).zip(of_group.chunks_exact(dim)) {
            if let Some(score) = best {
                numbers.push(number);
                references.push(score);
                queries.extend_from_slice(query);
            }
        }
        if numbers.is_empty() {
            continue;
        }
        let group = QueryGroup { queries: &queries, numbers: &numbers, ..group };
        let passes = Passes::new(scan, &queries, dim);
        let scan = BlockScan::new(group, &passes, options, &blocks, 0..blocks.count());
        let mut tally = Tally::new(group.count(), groups);
        for of_thread in scan.run(isa, || Counter::new(group, &references, groups)) {
            tally.merge(&of_thread);
        }
        for (query, &number) in numbers.iter().enumerate() {
            ranks[number] = Some(tally.rank(query));
        }
    }
    ranks
}

/// The best score of each query with a relevant vector, or with a member of its group.
fn best_scores(
    isa: Isa,
    group: QueryGroup<'_>,
    relevant: &[Vec<DocOrd>],
    members: Option<&Members<'_>>,
) -> Vec<Option<f32>> {
    let mut pairs = Vec::new();
    for (query, docs) in relevant.iter().enumerate() {
        let mut add = |doc: DocOrd| {
            if group.filter.admits(group.numbers[query], doc) {
                pairs.push(Pair::new(doc, query));
            }
        };
        for &doc in docs {
            match members {
                Some(members) => members.of_group_of(doc).iter().copied().for_each(&mut add),
                None => add(doc),
            }
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    let mut scores = vec![0.0; pairs.len()];
    let QueryGroup { collection, queries, .. } = group;
    dispatch_on(isa, Scores { collection, queries, pairs: &pairs, scores: &mut scores });
    let mut best: Vec<Option<f32>> = vec![None; relevant.len()];
    for (pair, score) in pairs.iter().zip(scores) {
        let best = &mut best[pair.query()];
        *best = Some(best.map_or(score, |best| best.max(score)));
    }
    best
}

/// The vectors of each group.
struct Members<'a> {
    groups: &'a [u32],
    /// Where each group's vectors start; one more than there are groups.
    starts: Vec<usize>,
    /// By group.
    docs: Vec<DocOrd>,
}

impl<'a> Members<'a> {
    fn new(collection: &Collection<'_>, groups: &'a [u32]) -> Self {
        let ordinals = || (0..groups.len() as u32).map(DocOrd).filter(|doc| collection.contains(*doc));
        let mut docs: Vec<DocOrd> = ordinals().collect();
        docs.sort_by_key(|doc| groups[doc.index()]);
        let last = groups.iter().max().copied();
        let starts = (0..last.map_or(1, |last| last as usize + 2))
            .map(|group| docs.partition_point(|doc| (groups[doc.index()] as usize) < group));
        Self { groups, starts: starts.collect(), docs }
    }

    /// The vectors of a vector's group.
    fn of_group_of(&self, doc: DocOrd) -> &[DocOrd] {
        let group = self.groups[doc.index()] as usize;
        &self.docs[self.starts[group]..self.starts[group + 1]]
    }
}
