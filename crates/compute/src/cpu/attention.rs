//! Self-attention over a flat batch on the CPU.
//!
//! Idea: a head at a time, keys and values packed once as panels of the register-tiled product; then
//! blocks of 48 queries: scores, softmax in place, product with the values, all in a scratch that stays
//! in the second-level cache. Nothing of size [heads, n, n] exists, and no pad token does.
//! Cost model: 2 * n^2 * hidden multiply-adds a sequence, n^2 * heads exponentials.

use std::cell::RefCell;

use super::product::Numbers;
use super::tile::{AlignedBuffer, Epilogue, PANEL, Rows, multiply};
use crate::simd::{self, Kernel, LANES, Simd};

/// Queries of a block: four register tiles of AVX-512. The scores of 512 keys are then 96 KiB.
const BLOCK: usize = 48;

/// Attention of every token to the tokens of its own sequence (Vaswani et al. 2017, equation 1).
pub(crate) struct Attention<'a> {
    /// `[tokens, 3 * heads * head_size]`: queries, keys and values beside each other.
    pub(crate) qkv: &'a [f32],
    /// Where each sequence starts, and the number of tokens at the end.
    pub(crate) offsets: &'a [u32],
    pub(crate) heads: usize,
    pub(crate) head_size: usize,
}

/// Buffers that a thread keeps from call to call.
#[derive(Default)]
struct Scratch {
    /// Keys of a head: `[panels of 32 keys, head_size, 32]`.
    keys: AlignedBuffer,
    /// Values of a head: `[panels of 32 columns, n, 32]`.
    values: AlignedBuffer,
    /// `[BLOCK, n rounded up to whole vectors]`.
    scores: AlignedBuffer,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Kernel for Attention<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Vec<f32> {
        let hidden = self.heads * self.head_size;
        let tokens = self.offsets.last().map_or(0, |&end| end as usize);
        assert_eq!(self.qkv.len(), tokens * 3 * hidden, "queries, keys and values of {tokens} tokens");
        assert!(self.offsets.is_sorted(), "offsets ascend");
        let mut out = vec![0.0; tokens * hidden];
        // Taken out and put back: inside a closure the kernel would not be compiled for its instruction set.
        let mut scratch = SCRATCH.take();
        for bounds in self.offsets.windows(2) {
            let (start, end) = (bounds[0] as usize, bounds[1] as usize);
            let qkv = &self.qkv[start * 3 * hidden..end * 3 * hidden];
            let out = &mut out[start * hidden..end * hidden];
            for head in 0..self.heads {
                attend(simd, qkv, out, hidden, head * self.head_size, self.head_size, &mut scratch);
            }
        }
        SCRATCH.set(scratch);
        out
    }
}

/// One head of one sequence: `qkv` `[n, 3 * hidden]`, `out` `[n, hidden]`, columns from `first`.
#[inline(always)]
fn attend<S: Simd>(
    simd: S,
    qkv: &[f32],
    out: &mut [f32],
    hidden: usize,
    first: usize,
    head_size: usize,
    scratch: &mut Scratch,
) {
    let n = out.len() / hidden;
    if n == 0 {
        return;
    }
    let width = n.next_multiple_of(LANES);
    let part = |part: usize| Rows::new(&qkv[part * hidden + first..], 3 * hidden, n, head_size);
    pack_keys(&mut scratch.keys, part(1));
    pack_values(&mut scratch.values, part(2));
    scratch.scores.grow(BLOCK * width);
    let scale = 1.0 / (head_size as f32).sqrt();

    for block in (0..n).step_by(BLOCK) {
        let count = BLOCK.min(n - block);
        let queries = Rows::new(&qkv[block * 3 * hidden + first..], 3 * hidden, count, head_size);
        let scores = scratch.scores.as_mut_slice();
        let mut store = Store { out: scores.as_mut_ptr(), stride: width, divisors: None };
        multiply(simd, queries, scratch.keys.as_slice(), n, &mut store);

        let mut sums = [0.0; BLOCK];
        for (row, sum) in scores.chunks_exact_mut(width).zip(&mut sums).take(count) {
            *sum = softmax_numerators(simd, &mut row[..n], scale);
        }

        let weights = Rows::new(scores, width, count, n);
        let target = &mut out[block * hidden + first..];
        let mut store = Store { out: target.as_mut_ptr(), stride: hidden, divisors: Some(&sums) };
        multiply(simd, weights, scratch.values.as_slice(), head_size, &mut store);
    }
}

/// Keys `[n, head_size]` as panels: 32 keys for each depth, zeros beyond the last key.
#[inline(always)]
fn pack_keys(panels: &mut AlignedBuffer, keys: Rows<'_>) {
    let (n, head_size) = (keys.count(), keys.depth());
    panels.grow(n.div_ceil(PANEL) * head_size * PANEL);
    let panels = panels.as_mut_slice();
    for (panel, target) in panels.chunks_exact_mut(head_size * PANEL).enumerate().take(n.div_ceil(PANEL)) {
        let count = PANEL.min(n - panel * PANEL);
        if count < PANEL {
            target.fill(0.0);
        }
        for key in 0..count {
            for (line, &value) in target.chunks_exact_mut(PANEL).zip(keys.row(panel * PANEL + key)) {
                line[key] = value;
            }
        }
    }
}

/// Values `[n, head_size]` as panels: 32 columns of each token, zeros beyond the head's last column.
#[inline(always)]
fn pack_values(panels: &mut AlignedBuffer, values: Rows<'_>) {
    let (n, head_size) = (values.count(), values.depth());
    panels.grow(head_size.div_ceil(PANEL) * n * PANEL);
    let panels = panels.as_mut_slice();
    for (panel, target) in panels.chunks_exact_mut(n * PANEL).enumerate().take(head_size.div_ceil(PANEL)) {
        let columns = panel * PANEL..head_size.min((panel + 1) * PANEL);
        for (token, line) in target.chunks_exact_mut(PANEL).enumerate() {
            line[..columns.len()].copy_from_slice(&values.row(token)[columns.clone()]);
            line[columns.len()..].fill(0.0);
        }
    }
}

/// Turns a row of scores into exp(scale * (score - largest)) and returns their sum.
#[inline(always)]
fn softmax_numerators<S: Simd>(simd: S, row: &mut [f32], scale: f32) -> f32 {
    let largest = largest_of(simd, row);
    let factor = simd.splat(scale);
    let shift = simd.splat(-largest * scale);
    let mut sums = simd.splat(0.0);
    let mut chunks = row.chunks_exact_mut(LANES);
    for chunk in &mut chunks {
        // SAFETY: the chunk holds sixteen values.
        unsafe {
            let weight = simd::exp(simd, simd.fma(simd.load(chunk.as_ptr()), factor, shift));
            simd.store(chunk.as_mut_ptr(), weight);
            sums = simd.add(sums, weight);
        }
    }
    let rest = chunks.into_remainder();
    if !rest.is_empty() {
        // SAFETY: `rest` holds fewer than sixteen values; the lanes beyond it are loaded back as zeros.
        unsafe {
            let scores = simd.load_part(rest.as_ptr(), rest.len());
            let weight = simd::exp(simd, simd.fma(scores, factor, shift));
            simd.store_part(rest.as_mut_ptr(), weight, rest.len());
            sums = simd.add(sums, simd.load_part(rest.as_ptr(), rest.len()));
        }
    }
    simd.sum(sums)
}

/// The largest value of a row that is not empty.
#[inline(always)]
fn largest_of<S: Simd>(simd: S, row: &[f32]) -> f32 {
    let mut largest = simd.splat(row[0]);
    let chunks = row.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        // SAFETY: the chunk holds sixteen values.
        largest = simd.max(largest, unsafe { simd.load(chunk.as_ptr()) });
    }
    rest.iter().copied().fold(simd.largest(largest), f32::max)
}

/// Stores a product, each row divided by its entry of `divisors` where there are any.
struct Store<'a> {
    out: *mut f32,
    stride: usize,
    divisors: Option<&'a [f32; BLOCK]>,
}

impl Epilogue for Store<'_> {
    type Product = Numbers;

    #[inline(always)]
    unsafe fn store<S: Simd>(&mut self, simd: S, row: usize, column: usize, count: usize, mut sums: S::F32) {
        if let Some(divisors) = self.divisors {
            sums = simd.div(sums, simd.splat(divisors[row]));
        }
        // SAFETY: row and column are within the product's shape, which the output has with this stride.
        unsafe {
            let to = self.out.add(row * self.stride + column);
            if count == LANES {
                simd.store(to, sums);
            } else {
                simd.store_part(to, sums, count);
            }
        }
    }
}
