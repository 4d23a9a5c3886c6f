//! Numbers of a fixed count of bits, one after another: the blocks that are not full.

/// The bits that the largest of `values` needs.
pub(crate) fn bits_of(values: &[u32]) -> u8 {
    values.iter().fold(0, |all, value| all | value).checked_ilog2().map_or(0, |log| log as u8 + 1)
}

/// Appends `values`, of at most `bits` bits each, padded to a byte.
pub(crate) fn pack(values: &[u32], bits: u8, out: &mut Vec<u8>) {
    let (mut buffer, mut filled) = (0_u64, 0);
    for &value in values {
        buffer |= u64::from(value) << filled;
        filled += u32::from(bits);
        while filled >= 8 {
            out.push(buffer as u8);
            buffer >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        out.push(buffer as u8);
    }
}

/// The bytes of `count` packed values.
pub(crate) fn packed_bytes(count: usize, bits: u8) -> usize {
    (count * usize::from(bits)).div_ceil(8)
}

/// Takes values of at most 32 bits off the front of `bytes`, as many as there is room in `out`; `None` when there are too few.
pub(crate) fn unpack(bytes: &mut &[u8], bits: u8, out: &mut [u32]) -> Option<()> {
    let packed = bytes.split_off(..packed_bytes(out.len(), bits))?;
    for (index, value) in out.iter_mut().enumerate() {
        *value = get(packed, bits, index);
    }
    Some(())
}

/// The value `index` of packed ones of at most 32 bits; zeros stand behind the bytes.
#[inline]
pub(crate) fn get(packed: &[u8], bits: u8, index: usize) -> u32 {
    let at = index * usize::from(bits);
    // A value begins in one byte and ends within four more.
    let from = packed.get(at / 8..).unwrap_or_default();
    let word = match from.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None => {
            let mut word = [0; 8];
            word[..from.len()].copy_from_slice(from);
            u64::from_le_bytes(word)
        }
    };
    (word >> (at % 8) & ((1 << bits) - 1)) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{bits_of, pack, unpack};

    proptest! {
        #[test]
        fn round_trip(values in prop::collection::vec(any::<u32>(), 0..130), shift in 0..32_u32) {
            let values: Vec<u32> = values.into_iter().map(|value| value >> shift).collect();
            let mut packed = Vec::new();
            pack(&values, bits_of(&values), &mut packed);
            let mut found = vec![0; values.len()];
            let mut rest = packed.as_slice();
            prop_assert!(unpack(&mut rest, bits_of(&values), &mut found).is_some());
            prop_assert_eq!(found, values);
            prop_assert!(rest.is_empty());
        }
    }
}
