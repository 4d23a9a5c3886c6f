//! The pass in one byte a number: codes of rows against codes of queries, with exact sums in i32.
//!
//! With x = s_x c_x + r_x and q = s_q c_q + r_q (see `quantize.rs`), by Cauchy and Schwarz
//!
//! ```text
//! |<q,x> - s_q s_x <c_q,c_x>| = |<r_q, s_x c_x> + <q, r_x>| <= |r_q| |s_x c_x| + |q| |r_x|.
//! ```
//!
//! Write n for an upper bound of |s_x c_x|, e for one of |r_x|, l of |q|, p of |r_q|, I for the integer
//! <c_q,c_x>, and N and E for the largest n and e of a block. A row may reach a threshold t only if
//!
//! ```text
//! s_q s_x I + p n + l e >= t,   so that   s_x I >= (t - p N - l E) / s_q.
//! ```
//!
//! The pass computes fl(fl(I) s_x), each step rounded by u = 2^-24 relative and 2^-150 absolute, and compares
//! the result with
//!
//! ```text
//! C = (t - p' N - l E - s_q 2^-149) / s_q, rounded down,   p' = p + 8 u (l + p).
//! ```
//!
//! That is enough: |s_q s_x I| <= |s_q c_q| n <= (l + p) n, so that the roundings take less than
//! 3 u (l + p) n + s_q 2^-149 away from s_q s_x I. A row that reaches C is tested again with its own n and e.
//! Nothing overflows while 127 sqrt(d) n, (l + p) n and l e are below MAX / 8; where a row of a block or a
//! query could be larger, all rows of the block reach C.
//!
//! C is computed for every query and block, so without a division or a branch:
//!
//! ```text
//! C = t / s_q - (p' / s_q) N - (l / s_q) E - 2^-149.
//! ```

mod queries;
mod rows;

use toller_simd::Simd;
use toller_simd::product::Bytes;

use self::queries::OFFSET;
pub(crate) use self::queries::Queries;
pub(crate) use self::rows::Source;
use self::rows::{CodeBuffer, RowFacts};
use super::collect::Collector;
use super::compare::{self, Bounds, Cutoffs};
use super::prefetch::NextBlock;

/// Memory that is kept from block to block.
#[derive(Default)]
pub(crate) struct State {
    codes: CodeBuffer,
    facts: RowFacts,
    cutoffs: Cutoffs,
}

/// Collects among the rows of `source`.
#[inline(always)]
pub(crate) fn scan<S: Simd, C: Collector>(
    simd: S,
    queries: &Queries,
    source: Source<'_>,
    next: NextBlock,
    state: &mut State,
    collector: &mut C,
) {
    let State { codes, facts, cutoffs } = state;
    // The next block is prefetched while this block takes its time: for numbers, that is mostly the rounding.
    let (while_rounding, while_multiplying) = match source {
        Source::Stored(_) => (NextBlock::NONE, next),
        Source::Numbers(_) => (next, NextBlock::NONE),
    };
    let rows = facts.rows(simd, queries, source, while_rounding, codes);
    facts.measure(simd, rows);
    let bounds = CodeBounds { queries, facts, are_finite: queries.are_bounded(facts) };
    compare::scan(simd, queries.packed(), rows, bounds, while_multiplying, cutoffs, collector);
}

/// The bounds of the scores of a block.
struct CodeBounds<'a> {
    queries: &'a Queries,
    facts: &'a RowFacts,
    /// Whether nothing overflows. If not, every row reaches every threshold.
    are_finite: bool,
}

impl Bounds for CodeBounds<'_> {
    type Product = Bytes;

    #[inline(always)]
    unsafe fn comparable<S: Simd>(&self, simd: S, row: usize, sums: S::I32) -> (S::I32, S::F32) {
        // SAFETY: `measure` and `rows` have left a correction and a scale for each row of the block.
        let (correction, scale) =
            unsafe { (*self.facts.corrections.get_unchecked(row), *self.facts.scales.get_unchecked(row)) };
        let sums = simd.add_i32(sums, simd.splat_i32(correction));
        (sums, simd.mul(simd.to_f32(sums), simd.splat(scale)))
    }

    #[inline(always)]
    fn comparable_sum(&self, row: usize, sum: i32) -> (i32, f32) {
        let sum = sum + self.facts.corrections[row];
        (sum, sum as f32 * self.facts.scales[row])
    }

    #[inline(always)]
    fn write_cutoffs(&self, first: usize, thresholds: &[f32], cutoffs: &mut [f32]) {
        if self.are_finite {
            self.queries.write_cutoffs(first, thresholds, self.facts, cutoffs);
        } else {
            cutoffs.fill(f32::NEG_INFINITY);
        }
    }

    fn interval(&self, query: usize, row: usize, sum: i32) -> (f32, f32) {
        if !self.are_finite {
            return (f32::NEG_INFINITY, f32::INFINITY);
        }
        self.queries.interval(query, row, self.facts, sum)
    }
}
