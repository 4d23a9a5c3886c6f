//! A linear layer.

use crate::Activation;

/// `activation(x * weight^T + bias) + residual` in f64: `x` `[rows, in]`, `weight` `[out, in]`, `bias`
/// `[out]`, `residual` and the result `[rows, out]`.
#[must_use]
pub fn linear(
    x: &[f32],
    weight: &[f32],
    bias: Option<&[f32]>,
    residual: Option<&[f32]>,
    activation: Activation,
    depth: usize,
) -> Vec<f64> {
    let columns = weight.len() / depth;
    let mut out = Vec::new();
    for (row, x) in x.chunks_exact(depth).enumerate() {
        for (column, weight) in weight.chunks_exact(depth).enumerate() {
            let mut sum: f64 = x.iter().zip(weight).map(|(&x, &w)| f64::from(x) * f64::from(w)).sum();
            sum += bias.map_or(0.0, |bias| f64::from(bias[column]));
            sum = activation.reference(sum);
            sum += residual.map_or(0.0, |residual| f64::from(residual[row * columns + column]));
            out.push(sum);
        }
    }
    out
}
