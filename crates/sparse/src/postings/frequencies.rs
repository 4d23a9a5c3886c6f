//! Frequencies: mostly ones, written in the shortest of three ways.
//!
//! ```text
//! extras   the places of the e occurrences beyond the first of their documents: their high parts, which never fall, as the ones of a row of
//!          e + (last place >> l) bits; then the l low bits of each (Elias and Fano's code; 2^l is the largest up to last place / e, and above 1)
//! sums     unary(frequency - 1) of each: the sums of the frequencies are the ones of a row of bits
//! packed   frequency - 1 in b bits each
//!
//! kind of a full block: 1..63 extras; 64 + b packed (BitPacker4x); 128 + n n bytes of sums
//! ```

use bitpacking::{BitPacker, BitPacker4x};

use super::BLOCK;
use super::documents::low_bits;
use super::ones::{self, ROOM};
use crate::coding::packed::{bits_of, packed_bytes};
use crate::coding::{BitWriter, word_at};

/// The first kinds of packed and of summed frequencies.
const PACKED: u8 = 64;
const SUMMED: u8 = 128;

/// The last place of a full block.
const LAST: u32 = BLOCK as u32 - 1;

/// The low bits of a place of a block are six at most: of so many they are in sight together.
const LOWS_AT_ONCE: usize = 9;

/// The low bits of the places of extras up to `last`, and all their bits; `None` if sums are shorter.
#[inline]
pub(super) fn extras_bits(extras: u64, last: u32) -> Option<(u8, usize)> {
    let extras = usize::try_from(extras).ok().filter(|&extras| extras <= last as usize)?;
    let low = low_bits(extras, last);
    (low > 0).then(|| (low, extras * (usize::from(low) + 1) + (last >> low) as usize))
}

/// Writes the places of the occurrences beyond the first.
pub(super) fn write_extras(tfs: &[u32], low: u8, bits: &mut BitWriter<'_>) {
    let places = (0_u32..).zip(tfs).flat_map(|(place, &tf)| (1..tf).map(move |_| place));
    let mut high = 0;
    for place in places.clone() {
        bits.unary(u64::from((place >> low) - high));
        high = place >> low;
    }
    let last = tfs.len() as u32 - 1;
    bits.zeros(u64::from((last >> low) - high));
    places.for_each(|place| bits.bits(place.into(), low.into()));
}

/// Reads them from behind the first `at` bits into as many frequencies as were written.
#[inline(always)]
pub(super) fn read_extras(
    packed: &[u8],
    at: usize,
    extras: usize,
    low: u8,
    tfs: &mut [u32],
    highs: &mut [u32; ROOM],
) -> Option<()> {
    tfs.fill(1);
    let last = tfs.len().checked_sub(1)?;
    ones::find(packed, at, extras, highs)?;
    let mut lows_at = at + extras + (last >> low);
    let (at_once, mask) = (LOWS_AT_ONCE, (1_u64 << low) - 1);
    let mut number = 0;
    for highs in highs.get(..extras)?.chunks(at_once) {
        let mut ahead = word_at(packed, lows_at);
        for high in highs {
            let place = high.wrapping_sub(number) << low | (ahead & mask) as u32;
            ahead >>= low;
            number += 1;
            *tfs.get_mut(place as usize)? += 1;
        }
        lows_at += at_once * usize::from(low);
    }
    Some(())
}

/// Writes each frequency in as many bits.
pub(super) fn write_summed(tfs: &[u32], bits: &mut BitWriter<'_>) {
    tfs.iter().for_each(|&tf| bits.unary(u64::from(tf - 1)));
}

/// Reads them from behind the first `at` bits into `tfs`, as many as there is room for, at most [`BLOCK`].
#[inline(always)]
pub(super) fn read_summed(packed: &[u8], at: usize, tfs: &mut [u32], ends: &mut [u32; ROOM]) -> Option<()> {
    ones::find(packed, at, tfs.len(), ends)?;
    let mut before = u32::MAX;
    for (tf, &end) in tfs.iter_mut().zip(ends.iter()) {
        *tf = end.wrapping_sub(before);
        before = end;
    }
    Some(())
}

/// Appends the frequencies of a full block, not all of which are 1; returns their kind.
pub(super) fn write(tfs: &[u32], out: &mut Vec<u8>) -> u8 {
    let all: u64 = tfs.iter().map(|&tf| u64::from(tf)).sum();
    let rest: Vec<u32> = tfs.iter().map(|tf| tf - 1).collect();
    let width = bits_of(rest.iter().map(|&rest| rest.into()));
    let packed = packed_bytes(BLOCK, width);
    let extras = all - tfs.len() as u64;
    if let Some((low, bits)) = extras_bits(extras, LAST)
        && bits.div_ceil(8) <= packed
    {
        let mut writer = BitWriter::new(out);
        write_extras(tfs, low, &mut writer);
        writer.finish();
        return extras as u8;
    }
    let summed = all.div_ceil(8);
    if summed < u64::from(SUMMED) && summed <= packed as u64 {
        let mut writer = BitWriter::new(out);
        write_summed(tfs, &mut writer);
        writer.finish();
        return SUMMED | summed as u8;
    }
    let start = out.len();
    out.resize(start + packed, 0);
    BitPacker4x::new().compress(&rest, &mut out[start..], width);
    PACKED + width
}

/// The bytes of the frequencies of a kind; `None` if there is no such kind.
#[inline]
pub(super) fn bytes(kind: u8) -> Option<usize> {
    match kind {
        0 => Some(0),
        1..PACKED => extras_bits(kind.into(), LAST).map(|(_, bits)| bits.div_ceil(8)),
        PACKED..SUMMED => {
            let width = kind - PACKED;
            (width <= 32).then(|| packed_bytes(BLOCK, width))
        }
        SUMMED.. => Some(usize::from(kind - SUMMED)),
    }
}

/// Reads frequencies from the front of `packed`; `None` if it is damaged. Whole words are read faster, even if only their first bits
/// count. What is in `scratch` does not matter.
#[inline(always)]
pub(super) fn read(kind: u8, packed: &[u8], tfs: &mut [u32; ROOM], scratch: &mut [u32; ROOM]) -> Option<()> {
    let tfs = &mut tfs[..BLOCK];
    match kind {
        0 => tfs.fill(1),
        1..PACKED => {
            let (low, _) = extras_bits(kind.into(), LAST)?;
            read_extras(packed, 0, kind.into(), low, tfs, scratch)?;
        }
        PACKED..SUMMED => {
            let packed = packed.get(..bytes(kind)?)?;
            BitPacker4x::new().decompress(packed, tfs, kind - PACKED);
            tfs.iter_mut().for_each(|tf| *tf = tf.wrapping_add(1));
        }
        SUMMED.. => read_summed(packed, 0, tfs, scratch)?,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BLOCK, ROOM, bytes, read, write};

    proptest! {
        #[test]
        fn round_trip(
            tfs in prop::collection::vec(prop_oneof![9 => Just(1_u32), 1 => 1..4_u32, 1 => 1..=u32::MAX], 1..=BLOCK),
            most in prop_oneof![Just(2_u32), Just(5), Just(30), Just(300), Just(u32::MAX)],
        ) {
            let tfs: Vec<u32> = tfs.into_iter().cycle().map(|tf| (tf - 1) % most + 1).take(BLOCK).collect();
            let mut packed = Vec::new();
            let kind = write(&tfs, &mut packed);
            prop_assert_eq!(bytes(kind), Some(packed.len()));
            let mut found = [0; ROOM];
            prop_assert!(read(kind, &packed, &mut found, &mut [7; ROOM]).is_some());
            prop_assert_eq!(&found[..BLOCK], &tfs);
        }

        #[test]
        fn any_bytes_are_read_or_refused(kind in any::<u8>(), packed in prop::collection::vec(any::<u8>(), 0..600)) {
            let read = read(kind, &packed, &mut [0; ROOM], &mut [0; ROOM]);
            prop_assert!(read.is_none() || bytes(kind).is_some());
        }
    }

    #[test]
    fn each_kind_is_used() {
        let mut out = Vec::new();
        let mut few = [1; BLOCK];
        few[5] = 2;
        assert_eq!((write(&few, &mut out), out.len()), (1, 1), "a bit more than the place has");
        few[127] = 60;
        assert_eq!(write(&few, &mut out), 60);
        let up_to = |most: u32| std::array::from_fn::<u32, BLOCK, _>(|place| 1 + place as u32 % most);
        assert_eq!(write(&up_to(2), &mut out), 64 + 1);
        assert_eq!(write(&up_to(3), &mut out), 128 + 32);
        assert_eq!(write(&[200; BLOCK], &mut out), 64 + 8);
    }
}
