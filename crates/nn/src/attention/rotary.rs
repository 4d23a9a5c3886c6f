//! Rotary position embeddings.

use std::sync::{Arc, PoisonError, RwLock};

use crate::{NnError, RotaryParameters};

/// Positions of the first table: most inputs are not longer.
const FIRST_POSITIONS: usize = 512;

/// Rotary position embedding of queries and keys (Su et al. 2021, equation 34): of a head, values i and
/// i + size / 2 are rotated by the position times a frequency.
///
/// The angles are computed in f32 and their cosines and sines rounded to f32, as transformers does: at
/// position 8,000 an angle's rounding is 2e-4, and more precision would be a difference from transformers.
pub(crate) struct Rotary {
    /// `[head_size / 2]`.
    frequencies: Vec<f32>,
    magnitude: f32,
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
    /// For heads of `head_size` values.
    pub(crate) fn new(head_size: usize, parameters: RotaryParameters<'_>) -> Result<Self, NnError> {
        let RotaryParameters { frequencies, magnitude } = parameters;
        if 2 * frequencies.len() != head_size {
            let count = frequencies.len();
            return Err(NnError::Shape(format!("{count} rotations for heads of {head_size} values")));
        }
        Ok(Self { frequencies: frequencies.to_vec(), magnitude, table: RwLock::default() })
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
            *table = Arc::new(RotaryTable::new(&self.frequencies, self.magnitude, positions));
        }
        table.clone()
    }
}

impl RotaryTable {
    pub(crate) fn new(frequencies: &[f32], magnitude: f32, positions: usize) -> Self {
        let angles = (0..positions).flat_map(|position| frequencies.iter().map(move |f| position as f32 * f));
        // In f64 and rounded, and not by the system's functions, so that the last bit is the same everywhere.
        let (sin, cos) = angles
            .map(|angle| libm::sincos(f64::from(angle)))
            .map(|(sin, cos)| (sin as f32 * magnitude, cos as f32 * magnitude))
            .unzip();
        Self { cos, sin }
    }
}
