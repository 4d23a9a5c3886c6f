//! The documents of a block, as Elias and Fano code ascending numbers.
//!
//! A document's number less those of the documents before the block and less its place in the block is `high * 2^l + low`. The `l` low bits
//! stand packed. The high parts never fall, so that `high + place` ascends and is written as the ones of a row of bits. Of documents at random places this takes
//! about a quarter of a bit more than their entropy, where packing gaps at the width of the largest takes more than one.

use bitpacking::{BitPacker, BitPacker4x};

use super::ones::{self, ROOM};
use super::{BLOCK, bits};

/// The low bits of `count` documents among `spread` others.
///
/// `count * l + spread / 2^l` bits are least for this `l`.
#[inline]
pub(super) fn low_bits(count: usize, spread: u32) -> u8 {
    (spread / count.max(1) as u32).checked_ilog2().map_or(0, |bits| bits as u8)
}

/// The bytes of the documents of a full block among `spread` others.
#[inline]
pub(super) fn full_bytes(spread: u32) -> usize {
    if spread == 0 {
        return 0;
    }
    let low = low_bits(BLOCK, spread);
    bits::packed_bytes(BLOCK, low) + (BLOCK + (spread >> low) as usize).div_ceil(8)
}

/// Appends `docs`, the first of which is not below `base`, with `low` low bits.
pub(super) fn write(base: u32, docs: &[u32], low: u8, out: &mut Vec<u8>) {
    let rests: Vec<u32> = (0..).zip(docs).map(|(place, &doc)| doc - base - place).collect();
    let mask = (1_u32 << low) - 1;
    let lows: Vec<u32> = rests.iter().map(|rest| rest & mask).collect();
    match <&[u32; BLOCK]>::try_from(lows.as_slice()) {
        Ok(lows) => {
            let start = out.len();
            out.resize(start + bits::packed_bytes(BLOCK, low), 0);
            BitPacker4x::new().compress(lows, &mut out[start..], low);
        }
        Err(_) => bits::pack(&lows, low, out),
    }
    ones::write((0..).zip(rests).map(|(place, rest)| (rest >> low) + place), out);
}

/// Appends the documents of a full block among `spread` others.
pub(super) fn write_full(base: u32, docs: &[u32], spread: u32, out: &mut Vec<u8>) {
    if spread > 0 {
        write(base, docs, low_bits(BLOCK, spread), out);
    }
}

/// Reads a full block from the front of `packed`; `None` if it is damaged.
#[inline]
pub(super) fn read_full(base: u32, spread: u32, packed: &[u8], docs: &mut [u32; ROOM]) -> Option<()> {
    if spread == 0 {
        for (doc, next) in docs.iter_mut().zip(0..BLOCK as u32) {
            *doc = base.wrapping_add(next);
        }
        return Some(());
    }
    let low = low_bits(BLOCK, spread);
    let (lows_packed, highs) = packed.split_at_checked(bits::packed_bytes(BLOCK, low))?;
    ones::find(highs, BLOCK, docs)?;
    let mut lows = [0; BLOCK];
    BitPacker4x::new().decompress(lows_packed, &mut lows, low);
    join(base, low, &lows, docs);
    Some(())
}

/// Reads `count` documents, at most [`BLOCK`], with `low` low bits, and takes them off the front of `packed`; `None` if it is damaged.
pub(super) fn read(
    base: u32,
    low: u8,
    count: usize,
    packed: &mut &[u8],
    docs: &mut [u32; ROOM],
) -> Option<()> {
    let mut lows = [0; BLOCK];
    bits::unpack(packed, low, lows.get_mut(..count)?)?;
    let used = ones::find(packed, count, docs)?;
    packed.split_off(..used)?;
    join(base, low, &lows, docs);
    Some(())
}

/// Makes documents of the places of their high parts.
#[inline]
fn join(base: u32, low: u8, lows: &[u32; BLOCK], docs: &mut [u32; ROOM]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: this CPU has it.
        return unsafe { join_avx2(base, low, lows, docs) };
    }
    join_portable(base, low, lows, docs);
}

/// The same in vectors of eight.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn join_avx2(base: u32, low: u8, lows: &[u32; BLOCK], docs: &mut [u32; ROOM]) {
    join_portable(base, low, lows, docs);
}

#[inline(always)]
fn join_portable(base: u32, low: u8, lows: &[u32; BLOCK], docs: &mut [u32; ROOM]) {
    // By number: zipped iterators are not vectorized here.
    for place in 0..BLOCK {
        let high = docs[place].wrapping_sub(place as u32).wrapping_shl(u32::from(low));
        docs[place] = base.wrapping_add(place as u32).wrapping_add(high | lows[place]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BLOCK, ROOM, full_bytes, low_bits, read, read_full, write, write_full};

    proptest! {
        #[test]
        fn round_trip(gaps in prop::collection::vec(0..5000_u32, BLOCK), shift in 0..14_u32, count in 1..BLOCK, base in 0..1000_u32) {
            let mut next = base;
            let docs: Vec<u32> = gaps.iter().map(|gap| { next += (gap >> shift) + 1; next - 1 }).collect();
            let spread = docs[BLOCK - 1] + 1 - base - BLOCK as u32;
            let (mut packed, mut found) = (Vec::new(), [0; ROOM]);
            write_full(base, &docs, spread, &mut packed);
            prop_assert_eq!(packed.len(), full_bytes(spread));
            prop_assert!(read_full(base, spread, &packed, &mut found).is_some());
            prop_assert_eq!(&found[..BLOCK], &docs);
            for low in 0..20_usize {
                prop_assert!(full_bytes(spread) * 8 <= BLOCK * (1 + low) + (spread >> low) as usize + 7 || spread == 0);
            }

            let docs = &docs[..count];
            let low = low_bits(count, docs[count - 1] + 1 - base - count as u32);
            packed.clear();
            write(base, docs, low, &mut packed);
            packed.push(7);
            let mut rest = packed.as_slice();
            prop_assert!(read(base, low, count, &mut rest, &mut found).is_some());
            prop_assert_eq!(rest, &[7]);
            prop_assert_eq!(&found[..count], docs);
        }
    }
}
