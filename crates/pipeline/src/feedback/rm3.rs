//! RM3: a relevance model mixed with the query (Abdul-Jaleel et al. 2004).

use super::terms::{FeedbackDocument, LEAST_NORM, TermVector};

/// The parameters of RM3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rm3 {
    /// Terms of the relevance model, and of each document that it is estimated from.
    pub terms: usize,
    /// Documents that it is estimated from.
    pub documents: usize,
    /// The share of the original query, 0 to 1.
    pub original_weight: f32,
    /// Whether only terms of the letters a to z and of digits expand queries.
    pub filter_terms: bool,
}

impl Default for Rm3 {
    /// Anserini's.
    fn default() -> Self {
        Self { terms: 10, documents: 10, original_weight: 0.5, filter_terms: true }
    }
}

impl Rm3 {
    pub(super) fn expand(&self, query: &TermVector, top: &[FeedbackDocument]) -> TermVector {
        let norm = query.l1_norm();
        let query = query.clone().over(norm);
        let model = self.relevance_model(top);
        let share = self.original_weight;
        let terms = TermVector::terms_of([&query, &model]);
        TermVector::weighed(&terms, |term| {
            let original = f64::from(share * query.weight(term));
            (original + (1.0 - f64::from(share)) * f64::from(model.weight(term))) as f32
        })
    }

    /// p(w|R): the share of the term in each document, weighted by the documents' scores.
    fn relevance_model(&self, top: &[FeedbackDocument]) -> TermVector {
        let mut model = TermVector::default();
        for FeedbackDocument { score, terms } in top.iter().take(self.documents) {
            let terms = terms.clone().pruned(self.terms);
            let norm = terms.l1_norm() as f32;
            if norm > LEAST_NORM {
                model.add(&terms, |weight| weight / norm * score);
            }
        }
        let model = model.pruned(self.terms);
        let norm = model.l1_norm();
        model.over(norm)
    }
}

#[cfg(test)]
mod tests {
    use super::super::terms::testing::{assert_close, vector};
    use super::{FeedbackDocument, Rm3};

    #[test]
    fn a_query_is_mixed_with_its_best_documents() {
        let query = vector(&[("a", 2.0), ("b", 1.0), ("b", 1.0)]);
        let top = [
            FeedbackDocument { score: 3.0, terms: vector(&[("a", 1.0), ("c", 3.0), ("z", 0.5)]) },
            FeedbackDocument { score: 1.0, terms: vector(&[("c", 1.0), ("d", 1.0)]) },
            FeedbackDocument { score: 9.0, terms: vector(&[]) },
            FeedbackDocument { score: 9.0, terms: vector(&[("e", 1.0)]) },
        ];
        // Two terms of each document: a 1/4, c 3/4; c 1/2, d 1/2. Weighted: a 0.75, c 2.75, d 0.5; of these
        // two: c 2.75/3.5.
        let rm3 = Rm3 { terms: 2, documents: 3, ..Rm3::default() };
        let expected = [("a", 0.25 + 0.5 * 0.75 / 3.5), ("b", 0.25), ("c", 0.5 * 2.75 / 3.5)];
        assert_close(&rm3.expand(&query, &top), &expected);
        // The original query alone, where nothing was found or its share is 1.
        let half = vector(&[("a", 0.25), ("b", 0.25)]);
        assert_eq!(rm3.expand(&query, &[]), half);
        let whole = Rm3 { original_weight: 1.0, ..rm3 };
        assert_eq!(whole.expand(&query, &top), vector(&[("a", 0.5), ("b", 0.5)]));
    }
}
