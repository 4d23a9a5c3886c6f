//! The positions of the ones or the zeros in a row of bits, the lowest bit of the first byte first.

use toller_simd::Simd;

use super::BLOCK;

/// Bits that are looked at together.
const WORD: usize = 64;

/// Room for the positions of a block, and for what is written after them.
pub(super) const ROOM: usize = BLOCK + WORD;

/// Finds the first `count` ones, or zeros, after the first `start` bits of `bytes`, and counts their
/// positions from there: at most [`BLOCK`]. `None` if there are fewer; a few zeros may be found after the end
/// of `bytes`. What follows the positions in `found` is arbitrary.
#[inline(always)]
pub(super) fn find<S: Simd, const ZEROS: bool>(
    simd: S,
    bytes: &[u8],
    start: usize,
    count: usize,
    found: &mut [u32; ROOM],
) -> Option<()> {
    let flip = if ZEROS { u64::MAX } else { 0 };
    let mut bytes = bytes.get(start / 8..)?;
    let passed = start as u32 % 8;
    let (mut at, mut first) = (0, 0_u32.wrapping_sub(passed));
    let mut mask = u64::MAX << passed;
    while at < count {
        let word = (next_word(&mut bytes)? ^ flip) & mask;
        mask = u64::MAX;
        at += simd.set_bits(word, first, found.get_mut(at..)?.first_chunk_mut()?);
        first = first.wrapping_add(WORD as u32);
    }
    Some(())
}

/// Takes the next bits off the front of `bytes`, with zeros after the end; `None` if no bits are left.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toller_simd::product::Floats;
    use toller_simd::{Kernel, Simd, Token};

    use super::{BLOCK, ROOM, find};

    /// Calls the function, which needs an instruction set.
    struct Find<'a> {
        bytes: &'a [u8],
        start: usize,
        count: usize,
        zeros: bool,
    }

    impl Kernel for Find<'_> {
        type Output = Option<Vec<u32>>;
        type Product = Floats;

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Self::Output {
            let Self { bytes, start, count, zeros } = self;
            let mut found = [0; ROOM];
            let all = if zeros {
                find::<S, true>(simd, bytes, start, count, &mut found)
            } else {
                find::<S, false>(simd, bytes, start, count, &mut found)
            };
            all.map(|()| found[..count].to_vec())
        }
    }

    proptest! {
        #[test]
        fn as_defined(
            bytes in prop::collection::vec(prop_oneof![Just(0_u8), Just(255), any::<u8>()], 0..60),
            (start, count, zeros) in (0..100_usize, 0..=BLOCK, any::<bool>()),
        ) {
            let bit = |at: usize| (bytes[at / 8] >> (at % 8) & 1 == 1) != zeros;
            let positions = (start..8 * bytes.len()).filter(|&at| bit(at)).map(|at| (at - start) as u32);
            let positions: Vec<u32> = positions.collect();
            for token in Token::available() {
                let found = token.run(Find { bytes: &bytes, start, count, zeros });
                match positions.get(..count) {
                    Some(expected) if start / 8 <= bytes.len() => {
                        prop_assert_eq!(found.as_deref(), Some(expected), "{:?}", token);
                    }
                    _ => prop_assert!(found.is_none() || zeros, "{:?}", token),
                }
            }
        }
    }
}
