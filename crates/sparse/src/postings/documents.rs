//! The documents of a full block, as the gaps between them in Rice's code.
//!
//! The `l` low bits of the gaps stand packed, their high parts as the ones of a row of bits: a one for each gap behind as many zeros as its high
//! part. A document is the sum of the gaps up to it, of which the low parts are summed as they are unpacked, and the high ones are the
//! zeros that were passed. Elias and Fano's code, which splits the documents themselves, takes a third to half a bit more a document.

use bitpacking::{BitPacker, BitPacker4x};

use super::BLOCK;
use super::ones::{self, ROOM};
use crate::coding::packed::packed_bytes;

/// The low bits of `count` gaps that are `spread` together.
#[inline]
pub(super) fn low_bits(count: usize, spread: u32) -> u8 {
    (spread / count.max(1) as u32).checked_ilog2().map_or(0, |bits| bits as u8)
}

/// The most bytes that the high parts can take in a full block whose gaps are `spread` together.
#[inline]
pub(super) fn most_high_bytes(spread: u32) -> usize {
    if spread == 0 { 0 } else { (BLOCK + (spread >> low_bits(BLOCK, spread)) as usize).div_ceil(8) }
}

/// How many bytes fewer they take than that, at most. (High parts are rounded down: it would hardly ever be sixteen.)
pub(super) const MOST_LESS: usize = 15;

/// The bytes of the low parts.
#[inline]
pub(super) fn low_bytes(spread: u32) -> usize {
    packed_bytes(BLOCK, low_bits(BLOCK, spread))
}

/// Appends a block that follows the document `before` and whose gaps are `spread` together; returns the bytes of the high parts.
pub(super) fn write(before: Option<u32>, docs: &[u32], spread: u32, out: &mut Vec<u8>) -> usize {
    if spread == 0 {
        return 0;
    }
    let low = low_bits(BLOCK, spread);
    let mask = (1_u32 << low) - 1;
    let (mut next, mut zeros) = (next_after(before), 0);
    let (mut lows, mut highs) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK));
    for (place, &doc) in (0..).zip(docs) {
        let gap = doc - next;
        next = doc + 1;
        zeros += gap >> low;
        highs.push(place + zeros);
        lows.push(gap & mask);
    }
    let start = out.len();
    out.resize(start + packed_bytes(BLOCK, low), 0);
    BitPacker4x::new().compress(&lows, &mut out[start..], low);
    let lows_end = out.len();
    ones::write(highs, out);
    let least = lows_end + most_high_bytes(spread).saturating_sub(MOST_LESS);
    out.resize(out.len().max(least), 0);
    out.len() - lows_end
}

/// Reads the front of `packed`; `None` if it is damaged. Whole words are read faster, even if only their first bits count.
#[inline(always)]
pub(super) fn read(before: Option<u32>, spread: u32, packed: &[u8], docs: &mut [u32; ROOM]) -> Option<()> {
    if spread == 0 {
        let base = next_after(before);
        for (doc, next) in docs.iter_mut().zip(0..BLOCK as u32) {
            *doc = base.wrapping_add(next);
        }
        return Some(());
    }
    let low = low_bits(BLOCK, spread);
    let (lows, highs) = packed.split_at_checked(packed_bytes(BLOCK, low))?;
    ones::find(highs, 0, BLOCK, docs)?;
    let mut sums = [0; BLOCK];
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        BitPacker4x::new().decompress(lows, &mut sums, low);
        // SAFETY: this CPU has it.
        unsafe { join_avx512(next_after(before), low, &sums, docs) };
        return Some(());
    }
    // Low parts are packed as differences less 1 are.
    BitPacker4x::new().decompress_strictly_sorted(before, lows, &mut sums, low);
    join(low, &sums, docs);
    Some(())
}

/// Makes documents of the places of their high parts, given the sums of one more than each low part up to them.
#[inline(always)]
fn join(low: u8, sums: &[u32; BLOCK], docs: &mut [u32; ROOM]) {
    // By number: zipped iterators are not vectorized here.
    for place in 0..BLOCK {
        let high = docs[place].wrapping_sub(place as u32).wrapping_shl(u32::from(low));
        docs[place] = sums[place].wrapping_add(high);
    }
}

/// The same, of the low parts of documents from `base`: sixteen are summed in four steps, and only their last waits for the sixteen before.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn join_avx512(base: u32, low: u8, lows: &[u32; BLOCK], docs: &mut [u32; ROOM]) {
    use std::arch::x86_64::{
        _mm_cvtsi32_si128, _mm512_add_epi32, _mm512_alignr_epi32, _mm512_loadu_si512,
        _mm512_permutexvar_epi32, _mm512_set1_epi32, _mm512_setr_epi32, _mm512_setzero_si512,
        _mm512_sll_epi32, _mm512_storeu_si512, _mm512_sub_epi32,
    };
    const LANES: usize = 16;
    let (zero, last) = (_mm512_setzero_si512(), _mm512_set1_epi32(LANES as i32 - 1));
    let shift = _mm_cvtsi32_si128(low.into());
    let mut places = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut before = _mm512_set1_epi32(base as i32);
    for (lows, docs) in lows.as_chunks::<LANES>().0.iter().zip(docs.as_chunks_mut::<LANES>().0) {
        // SAFETY: both have sixteen numbers.
        let (mut sums, ends) =
            unsafe { (_mm512_loadu_si512(lows.as_ptr().cast()), _mm512_loadu_si512(docs.as_ptr().cast())) };
        sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<15>(sums, zero));
        sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<14>(sums, zero));
        sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<12>(sums, zero));
        sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<8>(sums, zero));
        let highs = _mm512_sll_epi32(_mm512_sub_epi32(ends, places), shift);
        let found = _mm512_add_epi32(_mm512_add_epi32(highs, places), _mm512_add_epi32(sums, before));
        before = _mm512_add_epi32(before, _mm512_permutexvar_epi32(last, sums));
        places = _mm512_add_epi32(places, _mm512_set1_epi32(LANES as i32));
        // SAFETY: it has room for sixteen numbers.
        unsafe { _mm512_storeu_si512(docs.as_mut_ptr().cast(), found) };
    }
}

/// The first document that can follow `before`.
#[inline]
pub(super) fn next_after(before: Option<u32>) -> u32 {
    before.map_or(0, |before| before.wrapping_add(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use bitpacking::{BitPacker, BitPacker4x};

    use super::{
        BLOCK, MOST_LESS, ROOM, join, low_bits, low_bytes, most_high_bytes, next_after, ones, read, write,
    };

    proptest! {
        #[test]
        fn round_trip(gaps in prop::collection::vec(0..5000_u32, BLOCK), shift in 0..14_u32, before in prop::option::of(0..1000_u32)) {
            let base = next_after(before);
            let mut next = base;
            let docs: Vec<u32> = gaps.iter().map(|gap| { next += (gap >> shift) + 1; next - 1 }).collect();
            let spread = docs[BLOCK - 1] + 1 - base - BLOCK as u32;
            let (mut packed, mut found) = (Vec::new(), [0; ROOM]);
            let high_bytes = write(before, &docs, spread, &mut packed);
            prop_assert_eq!(packed.len(), low_bytes(spread) + high_bytes);
            prop_assert!((most_high_bytes(spread) - high_bytes) <= MOST_LESS);
            prop_assert!(read(before, spread, &packed, &mut found).is_some());
            prop_assert_eq!(&found[..BLOCK], &docs);
            // What a CPU without AVX-512 does.
            if spread > 0 {
                let (low, mut sums) = (low_bits(BLOCK, spread), [0; BLOCK]);
                ones::find(&packed[low_bytes(spread)..], 0, BLOCK, &mut found);
                BitPacker4x::new().decompress_strictly_sorted(before, &packed, &mut sums, low);
                join(low, &sums, &mut found);
                prop_assert_eq!(&found[..BLOCK], &docs);
            }
            // No other number of low bits is much better.
            for low in (0..20_u8).filter(|_| spread > 0) {
                let highs: u32 = gaps.iter().map(|gap| 1 + (gap >> shift >> low)).sum();
                let of_low = BLOCK * usize::from(low) + highs as usize;
                prop_assert!(packed.len() * 8 <= of_low + BLOCK / 2 + 7, "{} or {low}", low_bits(BLOCK, spread));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(packed in prop::collection::vec(any::<u8>(), 0..600), spread in any::<u32>(), shift in 0..32_u32) {
            let spread = spread >> shift;
            let _ = read(Some(7), spread, &packed, &mut [0; ROOM]);
        }
    }
}
