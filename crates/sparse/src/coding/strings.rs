//! Lists of strings in which neighbours begin alike: front coding in blocks that are read on their own.
//!
//! ```text
//! list    := string *, table of the offsets of the blocks' first strings (a `Table`)
//! string  := lengths (u8), [shared - 15 (varint)], [rest - 15 (varint)], rest bytes, payload
//! lengths := min(shared, 15) + 16 * min(rest, 15)     a varint follows for a length of 15 or more
//! ```
//!
//! `shared` counts the leading bytes that the string has in common with the one before. It is 0 for the first
//! string of a block, and every block has [`BLOCK_STRINGS`] strings, the last one perhaps fewer. What the
//! payload is, the user of the list decides.

use super::packed::Table;
use super::{read_varint, write_varint};

/// Strings of a block.
pub(crate) const BLOCK_STRINGS: usize = 16;

/// A length from which on a varint follows.
const LONG: usize = 15;

/// Appends what `string` does not share with the string before it.
pub(crate) fn write_string(before: &[u8], string: &[u8], out: &mut Vec<u8>) {
    let shared = before.iter().zip(string).take_while(|(a, b)| a == b).count();
    let rest = &string[shared..];
    out.push((shared.min(LONG) | rest.len().min(LONG) << 4) as u8);
    for length in [shared, rest.len()] {
        if let Some(more) = length.checked_sub(LONG) {
            write_varint(more as u64, out);
        }
    }
    out.extend_from_slice(rest);
}

/// Takes a string off the front of `bytes`: the length of the shared part, and the rest. `None` when the
/// bytes end within it.
#[inline]
pub(crate) fn read_string<'a>(bytes: &mut &'a [u8]) -> Option<(usize, &'a [u8])> {
    let lengths = usize::from(*bytes.split_off_first()?);
    let mut length = |short: usize| match short {
        LONG => usize::try_from(read_varint(bytes)?).ok()?.checked_add(LONG),
        _ => Some(short),
    };
    let (shared, rest) = (length(lengths & LONG)?, length(lengths >> 4)?);
    Some((shared, bytes.split_off(..rest)?))
}

/// Takes a string off the front of `bytes`. It replaces `string`, which is the one before it.
#[inline]
pub(crate) fn next_string(bytes: &mut &[u8], string: &mut Vec<u8>) -> Option<()> {
    let (shared, rest) = read_string(bytes)?;
    if shared > string.len() {
        return None;
    }
    string.truncate(shared);
    string.extend_from_slice(rest);
    Some(())
}

/// Encodes a list, string by string. The offset of every block stays in memory.
#[derive(Debug, Default)]
pub(crate) struct StringsEncoder {
    count: u64,
    bytes: u64,
    offsets: Vec<u64>,
    before: Vec<u8>,
    encoded: Vec<u8>,
}

impl StringsEncoder {
    /// The strings so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Whether the next string begins a block.
    pub(crate) fn begins_block(&self) -> bool {
        self.count.is_multiple_of(BLOCK_STRINGS as u64)
    }

    /// The bytes of the next string and its payload.
    pub(crate) fn push(&mut self, string: &[u8], payload: &[u8]) -> &[u8] {
        if self.begins_block() {
            self.offsets.push(self.bytes);
            self.before.clear();
        }
        self.encoded.clear();
        write_string(&self.before, string, &mut self.encoded);
        self.encoded.extend_from_slice(payload);
        self.bytes += self.encoded.len() as u64;
        self.count += 1;
        self.before.clear();
        self.before.extend_from_slice(string);
        &self.encoded
    }

    /// The bytes after the last string.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.encoded.clear();
        Table::write(self.offsets.iter().copied(), &mut self.encoded);
        self.encoded
    }
}

/// The blocks of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strings<'a> {
    bytes: &'a [u8],
    offsets: Table<'a>,
    blocks: usize,
}

impl<'a> Strings<'a> {
    /// A file that is a list of `count` strings; `None` if it cannot be one.
    #[inline]
    pub(crate) fn new(file: &'a [u8], count: usize) -> Option<Self> {
        let blocks = count.div_ceil(BLOCK_STRINGS);
        let (bytes, offsets) = Table::split(file, blocks)?;
        // A string takes a byte at least: damage cannot make many blocks of few bytes.
        (blocks <= bytes.len()).then_some(Self { bytes, offsets, blocks })
    }

    /// The number of blocks.
    #[inline]
    pub(crate) fn blocks(&self) -> usize {
        self.blocks
    }

    /// The bytes from a block on; `None` if there is no such block, or the file is damaged.
    #[inline]
    pub(crate) fn block(&self, number: usize) -> Option<&'a [u8]> {
        if number >= self.blocks {
            return None;
        }
        self.bytes.get(usize::try_from(self.offsets.get(number)).ok()?..)
    }

    /// The first string of a block.
    #[inline]
    pub(crate) fn first(&self, number: usize) -> Option<&'a [u8]> {
        read_string(&mut self.block(number)?).map(|(_, string)| string)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BLOCK_STRINGS, Strings, StringsEncoder, next_string, read_string};

    fn string() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            4 => "[ab]{0,9}".prop_map(String::into_bytes),
            1 => "b{10,20}[ab]{0,20}".prop_map(String::into_bytes),
            1 => prop::collection::vec(any::<u8>(), 0..300),
        ]
    }

    fn payload() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..3)
    }

    proptest! {
        #[test]
        fn round_trip(strings in prop::collection::vec((string(), payload()), 0..100)) {
            let (mut encoder, mut file) = (StringsEncoder::default(), Vec::new());
            for (string, payload) in &strings {
                file.extend_from_slice(encoder.push(string, payload));
            }
            prop_assert_eq!(encoder.count(), strings.len() as u64);
            file.extend(encoder.finish());
            let list = Strings::new(&file, strings.len()).ok_or_else(|| TestCaseError::fail("no list"))?;
            prop_assert_eq!(list.blocks(), strings.len().div_ceil(BLOCK_STRINGS));
            for (number, block) in strings.chunks(BLOCK_STRINGS).enumerate() {
                prop_assert_eq!(list.first(number), Some(block[0].0.as_slice()));
                let (mut bytes, mut found) = (list.block(number).unwrap_or_default(), Vec::new());
                for (string, payload) in block {
                    prop_assert!(next_string(&mut bytes, &mut found).is_some());
                    prop_assert_eq!(&found, string);
                    prop_assert_eq!(bytes.split_off(..payload.len()), Some(payload.as_slice()));
                }
                prop_assert!(read_string(&mut bytes).is_none() == (number + 1 == list.blocks()));
            }
            prop_assert!(list.block(list.blocks()).is_none());
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            file in prop::collection::vec(any::<u8>(), 0..400),
            count in 0..200_usize,
        ) {
            if let Some(list) = Strings::new(&file, count) {
                for number in 0..=list.blocks() {
                    let (mut bytes, mut found) = (list.block(number).unwrap_or_default(), Vec::new());
                    while next_string(&mut bytes, &mut found).is_some() {}
                    prop_assert!(found.len() <= file.len());
                }
            }
        }
    }

    #[test]
    fn consecutive_numbers_take_little_more_than_two_bytes() {
        let mut encoder = StringsEncoder::default();
        let numbers = 7_000_000..7_064_000_u32;
        let strings: usize = numbers.map(|id| encoder.push(id.to_string().as_bytes(), &[]).len()).sum();
        assert!(strings + encoder.finish().len() < 64_000 * 11 / 4);
    }
}
