//! The documents of a full block: the gaps between them in Rice's code.
//!
//! The l low bits of the gaps are packed. The high parts are a row of bits: for each gap, as many zeros as
//! its high part, and a one. A document is the sum of the gaps up to it: the low parts are summed up, and the
//! high parts of the sum are the zeros that were passed. Elias and Fano's code splits the documents instead
//! of the gaps and needs no sums, but a third to half a bit more a document.

use toller_simd::{LANES, Simd};

use super::BLOCK;
use super::set_bits::{self, ROOM};
use crate::coding::{BitWriter, interleaved};

/// The low bits of `count` gaps that add up to `spread`.
#[inline]
pub(super) fn low_bits(count: usize, spread: u32) -> u8 {
    (spread / count.max(1) as u32).checked_ilog2().map_or(0, |bits| bits as u8)
}

/// The most bytes that the high parts of a full block can take.
#[inline]
pub(super) fn most_high_bytes(spread: u32) -> usize {
    if spread == 0 { 0 } else { (BLOCK + (spread >> low_bits(BLOCK, spread)) as usize).div_ceil(8) }
}

/// They take at most this many bytes fewer. (High parts are rounded down; sixteen would be very rare.)
pub(super) const MOST_LESS: usize = 15;

/// The bytes of the low parts of a full block.
#[inline]
pub(super) fn low_bytes(spread: u32) -> usize {
    interleaved::bytes(low_bits(BLOCK, spread))
}

/// Appends the documents of a full block that follows the document `before` and whose gaps add up to
/// `spread`; returns the bytes of the high parts.
pub(super) fn write(before: Option<u32>, docs: &[u32; BLOCK], spread: u32, out: &mut Vec<u8>) -> usize {
    if spread == 0 {
        return 0;
    }
    let low = low_bits(BLOCK, spread);
    let mut next = next_after(before);
    let gaps = docs.map(|doc| {
        let gap = doc - next;
        next = doc + 1;
        gap
    });
    interleaved::pack(&gaps.map(|gap| gap & ((1 << low) - 1)), low, out);
    let lows_end = out.len();
    let mut bits = BitWriter::new(out);
    gaps.iter().for_each(|gap| bits.unary((gap >> low).into()));
    bits.finish();
    let least = lows_end + most_high_bytes(spread).saturating_sub(MOST_LESS);
    out.resize(out.len().max(least), 0);
    out.len() - lows_end
}

/// Reads documents from the front of `packed`; `None` if it is damaged.
#[inline(always)]
pub(super) fn read<S: Simd>(
    simd: S,
    before: Option<u32>,
    spread: u32,
    packed: &[u8],
    docs: &mut [u32; ROOM],
) -> Option<()> {
    let mut sums = [[0; LANES]; BLOCK / LANES];
    let low = low_bits(BLOCK, spread);
    let highs = packed.get(low_bytes(spread)..)?;
    if spread > 0 {
        interleaved::unpack(packed, low, &mut sums)?;
        set_bits::find::<S, false>(simd, highs, 0, BLOCK, docs)?;
    } else {
        docs.iter_mut().zip(0..).for_each(|(doc, place)| *doc = place);
    }
    simd.running_sums(next_after(before), &mut sums);
    // By number, which is vectorized; zipped iterators are not.
    let sums = sums.as_flattened();
    for place in 0..BLOCK {
        // The bits before this one are as many ones as it has predecessors, and zeros.
        let zeros = docs[place].wrapping_sub(place as u32);
        docs[place] = sums[place].wrapping_add(place as u32).wrapping_add(zeros.wrapping_shl(low.into()));
    }
    Some(())
}

/// The first document that can follow `before`.
#[inline]
pub(super) fn next_after(before: Option<u32>) -> u32 {
    before.map_or(0, |before| before.wrapping_add(1))
}
