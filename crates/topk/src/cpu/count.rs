//! Counts the vectors, or groups of vectors, that score higher than a query's reference.

use std::cmp::Ordering;

use toller_ir::DocOrd;
use toller_simd::Simd;

use super::collect::{Collector, RowOrdinals};
use super::queries::QueryGroup;
use super::rescore::{Pair, Scores};
use crate::first_ranks::FirstRank;

/// Pairs whose bounds do not decide, which are scored together.
const UNSURE: usize = 1 << 16;

/// One thread's counts.
pub(crate) struct Counter<'a> {
    group: QueryGroup<'a>,
    /// Per query, the score that others are compared with.
    references: &'a [f32],
    ordinals: RowOrdinals,
    tally: Tally<'a>,
    unsure: Vec<Pair>,
}

/// What was counted, for each query.
pub(crate) enum Tally<'a> {
    Vectors(Vec<FirstRank>),
    /// A bit for each query and group: whether one of the group's vectors scores higher, or the same.
    Groups {
        of: &'a [u32],
        words: usize,
        above: Vec<u64>,
        equal: Vec<u64>,
    },
}

impl<'a> Counter<'a> {
    pub(crate) fn new(group: QueryGroup<'a>, references: &'a [f32], groups: Option<&'a [u32]>) -> Self {
        let tally = Tally::new(group.count(), groups);
        Self { group, references, ordinals: RowOrdinals::default(), tally, unsure: Vec::new() }
    }

    /// Scores the pairs whose bounds did not decide.
    fn settle<S: Simd>(&mut self, simd: S) {
        self.unsure.sort_unstable();
        let mut scores = vec![0.0; self.unsure.len()];
        let QueryGroup { collection, queries, .. } = self.group;
        simd.vectorize(Scores { collection, queries, pairs: &self.unsure, scores: &mut scores });
        for (pair, score) in self.unsure.drain(..).zip(scores) {
            // Scores are numbers, since those of a collection are finite.
            if let Some(order) = score.partial_cmp(&self.references[pair.query()]) {
                self.tally.note(pair.query(), pair.doc(), order);
            }
        }
    }
}

impl<'a> Collector for Counter<'a> {
    type Output = Tally<'a>;

    fn begin(&mut self, first: DocOrd, chosen: &[DocOrd]) {
        self.ordinals.begin(first, chosen);
    }

    fn threshold(&self, query: usize) -> f32 {
        self.references[query]
    }

    fn collect<S: Simd>(&mut self, simd: S, row: usize, query: usize, (lower, _): (f32, f32)) -> bool {
        let doc = self.ordinals.of(row);
        if !self.group.filter.admits(self.group.numbers[query], doc) {
            return false;
        }
        if lower > self.references[query] {
            self.tally.note(query, doc, Ordering::Greater);
            return false;
        }
        self.unsure.push(Pair::new(doc, query));
        if self.unsure.len() == UNSURE {
            self.settle(simd);
        }
        false
    }

    fn finish<S: Simd>(mut self, simd: S) -> Tally<'a> {
        self.settle(simd);
        self.tally
    }
}

impl<'a> Tally<'a> {
    /// Nothing is counted for these queries.
    pub(crate) fn new(queries: usize, groups: Option<&'a [u32]>) -> Self {
        let Some(of) = groups else { return Self::Vectors(vec![FirstRank::default(); queries]) };
        let words = words(of);
        Self::Groups { of, words, above: vec![0; queries * words], equal: vec![0; queries * words] }
    }

    /// Notes a vector by the order of its score and the query's reference.
    fn note(&mut self, query: usize, doc: DocOrd, order: Ordering) {
        match self {
            Self::Vectors(ranks) => match order {
                Ordering::Greater => ranks[query].above += 1,
                Ordering::Equal => ranks[query].equal += 1,
                Ordering::Less => {}
            },
            Self::Groups { of, words, above, equal } => {
                let group = of[doc.index()] as usize;
                let (at, bit) = (query * *words + group / 64, 1 << (group % 64));
                match order {
                    Ordering::Greater => above[at] |= bit,
                    Ordering::Equal => equal[at] |= bit,
                    Ordering::Less => {}
                }
            }
        }
    }

    /// Adds what another thread has counted of the same queries.
    pub(crate) fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Self::Vectors(ranks), Self::Vectors(others)) => {
                for (rank, other) in ranks.iter_mut().zip(others) {
                    rank.above += other.above;
                    rank.equal += other.equal;
                }
            }
            (
                Self::Groups { above, equal, .. },
                Self::Groups { above: others_above, equal: others_equal, .. },
            ) => {
                above.iter_mut().zip(others_above).for_each(|(word, other)| *word |= other);
                equal.iter_mut().zip(others_equal).for_each(|(word, other)| *word |= other);
            }
            _ => {}
        }
    }

    /// The counts of a query. A group counts by its best vector.
    pub(crate) fn rank(&self, query: usize) -> FirstRank {
        match self {
            Self::Vectors(ranks) => ranks[query],
            Self::Groups { words, above, equal, .. } => {
                let (above, equal) = (&above[query * words..][..*words], &equal[query * words..][..*words]);
                let ones = |word: u64| word.count_ones() as usize;
                let only_equal = equal.iter().zip(above).map(|(equal, above)| equal & !above);
                FirstRank { above: above.iter().copied().map(ones).sum(), equal: only_equal.map(ones).sum() }
            }
        }
    }
}

/// The words that have a bit for each group.
pub(crate) fn words(groups: &[u32]) -> usize {
    groups.iter().max().map_or(0, |last| *last as usize / 64 + 1)
}
