//! Random vectors, the same on every machine and for any number of threads.

use half::{bf16, f16};
use rayon::prelude::*;
use toller_index::available_memory;
use toller_ir::SplitMix64;
use toller_store::DType;
use toller_topk::{Quantized, Vectors, quantize};

use crate::BenchError;

/// Vectors of length one in random directions, in memory.
#[derive(Clone, Debug)]
pub enum RandomVectors {
    /// `[count, dim]`.
    F32(Vec<f32>),
    /// `[count, dim]`.
    F16(Vec<f16>),
    /// `[count, dim]`.
    BF16(Vec<bf16>),
}

impl RandomVectors {
    /// `count` vectors of `dim` numbers, each rounded to `dtype`.
    ///
    /// # Errors
    /// [`BenchError::Memory`] if the machine refuses the memory.
    pub fn new(count: usize, dim: usize, dtype: DType, seed: u64) -> Result<Self, BenchError> {
        Ok(match dtype {
            DType::F32 => Self::F32(unit_vectors(count, dim, seed)?),
            DType::F16 => Self::F16(rounded(count, dim, seed, f16::from_f32)?),
            DType::BF16 => Self::BF16(rounded(count, dim, seed, bf16::from_f32)?),
        })
    }

    /// The bytes of all of them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::F32(values) => bytemuck::cast_slice(values),
            Self::F16(values) => bytemuck::cast_slice(values),
            Self::BF16(values) => bytemuck::cast_slice(values),
        }
    }

    /// The int8 codes of all vectors, as a store may keep them.
    ///
    /// # Panics
    /// If they are not a whole number of vectors of `dim` numbers.
    #[must_use]
    pub fn quantize(&self, dim: usize) -> Quantized {
        match self {
            Self::F32(values) => quantize(values, dim),
            Self::F16(values) => quantize(&values.iter().map(|x| x.to_f32()).collect::<Vec<_>>(), dim),
            Self::BF16(values) => quantize(&values.iter().map(|x| x.to_f32()).collect::<Vec<_>>(), dim),
        }
    }

    /// The first `count` of them, of `dim` numbers each.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn first(&self, count: usize, dim: usize) -> Vectors<'_> {
        match self {
            Self::F32(values) => Vectors::F32(&values[..count * dim]),
            Self::F16(values) => Vectors::F16(&values[..count * dim]),
            Self::BF16(values) => Vectors::BF16(&values[..count * dim]),
        }
    }
}

/// `count` vectors of `dim` numbers and length one: `[count, dim]`. The first vectors do not depend on
/// `count`.
///
/// # Errors
/// [`BenchError::Memory`] if the machine refuses the memory.
pub fn unit_vectors(count: usize, dim: usize, seed: u64) -> Result<Vec<f32>, BenchError> {
    let mut values = zeros(count, dim)?;
    let rows = values.par_chunks_mut(dim.max(1)).enumerate();
    rows.for_each(|(row, vector)| fill_unit(vector, row, seed));
    Ok(values)
}

fn rounded<T: Default + Copy + Send>(
    count: usize,
    dim: usize,
    seed: u64,
    round: impl Fn(f32) -> T + Sync,
) -> Result<Vec<T>, BenchError> {
    let mut values = zeros(count, dim)?;
    let rows = values.par_chunks_mut(dim.max(1)).enumerate();
    rows.for_each_init(
        || vec![0.0; dim],
        |exact, (row, vector)| {
            fill_unit(exact, row, seed);
            vector.iter_mut().zip(exact).for_each(|(value, x)| *value = round(*x));
        },
    );
    Ok(values)
}

/// Memory for the vectors. A refusal is an error, and so is more than there is: many systems promise any
/// amount, and end the process when it is used.
fn zeros<T: Default + Copy>(count: usize, dim: usize) -> Result<Vec<T>, BenchError> {
    let refused = || BenchError::Memory { vectors: count, dim };
    let len = count.checked_mul(dim).ok_or_else(refused)?;
    let bytes = len.saturating_mul(size_of::<T>()) as u64;
    if available_memory().is_some_and(|available| bytes > available) {
        return Err(refused());
    }
    let mut values = Vec::new();
    values.try_reserve_exact(len).map_err(|_| refused())?;
    values.resize(len, T::default());
    Ok(values)
}

/// Fills a vector with a random direction of length one, that of `row`.
fn fill_unit(vector: &mut [f32], row: usize, seed: u64) {
    let mut random = Random::new(seed, row as u64);
    // A sum of four uniform numbers is close enough to normal, and so the direction to uniform.
    vector.fill_with(|| (0..4).map(|_| random.uniform() - 0.5).sum());
    let square: f32 = vector.iter().map(|x| x * x).sum();
    if square > 0.0 {
        let length = square.sqrt();
        vector.iter_mut().for_each(|x| *x /= length);
    }
}

/// Marsaglia's xorshift64 (2003): enough for data, quick to make gigabytes of.
pub(crate) struct Random(u64);

impl Random {
    /// The generator of one of many streams.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        // Neighbouring seeds and streams are spread. Zero is the one state that xorshift does not leave.
        Self(SplitMix64::after(seed, stream).draw().max(1))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// In 0..1, of 24 bits.
    fn uniform(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u64 << 24) as f32
    }

    /// One of `count` indices.
    pub(crate) fn index(&mut self, count: usize) -> usize {
        (self.next() >> 11) as usize % count
    }
}

#[cfg(test)]
mod tests {
    use toller_store::DType;
    use toller_topk::Vectors;

    use super::{RandomVectors, unit_vectors};
    use crate::BenchError;

    #[test]
    fn directions_are_random_and_reproducible() -> Result<(), BenchError> {
        let (count, dim) = (1000, 64);
        let values = unit_vectors(count, dim, 1)?;
        assert_eq!(unit_vectors(10, dim, 1)?, values[..10 * dim]);
        assert_ne!(unit_vectors(10, dim, 2)?, values[..10 * dim]);
        for vector in values.chunks_exact(dim) {
            let square: f32 = vector.iter().map(|x| x * x).sum();
            assert!((square - 1.0).abs() < 1e-5, "{square}");
        }
        // Neighbours are no nearer to each other than chance, 1 / sqrt(dim), allows.
        let products: Vec<f32> = values
            .chunks_exact(dim)
            .zip(values[dim..].chunks_exact(dim))
            .map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum())
            .collect();
        let mean = products.iter().sum::<f32>() / products.len() as f32;
        let variance = products.iter().map(|x| x * x).sum::<f32>() / products.len() as f32;
        assert!(mean.abs() < 0.02, "{mean}");
        assert!((variance * dim as f32 - 1.0).abs() < 0.2, "{variance}");
        Ok(())
    }

    #[test]
    fn halves_are_the_same_vectors_rounded() -> Result<(), BenchError> {
        let exact = unit_vectors(5, 8, 3)?;
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            let values: Vec<f32> = match RandomVectors::new(7, 8, dtype, 3)?.first(5, 8) {
                Vectors::F32(values) => values.to_vec(),
                Vectors::F16(values) => values.iter().map(|x| x.to_f32()).collect(),
                Vectors::BF16(values) => values.iter().map(|x| x.to_f32()).collect(),
            };
            assert_eq!(values.len(), exact.len());
            let close = |(a, b): (&f32, &f32)| (a - b).abs() <= b.abs() / 256.0 + 1e-7;
            assert!(values.iter().zip(&exact).all(close), "{dtype}");
        }
        Ok(())
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        for (vectors, dim) in [(usize::MAX, 2), (1 << 50, 1024), (1 << 60, 1)] {
            assert!(matches!(unit_vectors(vectors, dim, 1), Err(BenchError::Memory { .. })));
        }
    }
}
