//! Unit length.

/// A row shorter than this is divided by it instead of by its length, as PyTorch's `normalize` does.
pub(crate) const SHORTEST: f64 = 1e-12;

/// Scales each row `[width]` of `x` to unit Euclidean length; the length is accumulated in f64.
pub(crate) fn unit(x: &mut [f32], width: usize) {
    for row in x.chunks_exact_mut(width.max(1)) {
        let square: f64 = row.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        let length = square.sqrt().max(SHORTEST);
        row.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::unit;

    #[test]
    fn unit_length_and_zero_stays_zero() {
        let mut x = [3_f32, 4.0, 0.0, 0.0, 1e-30, 0.0];
        unit(&mut x, 2);
        assert_eq!(x, [0.6, 0.8, 0.0, 0.0, 1e-18, 0.0]);
    }
}
