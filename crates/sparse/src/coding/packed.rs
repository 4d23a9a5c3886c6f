//! Numbers of a fixed count of bits, one after another.

use super::bit_stream::{AHEAD, BitWriter, word_at};

/// The bits that the largest of `values` needs.
pub(crate) fn bits_of(values: impl IntoIterator<Item = u64>) -> u8 {
    values.into_iter().fold(0, |all, value| all | value).checked_ilog2().map_or(0, |log| log as u8 + 1)
}

/// The bytes of `count` values.
pub(crate) fn packed_bytes(count: usize, bits: u8) -> usize {
    (count * usize::from(bits)).div_ceil(8)
}

/// Reads values of at most 32 bits that begin behind the first `at` bits; zeros stand behind the bytes.
#[inline]
pub(crate) fn unpack(packed: &[u8], mut at: usize, bits: u8, values: &mut [u32]) {
    if bits == 0 {
        return values.fill(0);
    }
    // As many as are in sight at once.
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

/// Numbers at the end of a file, each of which can be read by its place.
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

    /// The table of `count` numbers that ends with `file`, and what stands before it; `None` if there can be none.
    #[inline]
    pub(crate) fn split(file: &'a [u8], count: usize) -> Option<(&'a [u8], Self)> {
        let (&width, rest) = file.split_last()?;
        let bytes = count.checked_mul(width.into())?.div_ceil(8);
        let (before, packed) = rest.split_at_checked(rest.len().checked_sub(bytes)?)?;
        (u32::from(width) < AHEAD).then_some((before, Self { packed, width }))
    }

    /// The number at a place; behind the last something of no meaning.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> u64 {
        word_at(self.packed, place * usize::from(self.width)) & ((1 << self.width) - 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BitWriter, Table, bits_of, packed_bytes, unpack};

    proptest! {
        #[test]
        fn round_trip(values in prop::collection::vec(any::<u64>(), 0..130), shift in 8..64_u32) {
            let values: Vec<u64> = values.into_iter().map(|value| value >> shift).collect();
            let mut file = vec![7, 8];
            Table::write(values.iter().copied(), &mut file);
            prop_assert_eq!(file.len(), 3 + packed_bytes(values.len(), bits_of(values.iter().copied())));
            let table = Table::split(&file, values.len());
            let (before, table) = table.ok_or_else(|| TestCaseError::fail("no table"))?;
            prop_assert_eq!(before, &[7, 8]);
            let found: Vec<u64> = (0..values.len()).map(|place| table.get(place)).collect();
            prop_assert_eq!(found, values);
        }

        #[test]
        fn unpacked_at_once(values in prop::collection::vec(any::<u32>(), 0..130), bits in 0..=32_u8, at in 0..20_usize) {
            let values: Vec<u32> = values.into_iter().map(|value| (u64::from(value) & ((1 << bits) - 1)) as u32).collect();
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
        fn any_bytes_are_read_or_refused(file in prop::collection::vec(any::<u8>(), 0..50), count in any::<usize>(), place in 0..1000_usize) {
            for count in [count, count % 50] {
                if let Some((_, table)) = Table::split(&file, count) {
                    table.get(place);
                }
            }
        }
    }
}
