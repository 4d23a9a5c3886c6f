//! Short words that are tokens as a whole, found with one probe.

/// A word of at most fifteen bytes as two integers: the bytes, zeros, and the length in the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShortWord {
    low: u64,
    high: u64,
}

impl ShortWord {
    /// The most bytes there can be.
    pub(super) const MAX_LEN: usize = 15;

    /// A word of `len < 8` bytes: the low ones of `bytes`.
    #[inline]
    pub(super) fn of_low_bytes(bytes: u64, len: usize) -> Self {
        Self { low: bytes & !(u64::MAX << (8 * len)), high: (len as u64) << 56 }
    }

    /// A word of `len <= 15` bytes: the first ones of `bytes`.
    #[inline]
    pub(super) fn of_first_bytes(bytes: [u8; 16], len: usize) -> Self {
        let bits = u128::from_le_bytes(bytes) & !(u128::MAX << (8 * len));
        Self { low: bits as u64, high: (bits >> 64) as u64 | (len as u64) << 56 }
    }

    /// A word, if it is short.
    fn new(word: &[u8]) -> Option<Self> {
        let mut bytes = [0; 16];
        bytes.get_mut(..word.len()).filter(|place| place.len() <= Self::MAX_LEN)?.copy_from_slice(word);
        Some(Self::of_first_bytes(bytes, word.len()))
    }

    /// The bytes, and how many of them count.
    pub(super) fn bytes(self) -> ([u8; 16], usize) {
        let bits = u128::from(self.high) << 64 | u128::from(self.low);
        (bits.to_le_bytes(), (self.high >> 56) as usize)
    }

    /// The high half of a 128-bit product depends on every bit of both factors.
    #[inline]
    fn hash(self) -> usize {
        let (a, b) = (self.low ^ 0x9e37_79b9_7f4a_7c15, self.high ^ 0xd1b5_4a32_d192_ed03);
        let product = u128::from(a) * u128::from(b);
        (product as u64 ^ (product >> 64) as u64) as usize
    }
}

/// A hash table with linear probing, at most half full.
pub(super) struct WholeWords {
    slots: Box<[Slot]>,
}

#[derive(Clone, Copy)]
struct Slot {
    word: ShortWord,
    id: u32,
}

/// No word: it has no length.
const EMPTY: Slot = Slot { word: ShortWord { low: 0, high: 0 }, id: 0 };

impl WholeWords {
    /// A table of the words that are short and not empty.
    pub(super) fn new<'w>(words: impl Iterator<Item = (&'w [u8], u32)>) -> Self {
        let words: Vec<Slot> = words
            .filter(|(word, _)| !word.is_empty())
            .filter_map(|(word, id)| Some(Slot { word: ShortWord::new(word)?, id }))
            .collect();
        let mut slots = vec![EMPTY; (2 * words.len()).next_power_of_two().max(2)].into_boxed_slice();
        for slot in words {
            let mut at = slot.word.hash() & (slots.len() - 1);
            while slots[at].word != EMPTY.word {
                at = (at + 1) & (slots.len() - 1);
            }
            slots[at] = slot;
        }
        Self { slots }
    }

    /// The id of a word that is a token.
    #[inline]
    pub(super) fn get(&self, word: ShortWord) -> Option<u32> {
        let mut at = word.hash() & (self.slots.len() - 1);
        loop {
            let slot = &self.slots[at];
            if slot.word == word {
                return Some(slot.id);
            }
            if slot.word == EMPTY.word {
                return None;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }
}
