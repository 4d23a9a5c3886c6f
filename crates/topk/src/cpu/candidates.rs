//! The nominated vectors of a query.

use std::ops::RangeBounds;

use toller_ir::{DocOrd, Hit};

/// A vector that may be among the k best, with bounds of its score.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) lower: f32,
    pub(crate) upper: f32,
    pub(crate) doc: DocOrd,
}

impl Candidate {
    /// The score, if it is known. Only then are the bounds equal.
    pub(crate) fn score(&self) -> Option<f32> {
        (self.lower == self.upper).then_some(self.lower)
    }
}

/// The candidates of one query, in no order.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    entries: Vec<Candidate>,
}

/// How many candidates are kept before they are reduced. The room beyond `k` is at least `k`: the time of a
/// reduction is proportional to the candidates, and so is the number of nominations before it.
pub(crate) fn capacity(k: usize) -> usize {
    k.saturating_add(k.max(256))
}

/// The largest number of candidates that are kept. Up to this number a scan with wide bounds leaves its
/// candidates for the end, when they are scored in the order of the vectors, for all queries at once; beyond
/// it they are scored to make room. A large `k` has less room in proportion: the memory of a query's
/// candidates decides how many queries share a pass over the vectors.
pub(crate) fn most(k: usize) -> usize {
    let least = capacity(k);
    least.saturating_add(least.saturating_mul(7).min(1 << 16))
}

impl Candidates {
    /// Candidates whose scores are known.
    pub(crate) fn exact(hits: Vec<Hit>) -> Self {
        let exact = |hit: Hit| Candidate { lower: hit.score, upper: hit.score, doc: hit.doc };
        Self { entries: hits.into_iter().map(exact).collect() }
    }

    /// The candidates whose scores are known.
    pub(crate) fn scored(&self) -> Vec<Hit> {
        let hit = |candidate: &Candidate| candidate.score().map(|score| Hit::new(candidate.doc, score));
        self.entries.iter().filter_map(hit).collect()
    }

    /// Moves the `k` candidates with the highest midpoints of their bounds to the front. (Lower bounds would
    /// favour candidates whose scores are known.)
    pub(crate) fn put_likeliest_first(&mut self, k: usize) {
        if self.entries.len() > k {
            let middle = |candidate: &Candidate| candidate.lower / 2.0 + candidate.upper / 2.0;
            self.entries.select_nth_unstable_by(k, |a, b| middle(b).total_cmp(&middle(a)));
        }
    }

    /// The candidates whose scores are not known, among the entries at `places`.
    pub(crate) fn unscored(&self, places: impl RangeBounds<usize>) -> impl Iterator<Item = &Candidate> {
        let entries = self.entries.iter().enumerate().filter(move |(place, _)| places.contains(place));
        entries.map(|(_, candidate)| candidate).filter(|candidate| candidate.score().is_none())
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn entries(&self) -> &[Candidate] {
        &self.entries
    }

    pub(crate) fn push(&mut self, candidate: Candidate) {
        self.entries.push(candidate);
    }

    pub(crate) fn extend(&mut self, candidates: &[Candidate]) {
        self.entries.extend_from_slice(candidates);
    }

    /// Drops the candidates whose upper bounds are below `threshold` or the k-th best lower bound, whichever
    /// is higher. Returns the higher one, which at least k vectors reach.
    pub(crate) fn reduce(&mut self, k: usize, threshold: f32) -> f32 {
        let mut threshold = threshold;
        if self.entries.len() >= k {
            let (_, kth, _) = self.entries.select_nth_unstable_by(k - 1, |a, b| b.lower.total_cmp(&a.lower));
            threshold = threshold.max(kth.lower);
        }
        self.entries.retain(|candidate| candidate.upper >= threshold);
        threshold
    }

    /// Replaces all candidates by the k best of `hits`. Returns the k-th score, else minus infinity.
    pub(crate) fn replace(&mut self, hits: Vec<Hit>, k: usize) -> f32 {
        let hits = best(hits, k);
        let kth = if hits.len() < k {
            f32::NEG_INFINITY
        } else {
            hits.last().map_or(f32::NEG_INFINITY, |hit| hit.score)
        };
        *self = Self::exact(hits);
        kth
    }
}

/// The k best hits, in order.
pub(crate) fn best(mut hits: Vec<Hit>, k: usize) -> Vec<Hit> {
    if hits.len() > k {
        hits.select_nth_unstable(k - 1);
        hits.truncate(k);
    }
    hits.sort_unstable();
    hits
}
