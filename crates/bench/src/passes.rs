//! Passes of a model over texts, or over pairs of texts: rates, and what the operations cost.

use std::time::Duration;

use toller_nn::profile::{Cost, Operation, Recording};

use crate::{BenchError, Budget, Timings, measure};

/// One pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Texts or pairs of the pass.
    pub items: u64,
    /// Tokens that were computed, special tokens included.
    pub tokens: u64,
    /// How long the pass took.
    pub duration: Duration,
}

/// Measured passes over the same texts or pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Passes {
    /// Texts or pairs of a pass.
    pub items: u64,
    /// Tokens of a pass, special tokens included.
    pub tokens: u64,
    /// Seconds of a pass.
    pub timings: Timings,
    /// What each of [`Operation::ALL`] cost a pass, on average with the pass that warms up.
    pub costs: [Cost; Operation::ALL.len()],
    /// The mean seconds of a pass, with the pass that warms up.
    pub mean_secs: f64,
}

impl Passes {
    /// Measures `pass`.
    ///
    /// # Errors
    /// [`BenchError::Recording`], and the errors of the pass.
    pub fn measure<E: From<BenchError>>(
        budget: &Budget,
        mut pass: impl FnMut() -> Result<Pass, E>,
    ) -> Result<Self, E> {
        let recording = Recording::start().ok_or(BenchError::Recording)?;
        let (mut passes, mut seconds, mut items, mut tokens) = (0, 0.0, 0, 0);
        let timings = measure(budget, |_| {
            let done = pass()?;
            passes += 1;
            seconds += done.duration.as_secs_f64();
            (items, tokens) = (done.items, done.tokens);
            Ok::<_, E>(done.duration)
        })?;
        let costs = Operation::ALL.map(|operation| {
            let Cost { seconds, matrix_operations } = recording.cost(operation);
            Cost { seconds: seconds / passes as f64, matrix_operations: matrix_operations / passes }
        });
        Ok(Self { items, tokens, timings, costs, mean_secs: seconds / passes as f64 })
    }

    /// Texts or pairs a second, by the median pass, like all rates here.
    #[must_use]
    pub fn items_per_sec(&self) -> f64 {
        self.items as f64 / self.timings.median()
    }

    /// Tokens a second.
    #[must_use]
    pub fn tokens_per_sec(&self) -> f64 {
        self.tokens as f64 / self.timings.median()
    }

    /// Tokens of a text or pair on average.
    #[must_use]
    pub fn tokens_per_item(&self) -> f64 {
        self.tokens as f64 / self.items.max(1) as f64
    }

    /// Multiplications and additions in matrix products, of a pass.
    #[must_use]
    pub fn matrix_operations(&self) -> f64 {
        self.costs.iter().map(|cost| cost.matrix_operations as f64).sum()
    }

    /// Multiplications and additions in matrix products, a second.
    #[must_use]
    pub fn operations_per_sec(&self) -> f64 {
        self.matrix_operations() / self.timings.median()
    }
}
