//! Ascending positions as the ones of a row of bits, the lowest bit of the first byte first.

use super::BLOCK;

/// Positions that are found together.
const LANES: usize = 16;

/// Room for the positions of a block, and for those that are written beyond them.
pub(super) const ROOM: usize = BLOCK + LANES;

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

/// Finds the first `count`, at most [`BLOCK`], ones of `bytes`; returns how many bytes have them. `None` when there are fewer.
#[inline]
pub(super) fn find(bytes: &[u8], count: usize, found: &mut [u32; ROOM]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: this CPU has it.
        return unsafe { find_avx512(bytes, count, found) };
    }
    find_portable(bytes, count, found)
}

/// Sixteen bits at a time, by compression.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn find_avx512(bytes: &[u8], count: usize, found: &mut [u32; ROOM]) -> Option<usize> {
    use std::arch::x86_64::{
        _mm512_add_epi32, _mm512_maskz_compress_epi32, _mm512_set1_epi32, _mm512_setr_epi32,
        _mm512_storeu_si512,
    };
    if count > BLOCK {
        return None;
    }
    let step = _mm512_set1_epi32(LANES as i32);
    let mut positions = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut at = 0;
    let (pairs, odd) = bytes.as_chunks::<2>();
    let odd = odd.first().map(|&byte| u16::from(byte));
    for bits in pairs.iter().map(|&pair| u16::from_le_bytes(pair)).chain(odd) {
        if at >= count {
            break;
        }
        // SAFETY: `at` is below `count`, so that sixteen more are within `found`.
        unsafe {
            let ones = _mm512_maskz_compress_epi32(bits, positions);
            _mm512_storeu_si512(found.as_mut_ptr().add(at).cast(), ones);
        }
        at += bits.count_ones() as usize;
        positions = _mm512_add_epi32(positions, step);
    }
    if at < count {
        return None;
    }
    Some(count.checked_sub(1).map_or(0, |last| found[last] as usize / 8 + 1))
}

fn find_portable(bytes: &[u8], count: usize, found: &mut [u32; ROOM]) -> Option<usize> {
    let found = found.get_mut(..count)?;
    let mut at = 0;
    for (number, chunk) in bytes.chunks(8).enumerate() {
        if at == found.len() {
            break;
        }
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        let mut word = u64::from_le_bytes(word);
        for place in found.iter_mut().skip(at).take(word.count_ones() as usize) {
            *place = (number * 64) as u32 + word.trailing_zeros();
            word &= word - 1;
            at += 1;
        }
    }
    (at == found.len()).then(|| found.last().map_or(0, |&last| last as usize / 8 + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BLOCK, ROOM, find, find_portable, write};

    proptest! {
        #[test]
        fn round_trip(gaps in prop::collection::vec(0..40_u32, 0..=BLOCK), less in 0..20_usize, behind in any::<[u8; 3]>()) {
            let mut next = 0;
            let positions: Vec<u32> = gaps.iter().map(|gap| { next += gap + 1; next - 1 }).collect();
            let mut bytes = vec![7];
            write(positions.iter().copied(), &mut bytes);
            let written = bytes.len() - 1;
            bytes.extend(behind);
            let count = positions.len().saturating_sub(less);
            for find in [find, find_portable] {
                let mut found = [0; ROOM];
                let used = find(&bytes[1..], count, &mut found);
                let last = positions[..count].last();
                prop_assert_eq!(used, Some(last.map_or(0, |&last| last as usize / 8 + 1)));
                prop_assert!(used <= Some(written));
                prop_assert_eq!(&found[..count], &positions[..count]);
                prop_assert_eq!(find(&bytes[1..=written], positions.len() + 1, &mut found), None);
            }
        }
    }
}
