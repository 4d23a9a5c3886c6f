//! Random values for what a model gets before it is trained.

use toller_ir::SplitMix64;

/// Random values with a mean of 0 and a variance of 1: the sum of twelve uniform numbers is nearly normal,
/// and has the same bits on every machine.
pub(crate) fn normal(seed: u64, count: usize) -> Vec<f32> {
    let mut random = SplitMix64::new(seed);
    let mut uniforms = || {
        let bits = random.draw();
        [0, 16, 32, 48].map(|shift| f64::from((bits >> shift) as u16) / 65_536.0).iter().sum::<f64>()
    };
    // Half a step of the uniform numbers, twelve times, is negligible.
    (0..count).map(|_| (uniforms() + uniforms() + uniforms() - 6.0) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::normal;

    #[test]
    fn random_values_are_nearly_standard_normal() {
        let values = normal(7, 10_000);
        let mean = |of: &dyn Fn(f64) -> f64| values.iter().map(|&x| of(f64::from(x))).sum::<f64>() / 1e4;
        assert!(mean(&|x| x).abs() < 0.03 && (mean(&|x| x * x) - 1.0).abs() < 0.05);
        assert_eq!(normal(7, 3), values[..3]);
        assert_ne!(normal(8, 3), values[..3]);
    }
}
