//! Queries as codes, and the bounds of their scores.

use super::rows::{RowFacts, VALUE_BYTES};
use crate::cpu::bounds::{ROUNDINGS, rounded_down, rounded_up};
use crate::cpu::packed_queries::PackedQueries;
use crate::quantize::LARGEST;

/// What makes a signed code an unsigned byte.
pub(super) const OFFSET: i32 = 128;
/// u, the unit roundoff of f32.
const UNIT: f64 = f32::EPSILON as f64 / 2.0;
/// 2^-149, the least number of f32.
const LEAST: f64 = 1.0 / (1_u128 << 100) as f64 / (1_u64 << 49) as f64;
/// More than 2 u for a threshold's lower neighbour, u for rounding to f32, and the roundings of f64.
const SLACK: f64 = 4.0 * UNIT;

/// Queries in the form that this pass multiplies.
pub(crate) struct Queries {
    packed: PackedQueries<i32>,
    dim: usize,
    /// s_q.
    scales: Vec<f32>,
    /// p'.
    residual_norms: Vec<f64>,
    /// l.
    lengths: Vec<f64>,
    ratios: Vec<Ratios>,
    largest_length: f64,
    /// The largest l + p.
    largest_reach: f64,
}

/// The factors of C; infinite where s_q is zero.
struct Ratios {
    /// 1 / s_q.
    inverse: f64,
    /// p' / s_q.
    residual_norm: f64,
    /// l / s_q.
    length: f64,
}

impl Queries {
    /// `queries` is `[count, dim]`.
    pub(crate) fn new(queries: &[f32], dim: usize) -> Self {
        let count = queries.len() / dim;
        let depth = dim.div_ceil(VALUE_BYTES);
        let mut values = Vec::with_capacity(count * depth);
        let (mut scales, mut residual_norms) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (mut lengths, mut ratios) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (mut largest_length, mut largest_reach) = (0.0_f64, 0.0_f64);
        for query in queries.chunks_exact(dim) {
            let largest = query.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
            let scale = largest / LARGEST;
            let code = |&x: &f32| {
                // A zero or subnormal scale makes the quotient arbitrary: any code will do.
                let code = (f64::from(x) / f64::from(scale)).round_ties_even();
                code.clamp(-f64::from(LARGEST), f64::from(LARGEST)) as i32
            };
            let codes: Vec<i32> = query.iter().map(code).collect();
            let (mut squares, mut residual) = (0.0, 0.0);
            for (&x, &code) in query.iter().zip(&codes) {
                squares += f64::from(x) * f64::from(x);
                residual += (f64::from(x) - f64::from(scale) * f64::from(code)).powi(2);
            }
            let (length, residual) = (squares.sqrt() * ROUNDINGS, residual.sqrt() * ROUNDINGS);
            let reach = (length + residual) * ROUNDINGS;
            let residual_norm = (residual + 8.0 * UNIT * reach) * ROUNDINGS;
            let inverse = 1.0 / f64::from(scale);
            ratios.push(Ratios { inverse, residual_norm: residual_norm * inverse, length: length * inverse });
            scales.push(scale);
            residual_norms.push(residual_norm);
            lengths.push(length);
            (largest_length, largest_reach) = (largest_length.max(length), largest_reach.max(reach));
            let unsigned = |codes: &[i32]| {
                let mut bytes = [OFFSET as u8; VALUE_BYTES];
                for (byte, code) in bytes.iter_mut().zip(codes) {
                    *byte = (code + OFFSET) as u8;
                }
                i32::from_le_bytes(bytes)
            };
            values.extend(codes.chunks(VALUE_BYTES).map(unsigned));
        }
        let packed = PackedQueries::new(&values, depth);
        Self { packed, dim, scales, residual_norms, lengths, ratios, largest_length, largest_reach }
    }

    /// Values of a row.
    pub(crate) fn depth(&self) -> usize {
        self.packed.depth()
    }

    /// Numbers of a vector.
    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    pub(super) fn packed(&self) -> &PackedQueries<i32> {
        &self.packed
    }

    /// Whether nothing overflows in a block.
    pub(super) fn are_bounded(&self, facts: &RowFacts) -> bool {
        let (norm, residual_norm) = (f64::from(facts.largest_norm), f64::from(facts.largest_residual_norm));
        let sums = f64::from(LARGEST) * (self.dim as f64).sqrt() * norm;
        let products = [sums, self.largest_reach * norm, self.largest_length * residual_norm];
        products.into_iter().all(|x| x <= f64::from(f32::MAX) / 8.0)
    }

    /// Writes C of the queries from `first` on, for their `thresholds`. Nothing overflows in the block.
    ///
    /// A rounded score reaches t only if the score itself is above t's lower neighbour, hence above t - 2 u
    /// |t| - 2^-149. The roundings in f64 and the one to f32 are relative to the sizes of the terms, except
    /// for 2^-150 in f32: [`SLACK`] of these sizes and 2^-147 make up for both.
    #[inline(always)]
    pub(super) fn write_cutoffs(
        &self,
        first: usize,
        thresholds: &[f32],
        facts: &RowFacts,
        cutoffs: &mut [f32],
    ) {
        let (norm, residual_norm) = (f64::from(facts.largest_norm), f64::from(facts.largest_residual_norm));
        let ratios = self.ratios[first..].iter().zip(thresholds);
        for (cutoff, (ratios, &threshold)) in cutoffs.iter_mut().zip(ratios) {
            let reached = f64::from(threshold) * ratios.inverse;
            let error = ratios.residual_norm * norm + ratios.length * residual_norm;
            let slack = (reached.abs() + error) * SLACK + ratios.inverse * LEAST + 4.0 * LEAST;
            // NaN where a query without a scale meets a threshold or rows of zeros: all rows reach that too.
            *cutoff = (reached - error - slack) as f32;
        }
    }

    /// The bounds of the rounded score of a row and a query whose codes have the inner product `sum`.
    pub(super) fn interval(&self, query: usize, row: usize, facts: &RowFacts, sum: i32) -> (f32, f32) {
        let (norm, residual_norm) = (f64::from(facts.norms[row]), f64::from(facts.residual_norms[row]));
        let estimate = f64::from(self.scales[query]) * f64::from(facts.scales[row]) * f64::from(sum);
        let error = self.residual_norms[query] * norm + self.lengths[query] * residual_norm;
        let error = error * ROUNDINGS;
        (rounded_down(estimate - error), rounded_up(estimate + error))
    }
}
