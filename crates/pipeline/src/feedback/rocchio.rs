//! Rocchio's feedback (1971): the query moved towards the mean of the best documents, and away from the last
//! ones.

use super::terms::{FeedbackDocument, LEAST_NORM, TermVector};

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
    let mean = sum_over_count(documents.get(..count).unwrap_or(documents)).pruned(terms);
    let norm = mean.l2_norm();
    mean.over(norm)
}

/// The mean of documents, each scaled to length 1.
fn sum_over_count(documents: &[FeedbackDocument]) -> TermVector {
    let mut sum = TermVector::default();
    for FeedbackDocument { terms, .. } in documents {
        let norm = terms.l2_norm() as f32;
        if norm > LEAST_NORM {
            sum.add(terms, |weight| weight / norm);
        }
    }
    sum.over(documents.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::super::terms::testing::{assert_close, vector};
    use super::{FeedbackDocument, Rocchio, sum_over_count};

    fn document(terms: &[(&str, f32)]) -> FeedbackDocument {
        FeedbackDocument { score: 1.0, terms: vector(terms) }
    }

    #[test]
    fn sums_have_the_bits_of_sums_term_by_term() {
        let documents: Vec<FeedbackDocument> = (0..40_u32)
            .map(|doc| {
                let weight = |word: u32| ((doc * 7 + word * 13) % 11) as f32 / 3.0;
                let terms = (0..50).map(|word| (format!("t{word}"), weight(word)));
                let terms = terms.filter(|(_, weight)| *weight > 1.0).collect();
                FeedbackDocument { score: 1.0, terms }
            })
            .collect();
        for word in 0..50 {
            let term = format!("t{word}");
            let parts = documents
                .iter()
                .map(|document| document.terms.weight(&term) / document.terms.l2_norm() as f32);
            let expected = parts.fold(0.0_f32, |sum, part| sum + part) / documents.len() as f32;
            let found = sum_over_count(&documents).weight(&term);
            assert_eq!(found.to_bits(), expected.to_bits(), "{term}");
        }
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
