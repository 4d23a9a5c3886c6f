//! Rocchio's feedback (1971): the query moved towards the mean of the best documents, and away from the last
//! ones.

use super::vector::{FeedbackDocument, LEAST_NORM, TermVector};

/// The parameters of Rocchio's feedback: `alpha * query + beta * mean(best) - gamma * mean(last)`, each of
/// length 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rocchio {
    /// Terms of the mean of the best documents.
    pub top_terms: usize,
    /// How many of the best documents.
    pub top_documents: usize,
    /// Terms of the mean of the last documents.
    pub bottom_terms: usize,
    /// How many of the last documents.
    pub bottom_documents: usize,
    /// The weight of the query.
    pub alpha: f32,
    /// The weight of the best documents.
    pub beta: f32,
    /// The weight of the last documents.
    pub gamma: f32,
    /// Whether the last documents are used at all.
    pub use_negative: bool,
}

impl Default for Rocchio {
    /// Anserini's.
    fn default() -> Self {
        Self {
            top_terms: 10,
            top_documents: 10,
            bottom_terms: 10,
            bottom_documents: 10,
            alpha: 1.0,
            beta: 0.75,
            gamma: 0.15,
            use_negative: false,
        }
    }
}

impl Rocchio {
    /// How many of the last documents are looked at.
    pub(super) fn bottom_documents_used(&self) -> usize {
        if self.use_negative { self.bottom_documents } else { 0 }
    }

    pub(super) fn expand(
        &self,
        query: &TermVector,
        top: &[FeedbackDocument],
        bottom: &[FeedbackDocument],
    ) -> TermVector {
        let norm = query.l2_norm();
        let query = query.clone().over(norm);
        let best = mean(top, self.top_documents, self.top_terms);
        let last = mean(bottom, self.bottom_documents_used(), self.bottom_terms);
        let terms = TermVector::terms_of([&query, &best, &last]);
        TermVector::weighed(&terms, |term| {
            self.alpha * query.weight(term) + self.beta * best.weight(term) - self.gamma * last.weight(term)
        })
    }
}

/// The mean of documents, each scaled to length 1; the largest terms of the mean, scaled to length 1.
fn mean(documents: &[FeedbackDocument], count: usize, terms: usize) -> TermVector {
    let documents: Vec<(f32, &TermVector)> = documents
        .iter()
        .take(count)
        .map(|document| (document.terms.l2_norm() as f32, &document.terms))
        .collect();
    let vocabulary = TermVector::terms_of(documents.iter().map(|(_, terms)| *terms));
    let sum = |term: &str| {
        let parts = documents.iter().filter(|(norm, _)| *norm > LEAST_NORM);
        parts.fold(0.0, |sum, (norm, terms)| sum + terms.weight(term) / norm)
    };
    let mean = TermVector::weighed(&vocabulary, |term| sum(term) / documents.len() as f32).pruned(terms);
    let norm = mean.l2_norm();
    mean.over(norm)
}

#[cfg(test)]
mod tests {
    use super::super::vector::testing::{assert_close, vector};
    use super::{FeedbackDocument, Rocchio};

    fn document(terms: &[(&str, f32)]) -> FeedbackDocument {
        FeedbackDocument { score: 1.0, terms: vector(terms) }
    }

    #[test]
    fn a_query_moves_to_the_best_and_from_the_last() {
        let query = vector(&[("a", 3.0), ("b", 4.0)]);
        let top = [document(&[("b", 2.0)]), document(&[("c", 5.0)]), document(&[("d", 1.0)])];
        let bottom = [document(&[("a", 1.0), ("e", 1.0)])];
        let two = Rocchio { top_documents: 2, ..Rocchio::default() };
        // The mean of b and c has both at 1/2, of length 1: at 1/sqrt(2).
        let half = 0.5_f32.sqrt();
        assert_close(
            &two.expand(&query, &top, &bottom),
            &[("a", 0.6), ("b", 0.8 + 0.75 * half), ("c", 0.75 * half)],
        );
        let negative = Rocchio { use_negative: true, ..two };
        assert_close(
            &negative.expand(&query, &top, &bottom),
            &[("a", 0.6 - 0.15 * half), ("b", 0.8 + 0.75 * half), ("c", 0.75 * half)],
        );
        assert_close(&two.expand(&query, &[], &[]), &[("a", 0.6), ("b", 0.8)]);
    }
}
