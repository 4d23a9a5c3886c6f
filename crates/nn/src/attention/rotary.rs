//! Rotary position embeddings.

use std::sync::{Arc, PoisonError, RwLock};

use crate::NnError;

/// Positions of the first table: most inputs are not longer.
const FIRST_POSITIONS: usize = 512;

/// Rotary position embedding of queries and keys (Su et al. 2021, equation 34): of a head, values i and
/// i + size / 2 are rotated by the position times theta^(-2i / size).
///
/// The angles are computed in f32 and their cosines and sines rounded to f32, as transformers does: at
/// position 8,000 an angle's rounding is 2e-4, and more precision would be a difference from transformers.
pub(crate) struct Rotary {
    /// `[head_size / 2]`.
    frequencies: Vec<f32>,
    /// Grows with the longest input.
    table: RwLock<Arc<RotaryTable>>,
}

/// Cosines and sines of all positions up to some bound.
#[derive(Default)]
pub(crate) struct RotaryTable {
    /// `[positions, head_size / 2]`.
    pub(crate) cos: Vec<f32>,
    /// `[positions, head_size / 2]`.
    pub(crate) sin: Vec<f32>,
}

impl Rotary {
    /// For heads of `head_size` values, an even number, and the base `theta`, a positive number.
    pub(crate) fn new(head_size: usize, theta: f64) -> Result<Self, NnError> {
        if head_size == 0 || !head_size.is_multiple_of(2) || !(theta.is_finite() && theta > 0.0) {
            return Err(NnError::Shape(format!(
                "rotary positions for heads of {head_size} values with base {theta}"
            )));
        }
        let frequency = |i: usize| {
            let exponent = (2 * i) as f32 / head_size as f32;
            1.0 / libm::pow(f64::from(theta as f32), f64::from(exponent)) as f32
        };
        Ok(Self { frequencies: (0..head_size / 2).map(frequency).collect(), table: RwLock::default() })
    }

    /// A table of at least `positions` positions.
    pub(crate) fn table(&self, positions: usize) -> Arc<RotaryTable> {
        let needed = positions * self.frequencies.len();
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner).clone();
        if table.cos.len() >= needed {
            return table;
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if table.cos.len() < needed {
            let positions = positions.next_power_of_two().max(FIRST_POSITIONS);
            *table = Arc::new(RotaryTable::new(&self.frequencies, positions));
        }
        table.clone()
    }
}

impl RotaryTable {
    pub(crate) fn new(frequencies: &[f32], positions: usize) -> Self {
        let angles = (0..positions).flat_map(|position| frequencies.iter().map(move |f| position as f32 * f));
        // In f64 and rounded, and not by the system's functions, so that the last bit is the same everywhere.
        let (sin, cos) = angles
            .map(|angle| libm::sincos(f64::from(angle)))
            .map(|(sin, cos)| (sin as f32, cos as f32))
            .unzip();
        Self { cos, sin }
    }
}
