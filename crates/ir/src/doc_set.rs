//! A set of documents.

use std::ops::Range;

use crate::DocOrd;

/// Bits of a word of the set.
const BITS: usize = u64::BITS as usize;

/// Documents of a collection, a bit for each ordinal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocSet {
    words: Vec<u64>,
}

impl DocSet {
    /// Adds a document. The set takes one bit for every ordinal up to its largest.
    pub fn insert(&mut self, doc: DocOrd) {
        let word = doc.index() / BITS;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (doc.index() % BITS);
    }

    /// Whether a document is in the set.
    #[must_use]
    pub fn contains(&self, doc: DocOrd) -> bool {
        self.words.get(doc.index() / BITS).is_some_and(|word| word >> (doc.index() % BITS) & 1 == 1)
    }

    /// The number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// One bit for each ordinal up to the largest: ordinal `i` has bit `i % 64` of word `i / 64`.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The documents whose ordinals are in `range`, ascending.
    pub fn within(&self, range: Range<usize>) -> impl Iterator<Item = DocOrd> {
        let words = range.start / BITS..range.end.div_ceil(BITS).min(self.words.len());
        let in_word = |word: usize| {
            let mut bits = self.words[word];
            std::iter::from_fn(move || {
                let bit = bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
                (bit < u64::BITS).then_some(word * BITS + bit as usize)
            })
        };
        let inside = words.flat_map(in_word).filter(move |ordinal| range.contains(ordinal));
        inside.map(|ordinal| DocOrd(ordinal as u32))
    }
}

impl FromIterator<DocOrd> for DocSet {
    fn from_iter<I: IntoIterator<Item = DocOrd>>(docs: I) -> Self {
        let mut set = Self::default();
        docs.into_iter().for_each(|doc| set.insert(doc));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::DocSet;
    use crate::DocOrd;

    #[test]
    fn holds_what_was_inserted() {
        let ordinals = [0, 1, 63, 64, 65, 128, 1000, 1023, 1024];
        let set: DocSet = ordinals.into_iter().map(DocOrd).collect();
        assert_eq!(set.len(), ordinals.len());
        for ordinal in 0..2000 {
            assert_eq!(set.contains(DocOrd(ordinal)), ordinals.contains(&ordinal), "{ordinal}");
        }
        for range in [0..2000, 0..0, 1..64, 64..65, 65..1000, 1000..1001, 1001..5000, 4000..5000] {
            let expected: Vec<u32> =
                ordinals.into_iter().filter(|&ordinal| range.contains(&(ordinal as usize))).collect();
            let found: Vec<u32> = set.within(range.clone()).map(|doc| doc.0).collect();
            assert_eq!(found, expected, "{range:?}");
        }
        assert!(DocSet::default().is_empty() && !set.is_empty());
    }
}
