//! A linear layer in f64.

use crate::Activation;

/// A linear layer: weight `[outputs, inputs]`, bias `[outputs]` or none.
pub struct Linear {
    pub(crate) weight: Vec<f64>,
    pub(crate) bias: Option<Vec<f64>>,
    pub(crate) inputs: usize,
}

impl Linear {
    /// `activation(x * weight^T + bias)`: `x` `[rows, inputs]`, the result `[rows, outputs]`.
    pub(crate) fn forward(&self, x: &[f64], activation: Activation) -> Vec<f64> {
        let mut out = Vec::new();
        for x in x.chunks_exact(self.inputs) {
            for (column, weight) in self.weight.chunks_exact(self.inputs).enumerate() {
                let product: f64 = x.iter().zip(weight).map(|(x, w)| x * w).sum();
                out.push(activation.reference(product + self.bias.as_ref().map_or(0.0, |bias| bias[column])));
            }
        }
        out
    }
}
