//! Pseudo-relevance feedback on vectors: a query's vector moves towards those of its best hits (Li et al.
//! 2023, "Pseudo Relevance Feedback with Deep Language Models and Dense Retrievers: Successes and Pitfalls",
//! vector-based PRF). Sums are in f64, so that they do not depend on the order of the hits' parts.

use toller_ir::named;

named! {
    /// The name of a way to move a query.
    pub enum VectorFeedbackName: "a way to move queries" {
        /// To the mean of the query and its best hits.
        Average = "average",
        /// To a weighted sum of the query and the mean of its best hits.
        Rocchio = "rocchio",
    }
}

/// How the vectors of queries are moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VectorFeedback {
    /// To the mean of the query's vector and those of its best hits.
    Average {
        /// How many of the best hits count.
        documents: usize,
    },
    /// To `alpha` times the query's vector plus `beta` times the mean of those of its best hits.
    Rocchio {
        /// How many of the best hits count.
        documents: usize,
        /// The weight of the query.
        alpha: f32,
        /// The weight of the hits.
        beta: f32,
    },
}

impl VectorFeedback {
    /// The usual number of hits, and the usual weights, as in Pyserini.
    pub const DOCUMENTS: usize = 3;
    /// See [`Self::DOCUMENTS`].
    pub const ALPHA: f32 = 0.9;
    /// See [`Self::DOCUMENTS`].
    pub const BETA: f32 = 0.1;

    /// How many of the best hits count.
    #[must_use]
    pub fn documents(&self) -> usize {
        match self {
            Self::Average { documents } | Self::Rocchio { documents, .. } => *documents,
        }
    }

    /// Moves a query. `documents` has the vectors of its best hits; without any, the query stays as it is.
    pub fn expand(&self, query: &mut [f32], documents: &[Vec<f32>]) {
        if documents.is_empty() {
            return;
        }
        let count = documents.len() as f64;
        let (of_query, of_each) = match self {
            Self::Average { .. } => (1.0 / (count + 1.0), 1.0 / (count + 1.0)),
            Self::Rocchio { alpha, beta, .. } => (f64::from(*alpha), f64::from(*beta) / count),
        };
        for (at, value) in query.iter_mut().enumerate() {
            let sum: f64 = documents.iter().map(|document| f64::from(document[at])).sum();
            *value = (of_query * f64::from(*value) + of_each * sum) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::VectorFeedback;

    fn moved(feedback: VectorFeedback, documents: &[Vec<f32>]) -> Vec<f32> {
        let mut query = vec![3.0, -6.0];
        feedback.expand(&mut query, documents);
        query
    }

    #[test]
    fn queries_move_to_their_best_hits() {
        let documents = [vec![0.0, 3.0], vec![6.0, 6.0]];
        assert_eq!(moved(VectorFeedback::Average { documents: 2 }, &documents), [3.0, 1.0]);
        let rocchio = VectorFeedback::Rocchio { documents: 2, alpha: 0.5, beta: 2.0 };
        assert_eq!(moved(rocchio, &documents), [7.5, 6.0]);
        for feedback in [rocchio, VectorFeedback::Average { documents: 2 }] {
            assert_eq!(moved(feedback, &[]), [3.0, -6.0]);
        }
    }
}
