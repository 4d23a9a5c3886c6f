//! Every document of every term, in the plainest way.

use std::collections::BTreeMap;

use toller_ir::{DocOrd, Hit, Ranking};

use crate::score::seen_length;
use crate::{Scoring, SparseError, SparseIndex, SparseQuery};

impl SparseIndex {
    /// What [`SparseIndex::search`] returns, found by scoring every document that has a term of the query.
    ///
    /// # Errors
    /// As [`SparseIndex::search`].
    pub fn search_exhaustively(
        &self,
        query: &SparseQuery,
        scoring: &Scoring,
        k: usize,
    ) -> Result<Ranking, SparseError> {
        let (terms, prepared) = self.prepare(query, scoring)?;
        let mut sums = BTreeMap::new();
        for (term, scorer) in terms.iter().zip(&prepared.scorers) {
            term.for_each_posting(|posting| {
                let length = seen_length(scoring.lengths, self.exact_length(posting.doc as usize));
                let sum = sums.entry(posting.doc).or_insert(0_u32);
                // As where it is pruned: only damage makes it wrap.
                *sum = sum.wrapping_add(scorer.part(posting.tf, length));
            })?;
        }
        let mut hits: Vec<Hit> =
            sums.into_iter().map(|(doc, sum)| Hit::new(DocOrd(doc), prepared.score(sum))).collect();
        hits.sort_unstable();
        hits.truncate(k);
        Ok(Ranking { hits })
    }
}
