//! Ascending positions as the ones of a row of bits, the lowest bit of the first byte first.

use super::BLOCK;

/// Bits that are looked at together.
const WORD: usize = 64;

/// Positions that are written together.
const LANES: usize = 16;

/// Room for the positions of a block, and for what is written beyond them.
pub(super) const ROOM: usize = BLOCK + WORD;

/// Appends the bits up to the last of `positions`, padded to a byte.
pub(super) fn write(positions: impl IntoIterator<Item = u32>, out: &mut Vec<u8>) {
    let start = out.len();
    for position in positions {
        let byte = start + position as usize / 8;
        if out.len() <= byte {
            out.resize(byte + 1, 0);
        }
        out[byte] |= 1 << (position % 8);
    }
}

/// Finds the first `count`, at most [`BLOCK`], ones behind the first `start` bits of `bytes`, and counts their positions from there. `None` when
/// there are fewer. What `found` has behind them is of no use.
#[inline]
pub(super) fn find(bytes: &[u8], start: usize, count: usize, found: &mut [u32; ROOM]) -> Option<()> {
    let bytes = bytes.get(start / 8..)?;
    let passed = start as u32 % 8;
    // Counting ones takes one instruction where it may be used, and a dozen where it may not.
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("bmi1") {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: this CPU has both.
            return unsafe { find_avx512(bytes, passed, count, found) };
        }
        // SAFETY: this CPU has both.
        return unsafe { find_bmi(bytes, passed, count, found) };
    }
    find_portable(bytes, passed, count, found)
}

/// Takes the next bits off `bytes`, the first of which is the lowest; `None` behind the last.
#[inline(always)]
fn next_word(bytes: &mut &[u8]) -> Option<u64> {
    if let Some((&word, behind)) = bytes.split_first_chunk() {
        *bytes = behind;
        return Some(u64::from_le_bytes(word));
    }
    let rest = std::mem::take(bytes);
    let mut word = [0; 8];
    word[..rest.len()].copy_from_slice(rest);
    (!rest.is_empty()).then(|| u64::from_le_bytes(word))
}

/// Sixteen bits at a time, by compression. Where each sixteen are written follows from the word alone, so that a word waits for the
/// one before only once.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
fn find_avx512(mut bytes: &[u8], passed: u32, count: usize, found: &mut [u32; ROOM]) -> Option<()> {
    use std::arch::x86_64::{
        _mm512_add_epi32, _mm512_maskz_compress_epi32, _mm512_set1_epi32, _mm512_setr_epi32,
        _mm512_storeu_si512, _mm512_sub_epi32,
    };
    if count > BLOCK {
        return None;
    }
    let step = _mm512_set1_epi32(LANES as i32);
    let positions = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut positions = _mm512_sub_epi32(positions, _mm512_set1_epi32(passed as i32));
    let mut mask = u64::MAX << passed;
    let mut at = 0;
    while at < count {
        let word = next_word(&mut bytes)? & mask;
        mask = u64::MAX;
        for first in (0..WORD).step_by(LANES) {
            let before = (word & ((1 << first) - 1)).count_ones() as usize;
            // SAFETY: `at` is below `count`, and before the last sixteen bits of a word are at most 48 ones: this is within `found`.
            unsafe {
                let ones = _mm512_maskz_compress_epi32((word >> first) as u16, positions);
                _mm512_storeu_si512(found.as_mut_ptr().add(at + before).cast(), ones);
            }
            positions = _mm512_add_epi32(positions, step);
        }
        at += word.count_ones() as usize;
    }
    Some(())
}

/// [`find_portable`] with the instructions for counting ones.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt,bmi1")]
fn find_bmi(bytes: &[u8], passed: u32, count: usize, found: &mut [u32; ROOM]) -> Option<()> {
    find_portable(bytes, passed, count, found)
}

#[inline(always)]
fn find_portable(mut bytes: &[u8], passed: u32, count: usize, found: &mut [u32; ROOM]) -> Option<()> {
    let (mut at, mut first) = (0, 0_u32.wrapping_sub(passed));
    let mut mask = u64::MAX << passed;
    while at < count {
        let mut word = next_word(&mut bytes)? & mask;
        mask = u64::MAX;
        let ones = word.count_ones() as usize;
        // By sixteen, though there may be fewer: where the ones of a word end can not be foreseen.
        for places in found.get_mut(at..)?.as_chunks_mut::<LANES>().0.iter_mut().take(ones.div_ceil(LANES)) {
            for place in places {
                *place = first.wrapping_add(word.trailing_zeros());
                word &= word.wrapping_sub(1);
            }
        }
        at += ones;
        first = first.wrapping_add(WORD as u32);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BLOCK, ROOM, find, find_portable, write};

    type Find = fn(&[u8], u32, usize, &mut [u32; ROOM]) -> Option<()>;

    /// What this CPU runs: of what is faster than another, only one would be chosen.
    fn ways() -> Vec<Find> {
        let mut ways: Vec<Find> =
            vec![|bytes, passed, count, found| find(bytes, passed as usize, count, found), find_portable];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("bmi1") {
            // SAFETY: this CPU has both.
            ways.push(|bytes, passed, count, found| unsafe { super::find_bmi(bytes, passed, count, found) });
        }
        ways
    }

    proptest! {
        #[test]
        fn round_trip(
            gaps in prop::collection::vec(0..40_u32, 0..=BLOCK),
            (less, passed) in (0..20_usize, 0..8_u32),
            (before, behind) in (any::<u8>(), any::<[u8; 3]>()),
        ) {
            let mut next = passed;
            let positions: Vec<u32> = gaps.iter().map(|gap| { next += gap + 1; next - 1 }).collect();
            let mut bytes = vec![7];
            write(positions.iter().copied(), &mut bytes);
            let written = bytes.len() - 1;
            bytes.extend(behind);
            // Bits that are passed may be anything.
            bytes[1] |= before & ((1 << passed) - 1);
            let count = positions.len().saturating_sub(less);
            let expected: Vec<u32> = positions[..count].iter().map(|position| position - passed).collect();
            for find in ways() {
                let mut found = [0; ROOM];
                prop_assert!(find(&bytes[1..], passed, count, &mut found).is_some());
                prop_assert_eq!(&found[..count], &expected);
                prop_assert!(find(&bytes[1..=written], passed, positions.len() + 1, &mut found).is_none());
            }
        }
    }

    #[test]
    fn the_start_may_be_anywhere() {
        let mut found = [0; ROOM];
        assert!(find(&[0xff, 0xff, 0b0101_0000], 13, 5, &mut found).is_some());
        assert_eq!(found[..5], [0, 1, 2, 7, 9]);
        assert!(find(&[0xff], 9, 1, &mut found).is_none());
    }
}
