//! The pass in one byte a number: codes of rows against codes of queries, the sums exact in i32.
//!
//! With x = s_x c_x + r_x and q = s_q c_q + r_q (see `cpu/quantize.rs`), by Cauchy and Schwarz
//!
//! ```text
//! |<q,x> - s_q s_x <c_q,c_x>| = |<r_q, s_x c_x> + <q, r_x>| <= |r_q| |s_x c_x| + |q| |r_x|.
//! ```
//!
//! Write n for an upper bound of |s_x c_x|, e for one of |r_x|, l of |q|, p of |r_q|, I for the integer <c_q,c_x>,
//! and N and E for the largest n and e of a block. A row may reach a threshold t only if
//!
//! ```text
//! s_q s_x I + p n + l e >= t,   so that   s_x I >= (t - p N - l E) / s_q.
//! ```
//!
//! The pass computes fl(fl(I) s_x), each step rounded by u = 2^-24 relative and 2^-150 absolute, and compares it with
//!
//! ```text
//! C = (t - p' N - l E - s_q 2^-149) / s_q, rounded down,   p' = p + 8 u (l + p).
//! ```
//!
//! That is enough: |s_q s_x I| <= |s_q c_q| n <= (l + p) n, so that the roundings take away less than
//! 3 u (l + p) n + s_q 2^-149 of s_q s_x I. What reaches C is looked at once more, with its own n and e. Nothing overflows
//! while 127 sqrt(d) n, (l + p) n and l e are below MAX / 8; in a block with larger rows all of them reach C.

use super::ahead::Ahead;
use super::bounds::{rounded_down, rounded_up};
use super::few::{FEW, FewQueries};
use super::nominate::Nominator;
use crate::Codes;
use crate::cpu::product::Bytes;
use crate::cpu::quantize::{CodeBuffer, LARGEST, Quantize};
use crate::cpu::tile::{self, Epilogue, PANEL, Packed, Rows};
use crate::simd::{Kernel, LANES, Simd};

/// Bytes of sixteen values.
const LINE_BYTES: usize = 64;
/// Bytes of a value.
const VALUE_BYTES: usize = size_of::<i32>();
/// What makes a signed code an unsigned byte.
const OFFSET: i32 = 128;

const UNIT: f64 = f32::EPSILON as f64 / 2.0;
/// Makes up for the roundings of bounds computed in f64.
const ROUNDINGS: f64 = 1.0 + 1.0 / (1_u64 << 28) as f64;
/// 2^-149.
const LEAST: f64 = 1.0 / (1_u128 << 100) as f64 / (1_u64 << 49) as f64;

/// Queries as this pass wants them.
pub(crate) struct Queries {
    packed: Packed<i32>,
    few: Option<FewQueries<i32>>,
    dim: usize,
    /// s_q.
    scales: Vec<f32>,
    /// p'.
    residual_norms: Vec<f64>,
    /// l.
    lengths: Vec<f64>,
    /// l + p.
    reaches: Vec<f64>,
}

impl Queries {
    /// `queries` is `[count, dim]`.
    pub(crate) fn new(queries: &[f32], dim: usize) -> Self {
        let count = queries.len() / dim;
        let depth = dim.div_ceil(VALUE_BYTES);
        let mut values = Vec::with_capacity(count * depth);
        let (mut scales, mut residual_norms) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (mut lengths, mut reaches) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for query in queries.chunks_exact(dim) {
            let largest = query.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
            let scale = largest / LARGEST;
            let code = |&x: &f32| {
                // A scale that is zero or subnormal makes the quotient anything: any code is right, with its
                // residual.
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
            scales.push(scale);
            residual_norms.push((residual + 8.0 * UNIT * reach) * ROUNDINGS);
            lengths.push(length);
            reaches.push(reach);
            let unsigned = |codes: &[i32]| {
                let mut bytes = [OFFSET as u8; VALUE_BYTES];
                for (byte, code) in bytes.iter_mut().zip(codes) {
                    *byte = (code + OFFSET) as u8;
                }
                i32::from_le_bytes(bytes)
            };
            values.extend(codes.chunks(VALUE_BYTES).map(unsigned));
        }
        let packed = Packed::new(&values, count, depth);
        let few = FewQueries::new(&values, depth);
        Self { packed, few, dim, scales, residual_norms, lengths, reaches }
    }

    /// Values of a row.
    pub(crate) fn depth(&self) -> usize {
        self.packed.depth
    }
}

/// The rows of a block.
pub(crate) enum Source<'a> {
    /// As the store has them.
    Stored(Codes<'a>),
    /// `[rows, dim]`, to be rounded now.
    Numbers(&'a [f32]),
}

/// What the pass remembers from block to block.
#[derive(Default)]
pub(crate) struct State {
    codes: CodeBuffer,
    facts: Facts,
    /// Per query, for this block: C. Padded to whole panels.
    cutoffs: Vec<f32>,
}

/// What is known of each row.
#[derive(Default)]
struct Facts {
    /// s_x.
    scales: Vec<f32>,
    /// e.
    residual_norms: Vec<f32>,
    /// n.
    norms: Vec<f32>,
    /// What the offset of the queries' bytes has added to the sums, negated.
    corrections: Vec<i32>,
    largest_norm: f32,
    largest_residual_norm: f32,
}

/// Nominates among the rows of `source`.
#[inline(always)]
pub(crate) fn scan<S: Simd>(
    simd: S,
    queries: &Queries,
    source: Source<'_>,
    ahead: Ahead,
    state: &mut State,
    nominator: &mut Nominator<'_>,
) {
    let State { codes, facts, cutoffs } = state;
    let rows = facts.rows(simd, queries, source, codes);
    facts.measure(simd, rows);
    cutoffs.resize(queries.scales.len().next_multiple_of(PANEL), f32::INFINITY);
    for (query, cutoff) in cutoffs.iter_mut().enumerate().take(queries.scales.len()) {
        *cutoff = queries.cutoff(query, nominator.threshold(query), facts);
    }
    let mut compare = Compare { queries, facts, cutoffs, ahead, nominator };
    let count = queries.packed.columns;
    match (&queries.few, count) {
        (Some(few), 1) => scan_few::<S, 1>(simd, few, rows, &mut compare),
        (Some(few), 2) => scan_few::<S, 2>(simd, few, rows, &mut compare),
        (Some(few), 3) => scan_few::<S, 3>(simd, few, rows, &mut compare),
        (Some(few), _) => scan_few::<S, FEW>(simd, few, rows, &mut compare),
        (None, _) => tile::multiply(simd, rows, queries.packed.panels(), count, &mut compare),
    }
}

/// Multiplies each row with each of the `QUERIES` queries.
#[inline(always)]
fn scan_few<S: Simd, const QUERIES: usize>(
    simd: S,
    queries: &FewQueries<i32>,
    rows: Rows<'_, i32>,
    compare: &mut Compare<'_, '_>,
) {
    for row in 0..rows.count() {
        let sums = queries.sums::<S, Bytes, QUERIES>(simd, rows.row(row), row, compare.ahead);
        let facts = compare.facts;
        for (query, sums) in sums.into_iter().enumerate() {
            let sum = simd.sum_i32(sums) + facts.corrections[row];
            let reached = sum as f32 * facts.scales[row];
            let below = reached < compare.cutoffs[query];
            if !below {
                compare.nominate_one(simd, row, query, sum);
            }
        }
    }
}

impl Queries {
    /// Whether nothing overflows in this block.
    fn is_bounded(&self, query: usize, facts: &Facts) -> bool {
        let norm = f64::from(facts.largest_norm);
        let sums = f64::from(LARGEST) * (self.dim as f64).sqrt() * norm;
        let residuals = self.lengths[query] * f64::from(facts.largest_residual_norm);
        [sums, self.reaches[query] * norm, residuals].into_iter().all(|x| x <= f64::from(f32::MAX) / 8.0)
    }

    /// C for `threshold`: a rounded score reaches it only if the score itself is above the threshold's lower neighbour.
    fn cutoff(&self, query: usize, threshold: f32, facts: &Facts) -> f32 {
        let scale = f64::from(self.scales[query]);
        if scale == 0.0 || !self.is_bounded(query, facts) {
            return f32::NEG_INFINITY;
        }
        let error = self.residual_norms[query] * f64::from(facts.largest_norm)
            + self.lengths[query] * f64::from(facts.largest_residual_norm);
        let reached = f64::from(threshold.next_down()) - error * ROUNDINGS - scale * LEAST;
        // The roundings of the difference and the quotient, relative to what is subtracted.
        let slack = (f64::from(threshold).abs() + error) * (ROUNDINGS - 1.0);
        if reached.is_finite() { rounded_down((reached - slack) / scale) } else { f32::NEG_INFINITY }
    }

    /// The bounds of the rounded score of a row and a query whose codes have the inner product `sum`.
    fn interval(&self, query: usize, row: usize, facts: &Facts, sum: i32) -> (f32, f32) {
        if !self.is_bounded(query, facts) {
            return (f32::NEG_INFINITY, f32::INFINITY);
        }
        let (norm, residual_norm) = (f64::from(facts.norms[row]), f64::from(facts.residual_norms[row]));
        let estimate = f64::from(self.scales[query]) * f64::from(facts.scales[row]) * f64::from(sum);
        let error = self.residual_norms[query] * norm + self.lengths[query] * residual_norm;
        let error = error * ROUNDINGS;
        (rounded_down(estimate - error), rounded_up(estimate + error))
    }
}

impl Facts {
    /// The codes of `source` as rows of values, in `buffer` where they do not lie so in the store.
    #[inline(always)]
    fn rows<'a, S: Simd>(
        &mut self,
        simd: S,
        queries: &Queries,
        source: Source<'a>,
        buffer: &'a mut CodeBuffer,
    ) -> Rows<'a, i32> {
        let (dim, depth) = (queries.dim, queries.packed.depth);
        let stride = dim.next_multiple_of(LINE_BYTES);
        let count;
        match source {
            Source::Stored(codes) => {
                count = codes.scales.len();
                self.scales.clear();
                self.scales.extend_from_slice(codes.scales);
                self.residual_norms.clear();
                self.residual_norms.extend_from_slice(codes.residual_norms);
                if dim.is_multiple_of(VALUE_BYTES)
                    && let Ok(values) = bytemuck::try_cast_slice(codes.values)
                {
                    return Rows::new(values, depth, count, depth);
                }
                buffer.grow(count * stride);
                let padded = buffer.bytes_mut().chunks_exact_mut(stride);
                for (to, from) in padded.zip(codes.values.chunks_exact(dim)) {
                    to[..dim].copy_from_slice(from);
                }
            }
            Source::Numbers(rows) => {
                count = rows.len() / dim;
                self.scales.resize(count, 0.0);
                self.residual_norms.resize(count, 0.0);
                buffer.grow(count * stride);
                let codes = &mut buffer.bytes_mut()[..count * stride];
                let (scales, residual_norms) = (&mut self.scales, &mut self.residual_norms);
                Quantize { rows, dim, stride, codes, scales, residual_norms }.run(simd);
            }
        }
        Rows::new(buffer.values(), stride / VALUE_BYTES, count, depth)
    }

    /// Measures the codes of `rows`. For codes in the store this is also what brings them from memory.
    #[inline(always)]
    fn measure<S: Simd>(&mut self, simd: S, rows: Rows<'_, i32>) {
        self.norms.clear();
        self.corrections.clear();
        (self.largest_norm, self.largest_residual_norm) = (0.0, 0.0);
        for row in 0..rows.count() {
            let (sum, squares) = sum_and_squares(simd, rows.row(row));
            let norm = rounded_up(f64::from(self.scales[row]) * f64::from(squares).sqrt() * ROUNDINGS);
            self.norms.push(norm);
            self.corrections.push(-OFFSET * sum);
            let residual_norm = self.residual_norms[row];
            // Not left to `max`, which forgets a NaN: one row without bounds leaves its block without.
            let bounded = norm.is_finite() && residual_norm.is_finite();
            self.largest_norm = self.largest_norm.max(if bounded { norm } else { f32::INFINITY });
            self.largest_residual_norm = self.largest_residual_norm.max(residual_norm);
        }
    }
}

/// The sum of the codes of a row, and that of their squares.
#[inline(always)]
fn sum_and_squares<S: Simd>(simd: S, row: &[i32]) -> (i32, i32) {
    let ones = simd.splat_i32(i32::from_le_bytes([1; VALUE_BYTES]));
    let (mut sums, mut squares) = (simd.splat_i32(0), simd.splat_i32(0));
    let mut add = |codes: S::I32| {
        sums = simd.dot(sums, ones, codes);
        let sizes = simd.abs_i8(codes);
        squares = simd.dot(squares, sizes, sizes);
    };
    let (whole, rest) = row.as_chunks::<LANES>();
    for values in whole {
        // SAFETY: a chunk is sixteen values.
        add(unsafe { simd.load_i32(values.as_ptr()) });
    }
    if !rest.is_empty() {
        let mut values = [0; LANES];
        values[..rest.len()].copy_from_slice(rest);
        // SAFETY: the array holds sixteen values.
        add(unsafe { simd.load_i32(values.as_ptr()) });
    }
    (simd.sum_i32(sums), simd.sum_i32(squares))
}

/// Compares sums with what can still be among the k best.
struct Compare<'a, 'b> {
    queries: &'a Queries,
    facts: &'a Facts,
    cutoffs: &'a mut [f32],
    ahead: Ahead,
    nominator: &'a mut Nominator<'b>,
}

impl Epilogue for Compare<'_, '_> {
    type Product = Bytes;

    #[inline(always)]
    unsafe fn store<S: Simd>(&mut self, simd: S, row: usize, column: usize, count: usize, sums: S::I32) {
        let facts = self.facts;
        // SAFETY: `column` begins sixteen columns of a panel, and the cutoffs fill whole panels; `row` is one of the
        // rows that were measured.
        let (sums, scale, cutoffs) = unsafe {
            let correction = simd.splat_i32(*facts.corrections.get_unchecked(row));
            let scale = simd.splat(*facts.scales.get_unchecked(row));
            (simd.add_i32(sums, correction), scale, simd.load(self.cutoffs.as_ptr().add(column)))
        };
        let scaled = simd.mul(simd.to_f32(sums), scale);
        // Not `>=`: what overflowed to NaN is nominated.
        let reached = u32::from(simd.not_less(scaled, cutoffs)) & ((1 << count) - 1);
        if reached != 0 {
            self.nominate(simd, row, column, reached, &simd.to_array_i32(sums));
        }
    }

    #[inline(always)]
    fn at(&self, row: usize, rows: usize, value: usize) {
        self.ahead.at(row, rows, value);
    }
}

impl Compare<'_, '_> {
    /// Nominates the lanes whose bits are set in `reached`.
    #[cold]
    #[inline(never)]
    fn nominate<S: Simd>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
        mut reached: u32,
        sums: &[i32; LANES],
    ) {
        while reached != 0 {
            let lane = reached.trailing_zeros() as usize;
            self.nominate_one(simd, row, column + lane, sums[lane]);
            reached &= reached - 1;
        }
    }

    #[cold]
    #[inline(never)]
    fn nominate_one<S: Simd>(&mut self, simd: S, row: usize, query: usize, sum: i32) {
        let (lower, upper) = self.queries.interval(query, row, self.facts, sum);
        if upper < self.nominator.threshold(query) {
            return;
        }
        self.nominator.nominate(simd, row, query, (lower, upper));
        self.cutoffs[query] = self.queries.cutoff(query, self.nominator.threshold(query), self.facts);
    }
}
