//! Layer normalisation.

/// Each row of `x` `[rows, width]` normalised, scaled by `weight` and shifted by `bias` (`[width]`), in
/// f64 (Ba et al. 2016, equation 4).
#[must_use]
pub fn layer_norm(x: &[f32], weight: &[f32], bias: &[f32], epsilon: f32) -> Vec<f64> {
    let width = weight.len();
    let mut out = Vec::new();
    for row in x.chunks_exact(width) {
        let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / width as f64;
        let variance = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / width as f64;
        let scale = 1.0 / (variance + f64::from(epsilon)).sqrt();
        for ((&x, &weight), &bias) in row.iter().zip(weight).zip(bias) {
            out.push((f64::from(x) - mean) * scale * f64::from(weight) + f64::from(bias));
        }
    }
    out
}
