//! The loss of token classifiers.

use super::softmax::cross_entropy;
use crate::model::Graded;

/// The mean softmax cross entropy of tokens with a target, and its gradient. Each token of a batch has a row
/// of logits; special tokens have no target.
pub(crate) fn token_loss(targets: &[Option<usize>], mut logits: Vec<f64>) -> Graded {
    let labels = logits.len() / targets.len().max(1);
    // A batch of only special tokens has no loss, and teaches nothing.
    let count = targets.iter().flatten().count().max(1) as f64;
    let mut loss = 0.0;
    for (row, target) in logits.chunks_exact_mut(labels.max(1)).zip(targets) {
        match target {
            Some(target) => loss += cross_entropy(row, *target),
            None => row.fill(0.0),
        }
        row.iter_mut().for_each(|gradient| *gradient /= count);
    }
    Graded { loss: loss / count, gradients: [logits, Vec::new()] }
}

#[cfg(test)]
mod tests {
    use super::token_loss;

    #[test]
    fn gradients_are_central_differences() {
        let targets = [None, Some(1), Some(0), None, Some(2)];
        let logits: Vec<f64> = (0..15).map(|i| (f64::from(i) * 1.7).sin() * 3.0).collect();
        let graded = token_loss(&targets, logits.clone());
        for index in 0..logits.len() {
            let at = |step: f64| {
                let mut logits = logits.clone();
                logits[index] += step;
                token_loss(&targets, logits).loss
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((slope - graded.gradients[0][index]).abs() < 1e-9, "{index}");
        }
        let one = token_loss(&[Some(0)], vec![0.0, 0.0]);
        assert!((one.loss - 2.0_f64.ln()).abs() < 1e-15 && one.gradients[0] == [-0.5, 0.5]);
        assert_eq!(token_loss(&[None], vec![1.0, 2.0]).loss, 0.0);
    }
}
