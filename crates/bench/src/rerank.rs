//! Measuring reranking: pairs and tokens a second, and the share of the matrix rate.

use std::time::Duration;

use toller_nn::profile::{Operation, Recording};

use crate::{BenchError, Budget, Timings, measure};

/// What one pass over the pairs did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RerankPass {
    /// Pairs that were scored.
    pub pairs: u64,
    /// Tokens that were computed, special tokens included.
    pub tokens: u64,
    /// How long it took.
    pub duration: Duration,
}

/// A measured reranking.
#[derive(Clone, Debug, PartialEq)]
pub struct RerankPoint {
    /// Hits of each query.
    pub depth: usize,
    /// Queries of a pass.
    pub queries: usize,
    /// Pairs of a pass.
    pub pairs: u64,
    /// Tokens of a pass.
    pub tokens: u64,
    /// Seconds of a pass.
    pub timings: Timings,
    /// Multiplications and additions in matrix products, of a pass.
    pub matrix_operations: f64,
}

/// Measures passes that rerank `queries` queries to `depth`.
///
/// # Errors
/// [`BenchError::Recording`], and what the pass fails with.
pub fn measure_rerank<E: From<BenchError>>(
    depth: usize,
    queries: usize,
    budget: &Budget,
    mut pass: impl FnMut() -> Result<RerankPass, E>,
) -> Result<RerankPoint, E> {
    let recording = Recording::start().ok_or(BenchError::Recording)?;
    let (mut passes, mut pairs, mut tokens) = (0.0, 0, 0);
    let timings = measure(budget, |_| {
        let done = pass()?;
        passes += 1.0;
        (pairs, tokens) = (done.pairs, done.tokens);
        Ok::<_, E>(done.duration)
    })?;
    let operations =
        Operation::ALL.iter().map(|&operation| recording.cost(operation).matrix_operations as f64);
    let matrix_operations = operations.sum::<f64>() / passes;
    Ok(RerankPoint { depth, queries, pairs, tokens, timings, matrix_operations })
}

impl RerankPoint {
    /// Pairs a second, by the median pass; as all rates here.
    #[must_use]
    pub fn pairs_per_sec(&self) -> f64 {
        self.pairs as f64 / self.timings.median()
    }

    /// Tokens a second.
    #[must_use]
    pub fn tokens_per_sec(&self) -> f64 {
        self.tokens as f64 / self.timings.median()
    }

    /// Multiplications and additions in matrix products, a second.
    #[must_use]
    pub fn operations_per_sec(&self) -> f64 {
        self.matrix_operations / self.timings.median()
    }
}

#[cfg(test)]
mod tests {
    use super::RerankPoint;
    use crate::Timings;

    #[test]
    fn rates_are_those_of_the_median_pass() {
        let point = RerankPoint {
            depth: 10,
            queries: 2,
            pairs: 20,
            tokens: 800,
            timings: Timings::new(vec![9.0, 2.0, 2.0]).expect("rounds"),
            matrix_operations: 5e9,
        };
        assert_eq!(
            (point.pairs_per_sec(), point.tokens_per_sec(), point.operations_per_sec()),
            (10.0, 400.0, 2.5e9)
        );
    }
}
