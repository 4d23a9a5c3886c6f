//! The frequencies of a block of postings: mostly ones.
//!
//! ```text
//! frequencies := nothing                                      if e = 0
//!              | unary(extras of a bucket) for each bucket but the last,
//!                as many zeros as the last bucket has extras,
//!                low bits of the place (l bits) for each extra if e <= 223
//!              | frequency - 1 (w bits) for each posting      otherwise; w: the bits of the largest
//! ```
//!
//! The occurrences of the term beyond the first in each document are *extras*, e in all. An extra's place is
//! the number of its posting, counted from 0. A bucket is 2^l neighbouring places, where 2^l is the largest
//! power of two up to last place / e, and at least 1. (With l = 0, frequencies are in unary; with l > 0, this
//! is Elias and Fano's code of the places.)

use toller_simd::Simd;

use super::documents::low_bits;
use super::set_bits::{self, ROOM};
use crate::coding::packed::{bits_of, unpack};
use crate::coding::{BitWriter, word_at};

/// The most extras that are written by place. So a byte is enough for the encoding of a full block: the
/// number of its extras, or this and the bits of a packed frequency.
const MOST_EXTRAS: u8 = 223;

/// A place takes six bits at most, so that this many low parts fit in a word.
const LOWS_AT_ONCE: usize = 9;

/// How frequencies are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Not at all: they are 1.
    Ones,
    /// By the places of this many extras.
    Extras(u8),
    /// In this many bits each.
    Packed(u8),
}

impl Encoding {
    /// The encoding of frequencies with `extras` extras; the largest is at most `max_tf`.
    #[inline]
    pub(super) fn of(extras: u64, max_tf: u32) -> Self {
        match u8::try_from(extras) {
            Ok(0) => Self::Ones,
            Ok(extras) if extras <= MOST_EXTRAS => Self::Extras(extras),
            _ => Self::Packed(bits_of([max_tf.saturating_sub(1).into()])),
        }
    }

    /// That of a full block, from what the directory says; 0 means that all are 1.
    #[inline]
    pub(super) fn of_kind(kind: u8) -> Self {
        match kind.checked_sub(MOST_EXTRAS) {
            None if kind == 0 => Self::Ones,
            None | Some(0) => Self::Extras(kind),
            Some(width) => Self::Packed(width),
        }
    }

    /// What the directory says of a full block.
    pub(super) fn kind(self) -> u8 {
        match self {
            Self::Ones => 0,
            Self::Extras(extras) => extras,
            Self::Packed(width) => MOST_EXTRAS + width,
        }
    }

    /// The bits of `count` frequencies.
    #[inline]
    pub(super) fn bits(self, count: usize) -> usize {
        match self {
            Self::Ones => 0,
            Self::Extras(extras) => {
                let (extras, last) = (usize::from(extras), count.saturating_sub(1));
                let low = low_bits(extras, last as u32);
                extras * (usize::from(low) + 1) + (last >> low)
            }
            Self::Packed(width) => count * usize::from(width),
        }
    }

    /// Writes the frequencies, at least one.
    pub(super) fn write(self, tfs: &[u32], bits: &mut BitWriter<'_>) {
        match self {
            Self::Ones => {}
            Self::Extras(extras) => {
                let last = tfs.len() as u32 - 1;
                let low = low_bits(extras.into(), last);
                let places = (0_u32..).zip(tfs).flat_map(|(place, &tf)| (1..tf).map(move |_| place));
                let mut bucket = 0;
                for place in places.clone() {
                    (bucket..place >> low).for_each(|_| bits.bits(1, 1));
                    bits.bits(0, 1);
                    bucket = place >> low;
                }
                (bucket..last >> low).for_each(|_| bits.bits(1, 1));
                places.for_each(|place| bits.bits(place.into(), low.into()));
            }
            Self::Packed(width) => tfs.iter().for_each(|&tf| bits.bits((tf - 1).into(), width.into())),
        }
    }

    /// Reads frequencies after the first `at` bits of `packed`; `None` if these are damaged. The
    /// content of `scratch` does not matter.
    #[inline(always)]
    pub(super) fn read<S: Simd>(
        self,
        simd: S,
        packed: &[u8],
        at: usize,
        tfs: &mut [u32],
        scratch: &mut [u32; ROOM],
    ) -> Option<()> {
        let Some(last) = tfs.len().checked_sub(1) else { return Some(()) };
        match self {
            Self::Ones => tfs.fill(1),
            Self::Packed(width) => {
                unpack(packed, at, width, tfs);
                tfs.iter_mut().for_each(|tf| *tf = tf.wrapping_add(1));
            }
            Self::Extras(extras) => match low_bits(extras.into(), last as u32) {
                0 => {
                    set_bits::find::<S, false>(simd, packed, at, last, scratch)?;
                    *scratch.get_mut(last)? = u32::from(extras) + last as u32;
                    differences(scratch, tfs);
                }
                low => {
                    set_bits::find::<S, true>(simd, packed, at, extras.into(), scratch)?;
                    let lows_at = at + usize::from(extras) + (last >> low);
                    add_places(scratch.get(..extras.into())?, packed, lows_at, low, tfs)?;
                }
            },
        }
        Some(())
    }
}

/// Makes frequencies of the ends of buckets of one posting each.
#[inline(always)]
fn differences(ends: &[u32; ROOM], tfs: &mut [u32]) {
    let mut before = u32::MAX;
    for (tf, &end) in tfs.iter_mut().zip(ends) {
        *tf = end.wrapping_sub(before);
        before = end;
    }
}

/// Makes frequencies of the positions of the extras in the row of buckets and their low bits.
#[inline(always)]
fn add_places(positions: &[u32], packed: &[u8], mut lows_at: usize, low: u8, tfs: &mut [u32]) -> Option<()> {
    tfs.fill(1);
    let mut number = 0;
    for positions in positions.chunks(LOWS_AT_ONCE) {
        let mut ahead = word_at(packed, lows_at);
        for position in positions {
            let low_part = (ahead & ((1 << low) - 1)) as u32;
            // Before this extra are the earlier ones and the ends of buckets.
            *tfs.get_mut((position.wrapping_sub(number) << low | low_part) as usize)? += 1;
            number += 1;
            ahead >>= low;
        }
        lows_at += LOWS_AT_ONCE * usize::from(low);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::Encoding;
    use crate::postings::BLOCK;

    #[test]
    fn a_byte_says_how_a_full_block_is_written() {
        for kind in 0..=u8::MAX {
            assert_eq!(Encoding::of_kind(kind).kind(), kind);
        }
        assert_eq!(Encoding::of(224, u32::MAX).kind(), 255);
    }

    #[test]
    fn few_extras_take_few_bits() {
        assert_eq!(Encoding::of(0, 1).bits(BLOCK), 0);
        assert_eq!(Encoding::of(1, 2).bits(BLOCK), 8, "a bit more than the place has");
        assert_eq!(
            Encoding::of(64, 2).bits(BLOCK),
            64 + 127,
            "a zero for each extra, a one between postings"
        );
        assert_eq!(Encoding::of(223, 2).bits(BLOCK), 223 + 127);
        assert_eq!(Encoding::of(224, 200).bits(BLOCK), 8 * BLOCK);
    }
}
