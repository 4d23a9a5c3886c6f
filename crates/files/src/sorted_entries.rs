//! Searching sorted entries in a mapped file.

use crate::SortEntry;

const ENTRY_BYTES: usize = size_of::<SortEntry>();

/// Entries as [`ExternalSort`](crate::ExternalSort) gives them, written as little-endian words. Their first
/// words are hashes.
#[derive(Clone, Copy, Debug)]
pub struct SortedEntries<'a>(&'a [[u8; ENTRY_BYTES]]);

impl<'a> SortedEntries<'a> {
    /// The entries in `bytes`; an incomplete last entry is ignored.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.as_chunks().0)
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entry with this number.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<SortEntry> {
        let words = self.0.get(index)?.as_chunks::<8>().0;
        Some(std::array::from_fn(|word| u64::from_le_bytes(words[word])))
    }

    /// All entries in order.
    pub fn iter(&self) -> impl Iterator<Item = SortEntry> + use<'a> {
        let entries = *self;
        (0..self.len()).filter_map(move |index| entries.get(index))
    }

    /// The first entry whose first two words are not below `wanted`.
    #[must_use]
    pub fn first_from(&self, wanted: [u64; 2]) -> Option<SortEntry> {
        let count = self.len();
        let before = |index: usize| self.get(index).is_some_and(|entry| [entry[0], entry[1]] < wanted);
        // Hashes are uniform, so the entry is within a few times the root of the count from its expected
        // place.
        let guess = ((u128::from(wanted[0]) * count as u128) >> u64::BITS) as usize;
        let (mut low, mut high) = (guess, guess);
        let mut step = 1;
        while low > 0 && !before(low - 1) {
            high = low;
            low = low.saturating_sub(step);
            step *= 2;
        }
        step = 1;
        while high < count && before(high) {
            low = high + 1;
            high = (high + step).min(count);
            step *= 2;
        }
        // The entry is in low..=high.
        while low < high {
            let middle = low + (high - low) / 2;
            if before(middle) { low = middle + 1 } else { high = middle }
        }
        self.get(low)
    }
}

#[cfg(test)]
mod tests {
    use super::{SortEntry, SortedEntries};

    fn bytes(entries: &[SortEntry]) -> Vec<u8> {
        entries.as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn the_first_entry_from_any_place_is_found() {
        for count in [0_u64, 1, 2, 3, 10, 3_000] {
            let mut entries: Vec<SortEntry> =
                (0..count).map(|i| [(i / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15), i % 2 * 9, i]).collect();
            // Hashes that are not uniform take longer, and are found.
            entries.extend((0..count).map(|i| [5, i, 0]));
            entries.sort_unstable();
            let bytes = bytes(&entries);
            let sorted = SortedEntries::new(&bytes);
            assert_eq!(sorted.iter().collect::<Vec<_>>(), entries);
            let around = |entry: &SortEntry| {
                [[entry[0], entry[1]], [entry[0], entry[1].wrapping_add(1)], [entry[0].wrapping_add(1), 0]]
            };
            for wanted in entries.iter().flat_map(around).chain([[0, 0], [u64::MAX, u64::MAX]]) {
                let expected = entries.iter().find(|entry| [entry[0], entry[1]] >= wanted).copied();
                assert_eq!(sorted.first_from(wanted), expected, "{wanted:?} among {count}");
            }
        }
    }
}
