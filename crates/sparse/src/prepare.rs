//! From the terms of a query to those of an index.

use crate::index::{SparseIndex, Term};
use crate::score::PreparedTerms;
use crate::{Scoring, SparseError, SparseQuery};

impl SparseIndex {
    /// The terms of a query that occur in documents, in the query's order, and their scorers. A document's
    /// score is [`PreparedTerms::score`] of the sum of [`TermScorer::part`](crate::TermScorer::part), to the
    /// bit that of [`SparseIndex::search`].
    ///
    /// # Errors
    /// Those of [`SparseIndex::check_scoring`], and when the index is damaged and was opened without
    /// verification.
    pub fn prepare(
        &self,
        query: &SparseQuery,
        scoring: &Scoring,
    ) -> Result<(Vec<Term<'_>>, PreparedTerms), SparseError> {
        let mut found = Vec::with_capacity(query.terms().len());
        for (term, weight) in query.terms() {
            if let Some(term) = self.term(term)? {
                found.push((term, *weight));
            }
        }
        let prepared = self.prepare_terms(&found, scoring)?;
        Ok((found.into_iter().map(|(term, _)| term).collect(), prepared))
    }

    /// The scorers of terms that have been found already.
    ///
    /// # Errors
    /// Those of [`SparseIndex::check_scoring`].
    pub(crate) fn prepare_terms(
        &self,
        terms: &[(Term<'_>, f32)],
        scoring: &Scoring,
    ) -> Result<PreparedTerms, SparseError> {
        self.check_scoring(scoring)?;
        let terms = terms.iter().map(|(term, weight)| (*term.statistics(), *weight));
        Ok(PreparedTerms::new(scoring, self.statistics(), terms))
    }
}
