//! 128 numbers of a fixed count of bits, interleaved so that sixteen are unpacked at once.
//!
//! The number i is in lane i % 16. The numbers of a lane follow each other bit by bit, the lowest bit first,
//! which makes as many bytes as a number has bits. Byte k of the sixteen lanes is at 16 k to 16 k + 15.

use toller_simd::LANES;

/// The numbers.
pub(crate) const COUNT: usize = 128;

/// The most bits of a number: with those that are left of a byte they fit in 32.
pub(crate) const MOST_BITS: u8 = 25;

/// The bytes of the numbers.
#[inline]
pub(crate) fn bytes(bits: u8) -> usize {
    LANES * usize::from(bits)
}

/// Appends numbers of at most [`MOST_BITS`] bits.
pub(crate) fn pack(values: &[u32; COUNT], bits: u8, out: &mut Vec<u8>) {
    let (mut ahead, mut held) = ([0_u32; LANES], 0);
    for values in values.as_chunks::<LANES>().0 {
        ahead.iter_mut().zip(values).for_each(|(ahead, value)| *ahead |= value << held);
        held += bits;
        while held >= 8 {
            out.extend(ahead.map(|ahead| ahead as u8));
            ahead = ahead.map(|ahead| ahead >> 8);
            held -= 8;
        }
    }
}

/// Reads numbers from the front of `packed`; `None` if it is too short for them or they have more than
/// [`MOST_BITS`] bits. It is compiled into the kernel that calls it, and vectorized there.
#[inline(always)]
pub(crate) fn unpack(packed: &[u8], bits: u8, values: &mut [[u32; LANES]; COUNT / LANES]) -> Option<()> {
    if bits > MOST_BITS {
        return None;
    }
    let mut planes = packed.as_chunks::<LANES>().0.iter();
    let (mut ahead, mut held) = ([0_u32; LANES], 0);
    for values in values {
        while held < bits {
            let plane = planes.next()?;
            for (ahead, &byte) in ahead.iter_mut().zip(plane) {
                *ahead |= u32::from(byte) << held;
            }
            held += 8;
        }
        for (value, ahead) in values.iter_mut().zip(&mut ahead) {
            *value = *ahead & ((1 << bits) - 1);
            *ahead >>= bits;
        }
        held -= bits;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{COUNT, LANES, MOST_BITS, bytes, pack, unpack};

    proptest! {
        #[test]
        fn round_trip(values in any::<[u32; COUNT]>(), bits in 0..=MOST_BITS) {
            let values = values.map(|value| value & ((1 << bits) - 1));
            let mut packed = vec![7];
            pack(&values, bits, &mut packed);
            prop_assert_eq!(packed.len(), 1 + bytes(bits));
            let mut found = [[9; LANES]; COUNT / LANES];
            prop_assert!(unpack(&packed[1..], bits, &mut found).is_some());
            prop_assert_eq!(found.as_flattened(), &values);
            prop_assert!(bits == 0 || unpack(&packed[2..], bits, &mut found).is_none());
            prop_assert!(unpack(&packed, MOST_BITS + 1, &mut found).is_none());
        }
    }
}
