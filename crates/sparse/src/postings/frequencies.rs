//! The frequencies of up to [`BLOCK`] postings: mostly ones.
//!
//! ```text
//! frequencies :=                                                        if e = 0
//!              | unary(extras of a bucket) for each bucket but the last,
//!                as many zeros as the last bucket has extras,
//!                low bits of the place (l bits) for each extra           if e <= 223
//!              | frequency - 1 (w bits) for each posting                 otherwise; w: the bits of the largest
//! ```
//!
//! The occurrences of the term beyond the first in each document are *extras*, e in all. An extra's place is the
//! number of its posting, counted from 0. A bucket is 2^l neighbouring places, where 2^l is the largest power of two
//! up to last place / e, and at least 1. (With l = 0, frequencies are in unary; with l > 0, this is Elias and Fano's
//! code of the places.)

use super::BLOCK;
use super::documents::low_bits;
use super::set_bits::{self, ROOM};
use crate::coding::packed::{bits_of, unpack};
use crate::coding::{BitWriter, word_at};

/// The most extras that are written by place. So a byte is enough for the encoding of a full block: the number of
/// its extras, or this and the bits of a packed frequency.
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
    /// The encoding of frequencies with `extras` extras, the largest of which is at most `max_tf`.
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

    /// Writes the frequencies, of which there is at least one.
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

    /// Reads frequencies from behind the first `at` bits of `packed`; `None` if these are damaged. The content of
    /// `scratch` does not matter.
    #[inline(always)]
    pub(super) fn read(self, packed: &[u8], at: usize, tfs: &mut [u32], scratch: &mut [u32; ROOM]) -> Option<()> {
        let Some(last) = tfs.len().checked_sub(1) else { return Some(()) };
        match self {
            Self::Ones => tfs.fill(1),
            Self::Packed(width) => {
                unpack(packed, at, width, tfs);
                tfs.iter_mut().for_each(|tf| *tf = tf.wrapping_add(1));
            }
            Self::Extras(extras) => match low_bits(extras.into(), last as u32) {
                0 => read_unary(packed, at, extras.into(), last, tfs, scratch)?,
                low => read_places(packed, at, extras.into(), low, tfs, scratch)?,
            },
        }
        Some(())
    }
}

/// Reads buckets of one posting each: a frequency is the difference between the ends of two buckets.
#[inline(always)]
fn read_unary(
    packed: &[u8],
    at: usize,
    extras: u32,
    last: usize,
    tfs: &mut [u32],
    ends: &mut [u32; ROOM],
) -> Option<()> {
    set_bits::find(packed, at, last, ends)?;
    *ends.get_mut(last)? = extras + last as u32;
    let mut before = u32::MAX;
    for (tf, &end) in tfs.iter_mut().zip(ends.iter()) {
        *tf = end.wrapping_sub(before);
        before = end;
    }
    Some(())
}

/// Reads larger buckets: their extras are the zeros before the end of a bucket.
#[inline(always)]
fn read_places(
    packed: &[u8],
    at: usize,
    extras: usize,
    low: u8,
    tfs: &mut [u32],
    zeros: &mut [u32; ROOM],
) -> Option<()> {
    let last = tfs.len().checked_sub(1)?;
    tfs.fill(1);
    set_bits::find_zeros(packed, at, extras, zeros)?;
    let mut lows_at = at + extras + (last >> low);
    let mask = (1_u64 << low) - 1;
    let mut number = 0;
    for zeros in zeros.get(..extras)?.chunks(LOWS_AT_ONCE) {
        let mut ahead = word_at(packed, lows_at);
        for zero in zeros {
            let place = zero.wrapping_sub(number) << low | (ahead & mask) as u32;
            ahead >>= low;
            number += 1;
            *tfs.get_mut(place as usize)? += 1;
        }
        lows_at += LOWS_AT_ONCE * usize::from(low);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BLOCK, BitWriter, Encoding, ROOM};

    proptest! {
        #[test]
        fn round_trip(
            tfs in prop::collection::vec(prop_oneof![9 => Just(1_u32), 1 => 1..4_u32, 1 => 1..=u32::MAX], 1..=BLOCK),
            most in prop_oneof![Just(1_u32), Just(2), Just(5), Just(30), Just(300), Just(u32::MAX)],
            at in 0..40_usize,
        ) {
            let tfs: Vec<u32> = tfs.into_iter().map(|tf| (tf - 1) % most + 1).collect();
            let max_tf = tfs.iter().copied().max().unwrap_or_default();
            let encoding = Encoding::of(tfs.iter().map(|&tf| u64::from(tf) - 1).sum(), max_tf);
            prop_assert_eq!(Encoding::of_kind(encoding.kind()), encoding);
            let mut packed = Vec::new();
            let mut bits = BitWriter::new(&mut packed);
            bits.bits(!0, at as u32);
            encoding.write(&tfs, &mut bits);
            bits.finish();
            prop_assert_eq!(packed.len(), (at + encoding.bits(tfs.len())).div_ceil(8));
            let mut found = vec![9; tfs.len()];
            prop_assert!(encoding.read(&packed, at, &mut found, &mut [7; ROOM]).is_some());
            prop_assert_eq!(found, tfs);
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            kind in any::<u8>(),
            packed in prop::collection::vec(any::<u8>(), 0..600),
            (at, count) in (0..100_usize, 0..=BLOCK),
        ) {
            let _ = Encoding::of_kind(kind).read(&packed, at, &mut vec![0; count], &mut [0; ROOM]);
        }
    }

    #[test]
    fn few_extras_take_few_bits() {
        assert_eq!(Encoding::of(0, 1).bits(BLOCK), 0);
        assert_eq!(Encoding::of(1, 2).bits(BLOCK), 8, "a bit more than the place has");
        assert_eq!(Encoding::of(64, 2).bits(BLOCK), 64 + 127, "one for each extra, one between two postings");
        assert_eq!(Encoding::of(223, 2).bits(BLOCK), 223 + 127);
        assert_eq!(Encoding::of(224, 200).bits(BLOCK), 8 * BLOCK);
    }
}
