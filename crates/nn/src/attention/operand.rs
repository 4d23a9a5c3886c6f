//! The numbers that attention multiplies: f32, or bf16 in pairs.

use std::mem::MaybeUninit;

use half::bf16;
use toller_simd::product::{Floats, Pairs, Product};
use toller_simd::tile::{AlignedBuffer, PANEL, Rows};
use toller_simd::{LANES, Simd, exp, exp2_coarse};

use crate::linear::convert_to_pairs;

/// A value of the rows and panels of an operand's product.
pub(super) type Value<O> = <<O as Operand>::Product as Product>::Value;

/// A number as attention multiplies it.
pub(crate) trait Operand: Copy {
    /// How it is multiplied. The sums are f32.
    type Product: Product<Sum = f32>;
    /// Numbers of a value, along the depth.
    const PER_VALUE: usize;
    /// The logarithm of e to the base of [`Operand::power`].
    const LOG_E: f32;

    /// A base to the power of `x`, which is at most zero, as exactly as the number is.
    fn power<S: Simd>(simd: S, x: S::F32) -> S::F32;

    /// Queries or keys as rows of values, converted in `buffer` if need be.
    fn rows<'b, S: Simd>(
        simd: S,
        rows: Rows<'b>,
        buffer: &'b mut AlignedBuffer<Value<Self>>,
    ) -> Rows<'b, Value<Self>>;

    /// Values `[n, head_size]` as panels of 32 columns, each `[n in values, 32]`, zeros beyond the last
    /// column.
    fn pack_values<S: Simd>(
        simd: S,
        panels: &mut AlignedBuffer<Value<Self>>,
        values: Rows<'_>,
        buffer: &mut AlignedBuffer<Value<Self>>,
    );

    /// Stores sixteen numbers.
    ///
    /// # Safety
    /// `to` is valid for writing sixteen numbers.
    unsafe fn store<S: Simd>(simd: S, to: *mut Self, numbers: S::F32);

    /// Stores the first `count` numbers.
    ///
    /// # Safety
    /// `to` is valid for writing `count` numbers; `count` is at most sixteen.
    #[inline(always)]
    unsafe fn store_part<S: Simd>(simd: S, to: *mut Self, numbers: S::F32, count: usize) {
        let mut stored = MaybeUninit::<[Self; LANES]>::uninit();
        let stored = stored.as_mut_ptr().cast();
        // SAFETY: `stored` is sixteen numbers; the caller guarantees `count` of `to`.
        unsafe {
            Self::store(simd, stored, numbers);
            to.copy_from_nonoverlapping(stored, count);
        }
    }

    /// Rows of numbers in a buffer of scores as values.
    fn values(scores: &[f32]) -> &[Value<Self>];
}

impl Operand for f32 {
    type Product = Floats;
    const PER_VALUE: usize = 1;
    const LOG_E: f32 = 1.0;

    #[inline(always)]
    fn power<S: Simd>(simd: S, x: S::F32) -> S::F32 {
        exp(simd, x)
    }

    #[inline(always)]
    fn rows<'b, S: Simd>(_simd: S, rows: Rows<'b>, _buffer: &'b mut AlignedBuffer) -> Rows<'b> {
        rows
    }

    #[inline(always)]
    fn pack_values<S: Simd>(
        _simd: S,
        panels: &mut AlignedBuffer,
        values: Rows<'_>,
        _buffer: &mut AlignedBuffer,
    ) {
        let (n, head_size) = (values.count(), values.depth());
        panels.grow(head_size.div_ceil(PANEL) * n * PANEL);
        // The buffer may be that of a longer text.
        let used = panels.as_mut_slice().chunks_exact_mut(n * PANEL).take(head_size.div_ceil(PANEL));
        for (panel, target) in used.enumerate() {
            let columns = head_size.min(panel * PANEL)..head_size.min((panel + 1) * PANEL);
            for (token, line) in target.chunks_exact_mut(PANEL).enumerate() {
                line[..columns.len()].copy_from_slice(&values.row(token)[columns.clone()]);
                line[columns.len()..].fill(0.0);
            }
        }
    }

    #[inline(always)]
    unsafe fn store<S: Simd>(simd: S, to: *mut f32, numbers: S::F32) {
        // SAFETY: the caller guarantees sixteen numbers.
        unsafe { simd.store(to, numbers) }
    }

    fn values(scores: &[f32]) -> &[f32] {
        scores
    }
}

impl Operand for bf16 {
    type Product = Pairs;
    const PER_VALUE: usize = 2;
    const LOG_E: f32 = std::f32::consts::LOG2_E;

    #[inline(always)]
    fn power<S: Simd>(simd: S, x: S::F32) -> S::F32 {
        exp2_coarse(simd, x)
    }

    #[inline(always)]
    fn rows<'b, S: Simd>(simd: S, rows: Rows<'b>, buffer: &'b mut AlignedBuffer<i32>) -> Rows<'b, i32> {
        let stride = pairs_of(rows.depth());
        buffer.grow(rows.count() * stride);
        for (row, pairs) in buffer.as_mut_slice().chunks_exact_mut(stride).enumerate().take(rows.count()) {
            convert_to_pairs(simd, rows.row(row), pairs);
        }
        Rows::new(buffer.as_slice(), stride, rows.count(), rows.depth().div_ceil(2))
    }

    #[inline(always)]
    fn pack_values<S: Simd>(
        simd: S,
        panels: &mut AlignedBuffer<i32>,
        values: Rows<'_>,
        buffer: &mut AlignedBuffer<i32>,
    ) {
        let (n, head_size) = (values.count(), values.depth());
        let (lines, stride) = (n.div_ceil(2), pairs_of(head_size));
        panels.grow(head_size.div_ceil(PANEL) * lines * PANEL);
        // The bits of two tokens next to each other.
        buffer.grow(2 * stride);
        let (even, odd) = buffer.as_mut_slice()[..2 * stride].split_at_mut(stride);
        for line in 0..lines {
            convert_to_pairs(simd, values.row(2 * line), even);
            if 2 * line + 1 < n {
                convert_to_pairs(simd, values.row(2 * line + 1), odd);
            } else {
                odd.fill(0);
            }
            for (at, (&even, &odd)) in even.iter().zip(&*odd).enumerate().take(head_size.div_ceil(2)) {
                let column = 2 * at;
                let start = (column / PANEL * lines + line) * PANEL + column % PANEL;
                let target = &mut panels.as_mut_slice()[start..start + 2];
                target[0] = (even & 0xffff) | odd << 16;
                target[1] = ((even as u32) >> 16) as i32 | (odd as u32 & 0xffff_0000) as i32;
            }
        }
    }

    #[inline(always)]
    unsafe fn store<S: Simd>(simd: S, to: *mut bf16, numbers: S::F32) {
        // SAFETY: the caller guarantees sixteen numbers.
        unsafe { simd.store_bf16(to, numbers) }
    }

    fn values(scores: &[f32]) -> &[i32] {
        // SAFETY: i32 has the size and the alignment of f32, and no invalid bits.
        unsafe { std::slice::from_raw_parts(scores.as_ptr().cast(), scores.len()) }
    }
}

/// The pairs of a row of this many numbers, rounded up to whole vectors of numbers.
fn pairs_of(numbers: usize) -> usize {
    numbers.next_multiple_of(LANES) / 2
}

/// Keys `[n, depth in values]` as panels: 32 keys for each depth, zeros beyond the last key.
#[inline(always)]
pub(super) fn pack_keys<V: Copy + Default>(panels: &mut AlignedBuffer<V>, keys: Rows<'_, V>) {
    let (n, depth) = (keys.count(), keys.depth());
    panels.grow(n.div_ceil(PANEL) * depth * PANEL);
    let panels = panels.as_mut_slice();
    for (panel, target) in panels.chunks_exact_mut(depth * PANEL).enumerate().take(n.div_ceil(PANEL)) {
        let count = PANEL.min(n - panel * PANEL);
        if count < PANEL {
            target.fill(V::default());
        }
        for key in 0..count {
            for (line, &value) in target.chunks_exact_mut(PANEL).zip(keys.row(panel * PANEL + key)) {
                line[key] = value;
            }
        }
    }
}
