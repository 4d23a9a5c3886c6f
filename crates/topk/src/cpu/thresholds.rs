//! Lower bounds of the k-th best scores, shared by all threads.

use std::sync::atomic::{AtomicU32, Ordering};

/// Per query, a score that at least k vectors reach, or the start of the search. Thresholds only rise, so
/// that a stale value is safe.
pub(crate) struct Thresholds(Vec<AtomicU32>);

impl Thresholds {
    /// Thresholds that start from one score per query.
    pub(crate) fn new(starts: &[f32]) -> Self {
        Self(starts.iter().map(|&start| AtomicU32::new(key(start))).collect())
    }

    pub(crate) fn get(&self, query: usize) -> f32 {
        // Relaxed: only the value matters, nothing else is read through it.
        value(self.0[query].load(Ordering::Relaxed))
    }

    pub(crate) fn raise(&self, query: usize, threshold: f32) {
        self.0[query].fetch_max(key(threshold), Ordering::Relaxed);
    }
}

/// An unsigned integer in the order of the floats.
fn key(x: f32) -> u32 {
    let bits = x.to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

fn value(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key })
}

#[cfg(test)]
mod tests {
    use super::{Thresholds, key, value};

    #[test]
    fn keys_keep_the_order_and_the_value() {
        let ascending =
            [f32::NEG_INFINITY, f32::MIN, -1.0, -1e-45, -0.0, 0.0, 1e-45, 1.0, f32::MAX, f32::INFINITY];
        assert!(ascending.is_sorted_by(|&a, &b| key(a) < key(b)));
        assert!(ascending.iter().all(|&x| value(key(x)).to_bits() == x.to_bits()));
    }

    #[test]
    fn a_threshold_never_falls() {
        let thresholds = Thresholds::new(&[f32::NEG_INFINITY]);
        assert_eq!(thresholds.get(0), f32::NEG_INFINITY);
        for (raised, expected) in [(-3.0, -3.0), (-4.0, -3.0), (0.5, 0.5), (0.25, 0.5)] {
            thresholds.raise(0, raised);
            assert_eq!(thresholds.get(0), expected);
        }
    }
}
