//! Layer normalisation in f64.

/// A norm over rows of `weight.len()` values.
pub struct Norm {
    pub(crate) weight: Vec<f64>,
    pub(crate) bias: Vec<f64>,
    pub(crate) epsilon: f64,
    pub(crate) centers: bool,
}

impl Norm {
    /// Each row of `x` `[rows, width]` normalised, scaled and shifted.
    pub(crate) fn forward(&self, x: &[f64]) -> Vec<f64> {
        let width = self.weight.len();
        let mut out = Vec::with_capacity(x.len());
        for row in x.chunks_exact(width) {
            let mean = if self.centers { row.iter().sum::<f64>() / width as f64 } else { 0.0 };
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
            let scale = 1.0 / (variance + self.epsilon).sqrt();
            let values = row.iter().zip(&self.weight).zip(&self.bias);
            out.extend(values.map(|((x, weight), bias)| (x - mean) * scale * weight + bias));
        }
        out
    }
}
