//! Pseudo-relevance feedback on vectors: a query's vector moves towards those of its best hits (Li et al.
//! 2023, "Pseudo Relevance Feedback with Deep Language Models and Dense Retrievers: Successes and Pitfalls",
//! vector-based PRF). Sums are in f64, in the order of the hits, which is the same for every scan.

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

/// Why queries cannot be moved in that way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VectorFeedbackError {
    /// Weights for an average.
    #[error("the average of a query and its best hits has no weights")]
    Weights,
    /// A sum of nothing.
    #[error("a query with the weight 0 moved towards hits with the weight 0")]
    Nothing,
    /// More hits than are kept for every query.
    #[error("feedback from more than {} hits", VectorFeedback::MOST_DOCUMENTS)]
    TooMany,
}

impl VectorFeedbackError {
    /// What to do.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Weights => "leave the weights out, or choose rocchio",
            Self::Nothing => "give one of them a weight",
            Self::TooMany => "take fewer: the best few are those that are relevant",
        }
    }
}

impl VectorFeedback {
    /// The usual number of hits, and the usual weights of query and hits, as in Pyserini.
    const USUAL: (usize, f32, f32) = (3, 0.9, 0.1);
    /// The most hits.
    const MOST_DOCUMENTS: usize = 1000;

    /// Feedback with these parameters, or the usual ones.
    ///
    /// # Errors
    /// [`VectorFeedbackError`].
    pub fn new(
        name: VectorFeedbackName,
        documents: Option<usize>,
        alpha: Option<f32>,
        beta: Option<f32>,
    ) -> Result<Self, VectorFeedbackError> {
        let documents = documents.unwrap_or(Self::USUAL.0);
        if documents > Self::MOST_DOCUMENTS {
            return Err(VectorFeedbackError::TooMany);
        }
        match name {
            VectorFeedbackName::Average if alpha.or(beta).is_some() => Err(VectorFeedbackError::Weights),
            VectorFeedbackName::Average => Ok(Self::Average { documents }),
            VectorFeedbackName::Rocchio => {
                let (alpha, beta) = (alpha.unwrap_or(Self::USUAL.1), beta.unwrap_or(Self::USUAL.2));
                let is_nothing = alpha == 0.0 && beta == 0.0;
                if is_nothing {
                    Err(VectorFeedbackError::Nothing)
                } else {
                    Ok(Self::Rocchio { documents, alpha, beta })
                }
            }
        }
    }

    /// How many of the best hits count.
    #[must_use]
    pub fn documents(&self) -> usize {
        match self {
            Self::Average { documents } | Self::Rocchio { documents, .. } => *documents,
        }
    }

    /// Moves a query towards `count` documents, the sum of whose vectors is given. Without any, the query
    /// stays as it is.
    pub fn expand(&self, query: &mut [f32], sum: &[f64], count: usize) {
        if count == 0 {
            return;
        }
        let count = count as f64;
        let (of_query, of_sum) = match self {
            Self::Average { .. } => (1.0 / (count + 1.0), 1.0 / (count + 1.0)),
            Self::Rocchio { alpha, beta, .. } => (f64::from(*alpha), f64::from(*beta) / count),
        };
        for (value, sum) in query.iter_mut().zip(sum) {
            *value = (of_query * f64::from(*value) + of_sum * sum) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{VectorFeedback, VectorFeedbackError, VectorFeedbackName};

    #[test]
    fn queries_move_to_their_best_hits() {
        let moved = |feedback: VectorFeedback, sum: [f64; 2], count| {
            let mut query = [3.0, -6.0];
            feedback.expand(&mut query, &sum, count);
            query
        };
        let rocchio = VectorFeedback::Rocchio { documents: 2, alpha: 0.5, beta: 2.0 };
        let average = VectorFeedback::Average { documents: 2 };
        assert_eq!(moved(average, [6.0, 9.0], 2), [3.0, 1.0]);
        assert_eq!(moved(rocchio, [6.0, 9.0], 2), [7.5, 6.0]);
        for feedback in [rocchio, average] {
            assert_eq!(moved(feedback, [0.0, 0.0], 0), [3.0, -6.0]);
        }
    }

    #[test]
    fn parameters_that_do_nothing_are_refused() {
        use VectorFeedbackError::{Nothing, TooMany, Weights};
        use VectorFeedbackName::{Average, Rocchio};
        let new = VectorFeedback::new;
        assert_eq!(new(Average, None, None, None), Ok(VectorFeedback::Average { documents: 3 }));
        let usual = VectorFeedback::Rocchio { documents: 3, alpha: 0.9, beta: 0.1 };
        assert_eq!(new(Rocchio, None, None, None), Ok(usual));
        assert_eq!(new(Average, None, None, Some(0.5)), Err(Weights));
        assert_eq!(new(Rocchio, None, Some(0.0), Some(0.0)), Err(Nothing));
        assert_eq!(new(Rocchio, Some(1001), None, None), Err(TooMany));
    }
}
