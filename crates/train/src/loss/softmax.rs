//! Cross entropy over a row of scores.

/// Turns scores into their softmax, and returns the logarithm of the sum of their exponentials.
pub(super) fn softmax(scores: &mut [f64]) -> f64 {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = scores.iter().map(|score| libm::exp(score - largest)).sum();
    scores.iter_mut().for_each(|score| *score = libm::exp(*score - largest) / total);
    largest + libm::log(total)
}

/// -log softmax(scores)[target]; the scores become the gradient.
pub(super) fn cross_entropy(scores: &mut [f64], target: usize) -> f64 {
    let wanted = scores[target];
    let total = softmax(scores);
    scores[target] -= 1.0;
    total - wanted
}

/// The divergence of softmax(scores) from softmax(wanted), KL(wanted || scores); the scores become the
/// gradient.
pub(super) fn divergence(scores: &mut [f64], wanted: &[f64]) -> f64 {
    let before = scores.to_vec();
    let total = softmax(scores);
    let mut shares = wanted.to_vec();
    let wanted_total = softmax(&mut shares);
    let mut loss = 0.0;
    for index in 0..scores.len() {
        let log_ratio = (wanted[index] - wanted_total) - (before[index] - total);
        loss += shares[index] * log_ratio;
        scores[index] -= shares[index];
    }
    loss
}
