//! A gated linear layer.

use super::linear;
use crate::Activation;

/// `activation(x * activated^T + bias) * (x * linear^T + bias)` in f64: `x` `[rows, in]`, each half a weight
/// `[out, in]` and perhaps a bias `[out]`, the result `[rows, out]`.
#[must_use]
pub fn gated_linear(
    x: &[f32],
    activated: (&[f32], Option<&[f32]>),
    plain: (&[f32], Option<&[f32]>),
    activation: Activation,
    depth: usize,
) -> Vec<f64> {
    let activated = linear(x, activated.0, activated.1, None, activation, depth);
    let plain = linear(x, plain.0, plain.1, None, Activation::Identity, depth);
    activated.iter().zip(plain).map(|(a, b)| a * b).collect()
}
