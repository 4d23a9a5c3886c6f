//! Numbers of a fixed count of bits, one after another.

use super::bit_stream::{AHEAD, BitWriter, word_at};

/// The bits that the largest of `values` needs.
pub(crate) fn bits_of(values: impl IntoIterator<Item = u64>) -> u8 {
    values.into_iter().fold(0, |all, value| all | value).checked_ilog2().map_or(0, |log| log as u8 + 1)
}

/// Reads values of at most 32 bits from the position `at` on. After the end of `packed` there are zeros.
#[inline]
pub(crate) fn unpack(packed: &[u8], mut at: usize, bits: u8, values: &mut [u32]) {
    if bits == 0 {
        return values.fill(0);
    }
    // As many as fit in a word.
    let (at_once, bits) = (AHEAD as usize / usize::from(bits), u32::from(bits));
    let mask = (1 << bits) - 1;
    for values in values.chunks_mut(at_once) {
        let mut ahead = word_at(packed, at);
        for value in values {
            *value = (ahead & mask) as u32;
            ahead >>= bits;
        }
        at += at_once * bits as usize;
    }
}

/// Numbers at the end of a file, with random access.
///
/// ```text
/// table := number (w bits) * n, zeros up to a byte, w (u8)     w: the bits of the largest, at most 56
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'a> {
    packed: &'a [u8],
    width: u8,
}

impl<'a> Table<'a> {
    /// Appends a table.
    pub(crate) fn write(values: impl Iterator<Item = u64> + Clone, out: &mut Vec<u8>) {
        let width = bits_of(values.clone());
        let mut writer = BitWriter::new(out);
        values.for_each(|value| writer.bits(value, width.into()));
        writer.finish();
        out.push(width);
    }

    /// The bytes before the table of `count` numbers at the end of `file`, and the table; `None` if there is
    /// none.
    #[inline]
    pub(crate) fn split(file: &'a [u8], count: usize) -> Option<(&'a [u8], Self)> {
        let (&width, rest) = file.split_last()?;
        let bytes = count.checked_mul(width.into())?.div_ceil(8);
        let (before, packed) = rest.split_at_checked(rest.len().checked_sub(bytes)?)?;
        (u32::from(width) < AHEAD).then_some((before, Self { packed, width }))
    }

    /// The number at a place; arbitrary after the last.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> u64 {
        word_at(self.packed, place * usize::from(self.width)) & ((1 << self.width) - 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BitWriter, Table, bits_of, unpack};

    proptest! {
        #[test]
        fn round_trip(values in prop::collection::vec(any::<u64>(), 0..130), shift in 8..64_u32) {
            let values: Vec<u64> = values.into_iter().map(|value| value >> shift).collect();
            let mut file = vec![7, 8];
            Table::write(values.iter().copied(), &mut file);
            let bits = values.len() * usize::from(bits_of(values.iter().copied()));
            prop_assert_eq!(file.len(), 3 + bits.div_ceil(8));
            let table = Table::split(&file, values.len());
            let (before, table) = table.ok_or_else(|| TestCaseError::fail("no table"))?;
            prop_assert_eq!(before, &[7, 8]);
            let found: Vec<u64> = (0..values.len()).map(|place| table.get(place)).collect();
            prop_assert_eq!(found, values);
        }

        #[test]
        fn unpacked_at_once(
            mut values in prop::collection::vec(any::<u32>(), 0..130),
            (bits, at) in (0..=32_u8, 0..20_usize),
        ) {
            values.iter_mut().for_each(|value| *value = (u64::from(*value) & ((1 << bits) - 1)) as u32);
            let mut packed = Vec::new();
            let mut writer = BitWriter::new(&mut packed);
            writer.bits(!0, at as u32);
            values.iter().for_each(|&value| writer.bits(value.into(), bits.into()));
            writer.finish();
            let mut found = vec![0; values.len()];
            unpack(&packed, at, bits, &mut found);
            prop_assert_eq!(found, values);
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            file in prop::collection::vec(any::<u8>(), 0..50),
            (count, place) in (any::<usize>(), 0..1000_usize),
        ) {
            for count in [count, count % 50] {
                if let Some((_, table)) = Table::split(&file, count) {
                    table.get(place);
                }
            }
        }
    }
}
