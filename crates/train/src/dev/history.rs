//! The evaluations of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The measures after a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The step; 0 is before the first.
    pub step: u64,
    /// The value of each measure.
    pub measures: BTreeMap<String, f64>,
    /// What the evaluation took.
    pub seconds: f64,
}

/// All evaluations so far. What follows from them is a function of them, so a run that goes on decides as one
/// that was not interrupted.
#[derive(Default)]
pub(crate) struct History {
    evaluations: Vec<Evaluation>,
    /// The measure that decides which evaluation is the best.
    decides: String,
}

impl History {
    pub(crate) fn new(evaluations: Vec<Evaluation>, decides: String) -> Self {
        Self { evaluations, decides }
    }

    pub(crate) fn evaluations(&self) -> &[Evaluation] {
        &self.evaluations
    }

    pub(crate) fn push(&mut self, evaluation: Evaluation) {
        self.evaluations.push(evaluation);
    }

    /// Whether the model was evaluated after a step.
    pub(crate) fn has(&self, step: u64) -> bool {
        self.evaluations.iter().any(|evaluation| evaluation.step == step)
    }

    /// The evaluation with the highest value, the first of equals.
    pub(crate) fn best(&self) -> Option<&Evaluation> {
        self.evaluations
            .iter()
            .reduce(|best, other| if self.value(other) > self.value(best) { other } else { best })
    }

    /// Evaluations after the best.
    pub(crate) fn since_best(&self) -> u64 {
        let best = self.best().map(|best| best.step);
        self.evaluations.iter().filter(|evaluation| Some(evaluation.step) > best).count() as u64
    }

    fn value(&self, evaluation: &Evaluation) -> Option<f64> {
        evaluation.measures.get(&self.decides).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Evaluation, History};

    #[test]
    fn the_first_of_the_highest_is_the_best() {
        let evaluation = |(step, value): (u64, f64)| {
            let measures = BTreeMap::from([("RR".to_owned(), value), ("AP".to_owned(), -value)]);
            Evaluation { step, measures, seconds: 1.0 }
        };
        let history = |values: &[f64]| {
            History::new((0..).zip(values.iter().copied()).map(evaluation).collect(), "RR".to_owned())
        };
        let best = |values: &[f64]| {
            let history = history(values);
            (history.best().map(|best| best.step), history.since_best())
        };
        assert_eq!(best(&[]), (None, 0));
        assert_eq!(best(&[0.5]), (Some(0), 0));
        assert_eq!(best(&[0.5, 0.7, 0.7, 0.6]), (Some(1), 2));
        assert!(history(&[0.5, 0.6]).has(1) && !history(&[0.5, 0.6]).has(2));
    }
}
