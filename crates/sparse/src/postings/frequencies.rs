//! The frequencies of a block: mostly ones, written in the shortest of three ways.
//!
//! ```text
//! kind 1..63     so many bytes of exceptions, all others being 1: position (7 bits), and the bit 128 if it is above 2;
//!                then its frequency - 3 (varint)
//! kind 64 + b    frequency - 1 in b bits each (BitPacker4x for a full block, else bit by bit, padded to a byte)
//! kind 128 + n   n bytes, the sums of the frequencies up to each posting as the ones of a row of bits
//! ```

use bitpacking::{BitPacker, BitPacker4x};

use super::ones::{self, ROOM};
use super::{BLOCK, bits, read_varint, write_varint};

/// The first kinds of packed and of summed frequencies.
const PACKED: u8 = 64;
const SUMMED: u8 = 128;

/// An exception whose frequency follows.
const ABOVE_TWO: u8 = 128;

/// Appends the frequencies of a block, not all of which are 1; returns their kind.
pub(super) fn write(tfs: &[u32], out: &mut Vec<u8>) -> u8 {
    let start = out.len();
    for (position, &tf) in (0_u8..).zip(tfs) {
        match tf {
            1 => {}
            2 => out.push(position),
            _ => {
                out.push(position | ABOVE_TWO);
                write_varint(u64::from(tf) - 3, out);
            }
        }
    }
    let exceptions = out.len() - start;
    let summed = tfs.iter().map(|&tf| u64::from(tf)).sum::<u64>().div_ceil(8);
    let rest: Vec<u32> = tfs.iter().map(|tf| tf - 1).collect();
    let width = bits::bits_of(&rest);
    let packed = bits::packed_bytes(tfs.len(), width);
    if exceptions < usize::from(PACKED) && exceptions as u64 <= summed && exceptions <= packed {
        return exceptions as u8;
    }
    out.truncate(start);
    if summed < u64::from(SUMMED) && summed <= packed as u64 {
        let mut sum = 0;
        let ends = tfs.iter().map(|tf| {
            sum += tf;
            sum - 1
        });
        ones::write(ends, out);
        return SUMMED | summed as u8;
    }
    match <&[u32; BLOCK]>::try_from(rest.as_slice()) {
        Ok(rest) => {
            out.resize(start + packed, 0);
            BitPacker4x::new().compress(rest, &mut out[start..], width);
        }
        Err(_) => bits::pack(&rest, width, out),
    }
    PACKED + width
}

/// The bytes of `count` frequencies of a kind; `None` if there is no such kind.
#[inline]
pub(super) fn bytes(kind: u8, count: usize) -> Option<usize> {
    match kind {
        0..PACKED => Some(usize::from(kind)),
        PACKED..SUMMED => {
            let width = kind - PACKED;
            (width <= 32).then(|| bits::packed_bytes(count, width))
        }
        SUMMED.. => Some(usize::from(kind - SUMMED)),
    }
}

/// Reads the first `count`, at most [`BLOCK`], of `tfs` from the whole of `packed`; `None` if it is damaged.
#[inline]
pub(super) fn read(kind: u8, mut packed: &[u8], count: usize, tfs: &mut [u32; ROOM]) -> Option<()> {
    match kind {
        0..PACKED => {
            tfs[..BLOCK].fill(1);
            while let Some((&exception, rest)) = packed.split_first() {
                packed = rest;
                let above = if exception < ABOVE_TWO { 0 } else { 1 + read_varint(&mut packed)? };
                tfs[usize::from(exception % ABOVE_TWO)] = u32::try_from(above.checked_add(2)?).ok()?;
            }
        }
        PACKED..SUMMED => {
            let width = kind - PACKED;
            let tfs = tfs.get_mut(..count)?;
            if count == BLOCK && width <= 32 && packed.len() == bits::packed_bytes(count, width) {
                BitPacker4x::new().decompress(packed, tfs, width);
            } else {
                bits::unpack(&mut packed, width, tfs)?;
            }
            tfs.iter_mut().for_each(|tf| *tf = tf.wrapping_add(1));
        }
        SUMMED.. => {
            let mut ends = [0; ROOM];
            ones::find(packed, count, &mut ends)?;
            tfs[0] = ends[0] + 1;
            for (tf, pair) in tfs[1..BLOCK].iter_mut().zip(ends.windows(2)) {
                *tf = pair[1].wrapping_sub(pair[0]);
            }
        }
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
            tfs in prop::collection::vec(prop_oneof![Just(1_u32), 1..4_u32, 1..=u32::MAX], 1..=BLOCK),
            most in prop_oneof![Just(2_u32), Just(5), Just(300), Just(u32::MAX)],
            full in any::<bool>(),
        ) {
            let count = if full { BLOCK } else { tfs.len() };
            let tfs: Vec<u32> = tfs.into_iter().cycle().map(|tf| (tf - 1) % most + 1).take(count).collect();
            let mut packed = Vec::new();
            let kind = write(&tfs, &mut packed);
            prop_assert_eq!(bytes(kind, count), Some(packed.len()));
            let mut found = [0; ROOM];
            prop_assert!(read(kind, &packed, count, &mut found).is_some());
            prop_assert_eq!(&found[..count], &tfs);
        }

        #[test]
        fn any_bytes_are_read_or_refused(kind in any::<u8>(), packed in prop::collection::vec(any::<u8>(), 0..200), count in 1..=BLOCK) {
            if let Some(packed) = bytes(kind, count).and_then(|bytes| packed.get(..bytes)) {
                let _ = read(kind, packed, count, &mut [0; ROOM]);
            }
        }
    }

    #[test]
    fn each_kind_is_used() {
        let mut out = Vec::new();
        let mut few = [1; BLOCK];
        few[5] = 2;
        assert_eq!(write(&few, &mut out), 1);
        let up_to = |most: u32| std::array::from_fn::<u32, BLOCK, _>(|place| 1 + place as u32 % most);
        assert_eq!(write(&up_to(2), &mut out), 64 + 1);
        assert_eq!(write(&up_to(3), &mut out), 128 + 32);
        assert_eq!(write(&[200; BLOCK], &mut out), 64 + 8);
    }
}
