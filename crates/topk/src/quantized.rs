//! Vectors in one byte a number, for the int8 scan.

use crate::cpu::quantize::Quantize;
use toller_simd as simd;

/// Vectors rounded to one byte a number: see [`crate::Codes`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quantized {
    /// `[rows, dim]`, each in -127..=127.
    pub codes: Vec<i8>,
    /// `[rows]`: the largest absolute number of each vector, divided by 127; 0 where that is below 2^-100.
    pub scales: Vec<f32>,
    /// `[rows]`: an upper bound of the length of what rounding took away.
    pub residual_norms: Vec<f32>,
}

/// Rounds `rows` `[rows, dim]` to one byte a number. The bytes are the same on every CPU.
///
/// # Panics
/// When `rows` is no whole number of vectors, or `dim` is 0.
#[must_use]
pub fn quantize(rows: &[f32], dim: usize) -> Quantized {
    assert!(dim > 0 && rows.len().is_multiple_of(dim), "{} numbers in rows of {dim}", rows.len());
    let count = rows.len() / dim;
    let mut quantized =
        Quantized { codes: vec![0; rows.len()], scales: vec![0.0; count], residual_norms: vec![0.0; count] };
    simd::dispatch(Quantize {
        rows,
        dim,
        stride: dim,
        codes: &mut quantized.codes,
        scales: &mut quantized.scales,
        residual_norms: &mut quantized.residual_norms,
    });
    quantized
}
