//! Self-attention over a flat batch on the CPU.
//!
//! Idea: a head at a time, keys and values packed once as panels of the register-tiled product; then
//! blocks of 48 queries: scores, softmax in place, product with the values, all in a scratch that stays
//! in the second-level cache. Nothing of size [heads, n, n] exists, and no pad token does. With a window, a
//! block takes only the panels of keys that one of its queries sees.
//! The products are in f32, or in bf16 with sums in f32 ([`Operand`]); the softmax is f32.
//! Cost model: 2 * n * k * hidden multiply-adds a sequence and n * k * heads exponentials, where k is n, or
//! with a window of w about 2 w + 80.
//!
//! A sequence that begins with another one's tokens has their keys and values in front of its own, and only
//! its own queries.
//!
//! The bits of a query depend only on the sequence: a key outside its window, but inside its block's, has
//! weight zero, which changes no sum.

use std::marker::PhantomData;
use std::ops::Range;

use half::bf16;
use toller_simd::tile::{AlignedBuffer, Epilogue, PANEL, Rows, multiply};
use toller_simd::{self as simd, Isa, Kernel, LANES, Simd};

use super::operand::{Operand, Value, pack_keys};
use super::{Attention, RotaryTable};
use crate::cpu::{Output, Part};
use crate::norm::cpu::Norm;
use crate::{Precision, Sequences};

/// Queries of a block: four register tiles of AVX-512. The scores of 512 keys are then 96 KiB.
const BLOCK: usize = 48;

/// One call: `qkv` `[tokens, input width]` of sequences.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) attention: &'a Attention,
    pub(crate) qkv: &'a [f32],
    pub(crate) sequences: &'a Sequences,
    /// The norms of a head's queries and keys.
    pub(crate) head_norms: Option<&'a [Norm; 2]>,
    /// Rotations for the longest sequence at least.
    pub(crate) rotary: Option<&'a RotaryTable>,
}

/// The buffers of a thread.
#[derive(Default)]
pub(crate) struct Scratch {
    f32: Buffers<f32>,
    pairs: Buffers<i32>,
}

/// The buffers of a thread for one kind of operand.
#[derive(Default)]
struct Buffers<V: Copy + Default> {
    /// Queries or keys of a head, normalised and rotated, or values from two places: `[n, head_size]`.
    prepared: AlignedBuffer,
    /// Queries or keys of a head as they are multiplied.
    converted: AlignedBuffer<V>,
    /// Keys of a head: `[panels of 32 keys, head_size in values, 32]`.
    keys: AlignedBuffer<V>,
    /// Values of a head: `[panels of 32 columns, n in values, 32]`.
    values: AlignedBuffer<V>,
    /// `[BLOCK, keys of a block rounded up to whole vectors]`.
    scores: AlignedBuffer,
    /// The relative biases of a head, from distance -(n - 1) to n - 1.
    biases: Vec<f32>,
}

impl Call<'_> {
    /// Computes a part of the heads, of every sequence, into `out` `[tokens, output width]`.
    pub(crate) fn run(self, isa: Isa, precision: Precision, part: Part, out: Output, scratch: &mut Scratch) {
        let tokens = self.sequences.tokens();
        let attention = self.attention;
        assert_eq!(
            self.qkv.len(),
            tokens * attention.input_width(),
            "queries, keys and values of {tokens} tokens"
        );
        assert_eq!(out.len(), tokens * attention.output_width(), "contexts of {tokens} tokens");
        match precision {
            Precision::F32 | Precision::F16 => {
                let operand = PhantomData::<f32>;
                simd::dispatch_on(isa, Heads { call: self, part, out, buffers: &mut scratch.f32, operand });
            }
            Precision::Bf16 | Precision::Int8 => {
                let operand = PhantomData::<bf16>;
                let heads = Heads { call: self, part, out, buffers: &mut scratch.pairs, operand };
                simd::dispatch_on(isa, heads);
            }
        }
    }
}

/// Some heads of every sequence.
struct Heads<'a, O: Operand> {
    call: Call<'a>,
    part: Part,
    out: Output,
    buffers: &'a mut Buffers<Value<O>>,
    /// What is multiplied.
    operand: PhantomData<O>,
}

impl<O: Operand> Kernel for Heads<'_, O> {
    type Output = ();
    type Product = O::Product;

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let mut heads = 0;
        for (before, tokens) in self.call.sequences.parts() {
            for head in 0..self.call.attention.heads {
                // The heads of all sequences are counted through, so that parts are equal for one long text
                // and for many.
                if !tokens.is_empty() && self.part.has(heads) {
                    self.attend(simd, before.clone(), tokens.clone(), head);
                }
                heads += 1;
            }
        }
    }
}

impl<O: Operand> Heads<'_, O> {
    /// One head of the queries of `tokens`, which are not empty, over the keys and values of `before` and
    /// `tokens`.
    #[inline(always)]
    fn attend<S: Simd>(&mut self, simd: S, before: Range<usize>, tokens: Range<usize>, head: usize) {
        let Buffers { prepared, converted, keys, values, scores, biases } = &mut *self.buffers;
        let attention = self.call.attention;
        let (head_size, width, hidden) =
            (attention.head_size, attention.input_width(), attention.output_width());
        let (shared, n) = (before.len(), before.len() + tokens.len());
        let places = attention.places(head);
        let rows = |part: usize, tokens: &Range<usize>| {
            let values = &self.call.qkv[tokens.start * width..tokens.end * width];
            Rows::new(values.get(places[part]..).unwrap_or_default(), width, tokens.len(), head_size)
        };
        let (head_norms, rotary) = (self.call.head_norms, self.call.rotary);
        let norm = |part: usize| head_norms.map(|norms| &norms[part]);
        let is_prepared = head_norms.is_some() || rotary.is_some();
        // Of the sequence's rows, those that are not its own first.
        let all = |part: usize| [rows(part, &before), rows(part, &tokens)];
        let own_keys = if is_prepared || shared > 0 {
            prepare(simd, all(1), 0, norm(1), rotary, prepared)
        } else {
            rows(1, &tokens)
        };
        pack_keys(keys, O::rows(simd, own_keys, converted));
        let own_values =
            if shared > 0 { prepare(simd, all(2), 0, None, None, prepared) } else { rows(2, &tokens) };
        O::pack_values(simd, values, own_values, converted);
        let queries = if is_prepared {
            prepare(simd, [rows(0, &(0..0)), rows(0, &tokens)], shared, norm(0), rotary, prepared)
        } else {
            rows(0, &tokens)
        };
        let queries = O::rows(simd, queries, converted);
        if let Some(bias) = &attention.relative_bias {
            bias.write_line(head, n, biases);
        }
        let scale = attention.scale;

        for block in (0..tokens.len()).step_by(BLOCK) {
            let count = BLOCK.min(tokens.len() - block);
            // The keys that one of the queries sees, from a whole panel.
            let first = attention.seen(shared + block, n).start / PANEL * PANEL;
            let seen = first..attention.seen(shared + block + count - 1, n).end;
            let row_width = seen.len().next_multiple_of(LANES);
            scores.grow(BLOCK * row_width);
            let scores = scores.as_mut_slice();
            let mut store = Store::<O>::new(scores.as_mut_ptr(), row_width, None);
            let panels = &keys.as_slice()[seen.start * queries.depth()..];
            multiply(simd, queries.range(block..block + count), panels, seen.len(), &mut store);

            let mut sums = [0.0; BLOCK];
            for (row, sum) in sums.iter_mut().enumerate().take(count) {
                let query = shared + block + row;
                let row = &mut scores[row * row_width..][..row_width];
                let own = attention.seen(query, n);
                let mut factor = scale;
                let seen_by_row = own.start - seen.start..own.end - seen.start;
                if attention.relative_bias.is_some() {
                    let biases = &biases[own.start + n - 1 - query..];
                    add_biases(simd, &mut row[seen_by_row.clone()], scale, biases);
                    factor = 1.0;
                }
                *sum = softmax_numerators::<S, O>(simd, row, seen_by_row, factor);
            }

            // The second weight of an odd last key's pair is zero.
            let weights = Rows::new(O::values(scores), row_width, count, seen.len().div_ceil(O::PER_VALUE));
            let lines = n.div_ceil(O::PER_VALUE);
            for column in (0..head_size).step_by(PANEL) {
                let panel = &values.as_slice()[column * lines + seen.start / O::PER_VALUE * PANEL..];
                let at = (tokens.start + block) * hidden + head * head_size + column;
                // SAFETY: `at` is within `[tokens, hidden]`, and so is everything that the product stores
                // from there: `count` rows, of each the columns of this head, which belong to no other part.
                let target = unsafe { self.out.start().add(at) };
                let mut store = Store::<O>::new(target, hidden, Some(&sums));
                multiply(simd, weights, panel, PANEL.min(head_size - column), &mut store);
            }
        }
    }
}

/// Rows `[n, head_size]` of two parts normalised and then rotated by their positions, the first of which is
/// `start`, in `out`.
#[inline(always)]
fn prepare<'a, S: Simd>(
    simd: S,
    parts: [Rows<'_>; 2],
    start: usize,
    norm: Option<&Norm>,
    rotary: Option<&RotaryTable>,
    out: &'a mut AlignedBuffer,
) -> Rows<'a> {
    let [first, second] = &parts;
    let (count, size) = (first.count() + second.count(), first.depth());
    out.grow(count * size);
    let half = size / 2;
    for (index, out) in out.as_mut_slice().chunks_exact_mut(size).enumerate().take(count) {
        out.copy_from_slice(match index.checked_sub(first.count()) {
            None => first.row(index),
            Some(index) => second.row(index),
        });
        if let Some(norm) = norm {
            norm.normalize(simd, out);
        }
        if let Some(table) = rotary {
            let position = start + index;
            let angles = position * half..(position + 1) * half;
            rotate(simd, out, &table.cos[angles.clone()], &table.sin[angles]);
        }
    }
    Rows::new(out.as_slice(), size, count, size)
}

/// Rotates a row of `head_size` values in place: values i and i + head_size / 2 are a pair.
#[inline(always)]
fn rotate<S: Simd>(simd: S, row: &mut [f32], cos: &[f32], sin: &[f32]) {
    let half = cos.len();
    assert!(sin.len() == half && row.len() == 2 * half, "angles of {half} pairs");
    let (low, high) = row.split_at_mut(half);
    for at in (0..half).step_by(LANES) {
        let count = LANES.min(half - at);
        let (low, high) = (&mut low[at..], &mut high[at..]);
        // SAFETY: `at + count <= half`, the length of all four slices.
        unsafe {
            let (x, y) = (simd.load_part(low.as_ptr(), count), simd.load_part(high.as_ptr(), count));
            let cos = simd.load_part(cos.as_ptr().add(at), count);
            let sin = simd.load_part(sin.as_ptr().add(at), count);
            let minus_sin = simd.sub(simd.splat(0.0), sin);
            simd.store_part(low.as_mut_ptr(), simd.fma(x, cos, simd.mul(y, minus_sin)), count);
            simd.store_part(high.as_mut_ptr(), simd.fma(y, cos, simd.mul(x, sin)), count);
        }
    }
}

/// Turns a row of scores into scale * score + bias.
#[inline(always)]
fn add_biases<S: Simd>(simd: S, row: &mut [f32], scale: f32, biases: &[f32]) {
    let biases = &biases[..row.len()];
    let factor = simd.splat(scale);
    for at in (0..row.len()).step_by(LANES) {
        let count = LANES.min(row.len() - at);
        // SAFETY: `at + count <= row.len()`, the length of both slices.
        unsafe {
            let score = simd.load_part(row.as_ptr().add(at), count);
            let bias = simd.load_part(biases.as_ptr().add(at), count);
            simd.store_part(row.as_mut_ptr().add(at), simd.fma(score, factor, bias), count);
        }
    }
}

/// Turns the scores of `own` into exp(scale * (score - largest)), as numbers to multiply from the start of
/// the row, where all other numbers become zero. Returns the sum.
#[inline(always)]
fn softmax_numerators<S: Simd, O: Operand>(simd: S, row: &mut [f32], own: Range<usize>, scale: f32) -> f32 {
    const { assert!(size_of::<O>() <= size_of::<f32>(), "the row has room for its numbers") };
    let largest = largest_of(simd, &row[own.clone()]);
    let scale = scale * O::LOG_E;
    let factor = simd.splat(scale);
    let shift = simd.splat(-largest * scale);
    let mut sums = simd.splat(0.0);
    let whole = own.start + own.len() / LANES * LANES;
    let scores = row.as_mut_ptr();
    let weights = scores.cast::<O>();
    // SAFETY: all indices are within the row, a number takes no more bytes than a score, and so a vector of
    // scores is read before its bytes are written.
    unsafe {
        for at in (own.start..whole).step_by(LANES) {
            let vector = O::power(simd, simd.fma(simd.load(scores.add(at)), factor, shift));
            O::store(simd, weights.add(at), vector);
            sums = simd.add(sums, vector);
        }
        let rest = own.end - whole;
        if rest > 0 {
            let vector = simd.fma(simd.load_part(scores.add(whole), rest), factor, shift);
            let vector = simd.to_array(O::power(simd, vector));
            let vector = simd.load_part(vector.as_ptr(), rest);
            O::store_part(simd, weights.add(whole), vector, rest);
            sums = simd.add(sums, vector);
        }
        weights.write_bytes(0, own.start);
        weights.add(own.end).write_bytes(0, row.len() - own.end);
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

/// Stores a product, each row divided by its entry of `divisors`, if given.
struct Store<'a, O> {
    out: *mut f32,
    stride: usize,
    divisors: Option<&'a [f32; BLOCK]>,
    operand: PhantomData<O>,
}

impl<'a, O> Store<'a, O> {
    fn new(out: *mut f32, stride: usize, divisors: Option<&'a [f32; BLOCK]>) -> Self {
        Self { out, stride, divisors, operand: PhantomData }
    }
}

impl<O: Operand> Epilogue for Store<'_, O> {
    type Product = O::Product;

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
