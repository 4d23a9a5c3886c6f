//! Vectors rounded to one byte a number, for the int8 scan.
//!
//! Per vector x of d numbers: scale s = max |x_i| / 127, codes c = round(x / s), residual r = x - s c. The
//! int8 scan needs an upper bound of the residual's length. With u = 2^-24, each r_i is computed with one
//! rounding, |fl(r_i) - r_i| <= u |r_i| + 2^-150, and their squares are added up in at most d + 4 operations,
//! so that the sum s of the computed squares obeys (as in `cpu/bounds.rs`)
//!
//! ```text
//! |fl(r)|^2 <= (s + d 2^-149) / (1 - g(d + 4)),     |r| <= (|fl(r)| + sqrt(d) 2^-150) / (1 - u).
//! ```

use toller_simd::product::Floats;
use toller_simd::{ByteLanes, Isa, Kernel, LANES, Simd, dispatch_on};

/// The largest code.
pub(crate) const LARGEST: f32 = 127.0;

/// Vectors whose largest number is below this have codes of zero: their scale would lose its precision.
const LEAST: f32 = 1.0 / (1_u128 << 100) as f32;

/// Vectors rounded to one byte a number: see [`crate::Codes`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quantized {
    /// `[rows, dim]`, each in -127..=127.
    pub codes: Vec<i8>,
    /// `[rows]`: the largest absolute number of each vector, divided by 127; 0 where it is below 2^-100.
    pub scales: Vec<f32>,
    /// `[rows]`: upper bounds of the lengths of the residuals, which rounding took away.
    pub residual_norms: Vec<f32>,
}

/// Rounds `rows` `[rows, dim]` to one byte a number. The bytes are the same on every CPU.
///
/// # Panics
/// When `rows` is not a whole number of vectors, or `dim` is 0.
#[must_use]
pub fn quantize(rows: &[f32], dim: usize) -> Quantized {
    quantize_on(Isa::active(), rows, dim)
}

fn quantize_on(isa: Isa, rows: &[f32], dim: usize) -> Quantized {
    assert!(dim > 0 && rows.len().is_multiple_of(dim), "{} numbers in rows of {dim}", rows.len());
    let count = rows.len() / dim;
    let mut quantized =
        Quantized { codes: vec![0; rows.len()], scales: vec![0.0; count], residual_norms: vec![0.0; count] };
    let Quantized { codes, scales, residual_norms } = &mut quantized;
    dispatch_on(isa, Quantize { rows, dim, stride: dim, codes, scales, residual_norms });
    quantized
}

/// Quantises rows.
pub(crate) struct Quantize<'a> {
    /// `[rows, dim]`.
    pub(crate) rows: &'a [f32],
    pub(crate) dim: usize,
    /// Bytes from one row of codes to the next: at least `dim`. Bytes beyond `dim` are left as they are.
    pub(crate) stride: usize,
    /// `[rows, stride]`.
    pub(crate) codes: &'a mut [i8],
    /// `[rows]`.
    pub(crate) scales: &'a mut [f32],
    /// `[rows]`.
    pub(crate) residual_norms: &'a mut [f32],
}

impl Kernel for Quantize<'_> {
    type Output = ();
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { rows, dim, stride, codes, scales, residual_norms } = self;
        assert!(stride >= dim, "codes of {dim} numbers in {stride} bytes");
        let bound = ResidualBound::new(dim);
        let places = codes.chunks_mut(stride).zip(scales).zip(residual_norms);
        for (row, ((codes, scale), residual_norm)) in rows.chunks_exact(dim).zip(places) {
            let squares;
            (*scale, squares) = quantize_row(simd, row, &mut codes[..dim]);
            *residual_norm = bound.norm(squares);
        }
    }
}

/// Writes the codes of `row` and returns its scale and the sum of the squares of its residual.
#[inline(always)]
fn quantize_row<S: ByteLanes>(simd: S, row: &[f32], codes: &mut [i8]) -> (f32, f32) {
    let zero = simd.splat(0.0);
    let mut largest = zero;
    let (whole, rest) = row.as_chunks::<LANES>();
    let last = if rest.is_empty() {
        zero
    } else {
        // SAFETY: `rest` has fewer than sixteen values.
        unsafe { simd.load_part(rest.as_ptr(), rest.len()) }
    };
    for values in whole {
        // SAFETY: a chunk is sixteen values.
        let x = unsafe { simd.load(values.as_ptr()) };
        largest = simd.max(largest, simd.max(x, simd.sub(zero, x)));
    }
    largest = simd.max(largest, simd.max(last, simd.sub(zero, last)));
    let largest = simd.largest(largest);

    let usable = (LEAST..=f32::MAX).contains(&largest);
    let (scale, inverse) = if usable { (largest / LARGEST, LARGEST / largest) } else { (0.0, 0.0) };
    let (negated, inverse) = (simd.splat(-scale), simd.splat(inverse));
    let mut squares = zero;
    let mut places = codes.chunks_exact_mut(LANES);
    for (values, place) in whole.iter().zip(&mut places) {
        // SAFETY: both chunks hold sixteen values.
        unsafe {
            let x = simd.load(values.as_ptr());
            let code = simd.round(simd.mul(x, inverse));
            simd.store_i8(place.as_mut_ptr(), code);
            let residual = simd.fma(negated, code, x);
            squares = simd.fma(residual, residual, squares);
        }
    }
    if !rest.is_empty() {
        let code = simd.round(simd.mul(last, inverse));
        let mut bytes = [0; LANES];
        // SAFETY: the array holds sixteen bytes.
        unsafe { simd.store_i8(bytes.as_mut_ptr(), code) };
        places.into_remainder().copy_from_slice(&bytes[..rest.len()]);
        let residual = simd.fma(negated, code, last);
        squares = simd.fma(residual, residual, squares);
    }
    (scale, simd.sum(squares))
}

/// The bound of the residual's length; see the top of this file.
struct ResidualBound {
    underflow: f64,
    shrinkage: f64,
    slack: f64,
}

impl ResidualBound {
    fn new(dim: usize) -> Self {
        let (numbers, unit) = (dim as f64, f64::from(f32::EPSILON) / 2.0);
        let operations = (numbers + 4.0) * unit;
        let least = f64::from(f32::from_bits(1));
        Self {
            underflow: numbers * least,
            // Beyond 2^23 numbers the sum proves nothing: the bound becomes infinite.
            shrinkage: if operations <= 0.5 { 1.0 - operations / (1.0 - operations) } else { 0.0 },
            slack: numbers.sqrt() * least,
        }
    }

    /// An upper bound of the residual's length; infinite or NaN where there is no bound.
    fn norm(&self, squares: f32) -> f32 {
        let length = ((f64::from(squares) + self.underflow) / self.shrinkage).sqrt() + self.slack;
        // 2^-20 makes up for 1 / (1 - u) and for the roundings here.
        ((length * (1.0 + 1.0 / f64::from(1 << 20))) as f32).next_up()
    }
}

#[cfg(test)]
mod tests {
    use toller_simd::Isa;

    use super::{Quantized, quantize, quantize_on};

    #[test]
    fn the_residual_is_within_its_norm_at_every_magnitude_and_on_every_instruction_set() {
        for dim in [1, 2, 15, 16, 17, 100, 384, 1000] {
            for power in (-149..=127).step_by(4) {
                let scale = 2_f64.powi(power);
                let row: Vec<f32> =
                    (0..dim).map(|i| (((i * 7919 % 601) as f64 - 300.0) / 300.0 * scale) as f32).collect();
                let expected = quantize_on(Isa::Portable, &row, dim);
                for isa in Isa::available() {
                    assert!(quantize_on(isa, &row, dim) == expected, "{isa}, {dim} numbers, 2^{power}");
                }
                let Quantized { codes, scales, residual_norms } = expected;
                assert!(codes.iter().all(|&code| code != i8::MIN));
                let residual =
                    |(&x, &code): (&f32, &i8)| f64::from(x) - f64::from(scales[0]) * f64::from(code);
                let exact = row.iter().zip(&codes).map(residual).map(|r| r * r).sum::<f64>().sqrt();
                let bound = f64::from(residual_norms[0]);
                assert!(exact <= bound, "{dim} numbers, 2^{power}: {exact} {bound}");
                if (-60..60).contains(&power) && dim > 2 {
                    assert!(bound < 1.001 * exact, "{dim} numbers, 2^{power}: {exact} {bound}");
                    assert!(bound < 0.01 * (dim as f64).sqrt() * scale, "the codes are no use");
                }
            }
        }
    }

    #[test]
    fn what_has_no_codes_has_an_honest_norm() {
        let Quantized { codes, scales, residual_norms } = quantize(&[0.0; 20], 20);
        assert!(codes.iter().all(|&code| code == 0) && scales == [0.0]);
        assert!(residual_norms[0] < 1e-20);
        let Quantized { codes, scales, residual_norms } = quantize(&[1e-40; 20], 20);
        assert!(codes.iter().all(|&code| code == 0) && scales == [0.0]);
        assert!(residual_norms[0] >= 4.4e-40);
        for bad in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            let Quantized { residual_norms, .. } = quantize(&[1.0, bad], 2);
            assert!(!residual_norms[0].is_finite(), "{bad}");
        }
    }
}
