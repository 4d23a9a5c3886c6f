//! What a run says about its losses and gradients.

use std::collections::VecDeque;

/// Steps whose mean loss is shown at the end: the loss of one step says little.
const SHOWN: usize = 100;

/// Steps without a gradient after which nothing is learned any more.
const STUCK: usize = 10;

/// The losses of the last steps.
#[derive(Debug, Default)]
pub struct Losses {
    last: VecDeque<f64>,
    without_gradient: usize,
}

impl Losses {
    /// Takes a step's loss and the norm of its gradient. Returns whether the gradient has just been zero for
    /// so long that the run is stuck; once, if it stays so.
    pub fn push(&mut self, loss: f64, norm: f64) -> bool {
        if self.last.len() == SHOWN {
            self.last.pop_front();
        }
        self.last.push_back(loss);
        self.without_gradient = if norm == 0.0 { self.without_gradient + 1 } else { 0 };
        self.without_gradient == STUCK
    }

    /// The loss of the last step of this run.
    pub fn last(&self) -> Option<f64> {
        self.last.back().copied()
    }

    /// The mean loss of the last steps, for example `, loss 2.8312 (mean of the last 100 steps)`; nothing
    /// before the first.
    pub fn mean(&self) -> String {
        let mean = self.last.iter().sum::<f64>() / self.last.len() as f64;
        match self.last.len() {
            0 => String::new(),
            1 => format!(", loss {mean:.4}"),
            steps => format!(", loss {mean:.4} (mean of the last {steps} steps)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Losses, SHOWN, STUCK};

    #[test]
    fn the_mean_is_of_the_last_steps() {
        let mut losses = Losses::default();
        assert_eq!((losses.mean(), losses.last()), (String::new(), None));
        losses.push(9.0, 1.0);
        assert_eq!(losses.mean(), ", loss 9.0000");
        for step in 0..SHOWN {
            losses.push(if step % 2 == 0 { 1.0 } else { 2.0 }, 1.0);
        }
        assert_eq!(losses.mean(), ", loss 1.5000 (mean of the last 100 steps)");
        assert_eq!(losses.last(), Some(2.0));
    }

    #[test]
    fn a_run_without_gradients_is_stuck_once() {
        let mut losses = Losses::default();
        let norms = [0.0, 0.0, 1.0].into_iter().chain([0.0; 3 * STUCK]);
        let stuck: Vec<usize> =
            (1..).zip(norms).filter(|(_, norm)| losses.push(1.0, *norm)).map(|(step, _)| step).collect();
        assert_eq!(stuck, [3 + STUCK]);
    }
}
