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
//! while 127 sqrt(d) n, (l + p) n and l e are below MAX / 8; where a row of a block or a query could be larger, all
//! rows of the block reach C.
//!
//! C is computed for every query and block, so without a division or a branch:
//!
//! ```text
//! C = t / s_q - (p' / s_q) N - (l / s_q) E - 2^-149.
//! ```

mod facts;
mod queries;

use self::facts::Facts;
pub(crate) use self::facts::Source;
pub(crate) use self::queries::Queries;
use super::ahead::Ahead;
use super::few::{FEW, FewQueries};
use super::nominate::Nominator;
use crate::cpu::quantize::CodeBuffer;
use toller_simd::product::Bytes;
use toller_simd::tile::{self, Epilogue, PANEL, Rows};
use toller_simd::{LANES, Simd};

/// Bytes of a value.
const VALUE_BYTES: usize = size_of::<i32>();
/// What makes a signed code an unsigned byte.
const OFFSET: i32 = 128;

/// What the pass remembers from block to block.
#[derive(Default)]
pub(crate) struct State {
    codes: CodeBuffer,
    facts: Facts,
    /// Per query: t. What is read of all threads' thresholds, once a block.
    thresholds: Vec<f32>,
    /// Per query, for this block: C. Padded to whole panels.
    cutoffs: Vec<f32>,
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
    let State { codes, facts, thresholds, cutoffs } = state;
    // What comes next is asked for over the time that a block takes: most of it, for numbers, is the rounding.
    let (rounding, multiplying) = match source {
        Source::Stored(_) => (Ahead::NONE, ahead),
        Source::Numbers(_) => (ahead, Ahead::NONE),
    };
    let rows = facts.rows(simd, queries, source, rounding, codes);
    facts.measure(simd, rows);
    facts.bounded = queries.are_bounded(facts);
    let count = queries.count();
    thresholds.clear();
    thresholds.extend((0..count).map(|query| nominator.threshold(query)));
    cutoffs.resize(count.next_multiple_of(PANEL), f32::INFINITY);
    queries.cutoffs_from(0, thresholds, facts, &mut cutoffs[..count]);
    let mut compare = Compare { queries, facts, cutoffs, ahead: multiplying, nominator };
    match (queries.few(), count) {
        (Some(few), 1) => scan_few::<S, 1>(simd, few, rows, &mut compare),
        (Some(few), 2) => scan_few::<S, 2>(simd, few, rows, &mut compare),
        (Some(few), 3) => scan_few::<S, 3>(simd, few, rows, &mut compare),
        (Some(few), _) => scan_few::<S, FEW>(simd, few, rows, &mut compare),
        (None, _) => tile::multiply(simd, rows, queries.panels(), count, &mut compare),
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
        if self.nominator.nominate(simd, row, query, (lower, upper)) {
            let threshold = [self.nominator.threshold(query)];
            self.queries.cutoffs_from(query, &threshold, self.facts, &mut self.cutoffs[query..=query]);
        }
    }
}
