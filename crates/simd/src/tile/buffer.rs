//! Memory that is aligned as the widest register.

use crate::LANES;

/// Sixteen values of four bytes, aligned as the widest register.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line<V>([V; LANES]);

/// A buffer of values of four bytes, aligned to 64 bytes.
#[derive(Clone)]
pub struct AlignedBuffer<V = f32> {
    lines: Vec<Line<V>>,
}

impl<V> Default for AlignedBuffer<V> {
    fn default() -> Self {
        Self { lines: Vec::new() }
    }
}

impl<V: Copy + Default> AlignedBuffer<V> {
    /// A buffer of at least `len` zeros.
    pub fn zeros(len: usize) -> Self {
        Self { lines: vec![Line([V::default(); LANES]); len.div_ceil(LANES)] }
    }

    /// Grows to at least `len` values and keeps those it has.
    pub fn grow(&mut self, len: usize) {
        let lines = len.div_ceil(LANES);
        if lines > self.lines.len() {
            self.lines.resize(lines, Line([V::default(); LANES]));
        }
    }

    /// All values.
    pub fn as_slice(&self) -> &[V] {
        const { assert!(size_of::<Line<V>>() == LANES * size_of::<V>(), "no padding") };
        // SAFETY: a `Line` is sixteen values without padding.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * LANES) }
    }

    /// All values, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [V] {
        const { assert!(size_of::<Line<V>>() == LANES * size_of::<V>(), "no padding") };
        // SAFETY: a `Line` is sixteen values without padding.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * LANES) }
    }
}
