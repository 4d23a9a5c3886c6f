//! What one thread nominates.

use toller_ir::{DocOrd, Hit};
use toller_simd::Simd;

use super::candidates::{Candidate, Candidates, capacity, most};
use super::collect::{Collector, RowOrdinals};
use super::queries::QueryGroup;
use super::rescore::{Pair, Scores};
use super::thresholds::Thresholds;

/// Keeps the vectors that can still be among the k best of each query.
pub(crate) struct Nominator<'a> {
    group: QueryGroup<'a>,
    k: usize,
    thresholds: &'a Thresholds,
    ordinals: RowOrdinals,
    candidates: Vec<Candidates>,
    /// Per query, the number of candidates at which they are reduced.
    full: Vec<usize>,
    /// Per query, how many candidates were scored to make room.
    rescored: Vec<usize>,
}

/// What a thread nominated.
pub(crate) struct Nominated {
    /// Per query.
    pub(crate) candidates: Vec<Candidates>,
    /// Per query, how many candidates were scored already.
    pub(crate) rescored: Vec<usize>,
}

impl Nominated {
    /// Hits that are known already, for each query.
    pub(crate) fn exact(hits: Vec<Vec<Hit>>) -> Self {
        Self { candidates: hits.into_iter().map(Candidates::exact).collect(), rescored: Vec::new() }
    }
}

impl<'a> Nominator<'a> {
    pub(crate) fn new(group: QueryGroup<'a>, k: usize, thresholds: &'a Thresholds) -> Self {
        Self {
            group,
            k,
            thresholds,
            ordinals: RowOrdinals::default(),
            candidates: (0..group.count()).map(|_| Candidates::default()).collect(),
            full: vec![capacity(k); group.count()],
            rescored: vec![0; group.count()],
        }
    }

    /// Makes room among the candidates of a query and raises its threshold.
    fn reduce<S: Simd>(&mut self, simd: S, query: usize) {
        let k = self.k;
        let candidates = &mut self.candidates[query];
        let mut threshold = candidates.reduce(k, self.thresholds.get(query));
        // Reduced again when their number has doubled.
        self.full[query] = candidates.len().saturating_mul(2).max(capacity(k));
        if self.full[query] > most(k) {
            self.full[query] = capacity(k);
            // Too many scores are closer together than the error: only the scores themselves decide.
            let (mut hits, mut pairs) = (Vec::with_capacity(candidates.len()), Vec::new());
            for candidate in candidates.entries() {
                match candidate.score() {
                    Some(score) => hits.push(Hit::new(candidate.doc, score)),
                    None => pairs.push(Pair::new(candidate.doc, query)),
                }
            }
            pairs.sort_unstable();
            let mut scores = vec![0.0; pairs.len()];
            let QueryGroup { collection, queries, .. } = self.group;
            simd.vectorize(Scores { collection, queries, pairs: &pairs, scores: &mut scores });
            self.rescored[query] += pairs.len();
            hits.extend(pairs.iter().zip(scores).map(|(pair, score)| Hit::new(pair.doc(), score)));
            threshold = threshold.max(candidates.replace(hits, k));
        }
        self.thresholds.raise(query, threshold);
    }
}

impl Collector for Nominator<'_> {
    type Output = Nominated;

    fn begin(&mut self, first: DocOrd, chosen: &[DocOrd]) {
        self.ordinals.begin(first, chosen);
    }

    /// A score that at least k vectors reach.
    fn threshold(&self, query: usize) -> f32 {
        self.thresholds.get(query)
    }

    /// Nominates the row, if the filter admits it.
    fn collect<S: Simd>(&mut self, simd: S, row: usize, query: usize, bounds: (f32, f32)) -> bool {
        let doc = self.ordinals.of(row);
        if !self.group.filter.admits(self.group.numbers[query], doc) {
            return false;
        }
        let (lower, upper) = bounds;
        let candidates = &mut self.candidates[query];
        candidates.push(Candidate { lower, upper, doc });
        let is_full = candidates.len() >= self.full[query];
        if is_full {
            self.reduce(simd, query);
        }
        is_full
    }

    fn finish<S: Simd>(self, _: S) -> Nominated {
        Nominated { candidates: self.candidates, rescored: self.rescored }
    }
}
