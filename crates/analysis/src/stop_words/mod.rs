//! The words that an analyzer leaves out: a file for each language, a word a line, as in Lucene.

use ahash::AHashSet;

/// A set of words that quickly rejects most words that are not in it.
pub(super) struct StopWords {
    words: AHashSet<&'static str>,
    /// Bit n is set if there is a word of n bytes. The last bit stands for all longer words.
    lengths: u64,
}

impl StopWords {
    /// The words of the lines of `list`.
    pub(super) fn new(list: &'static str) -> Self {
        let words: AHashSet<&str> = list.lines().collect();
        let lengths = words.iter().fold(0, |lengths, word| lengths | length_bit(word));
        Self { words, lengths }
    }

    pub(super) fn contains(&self, term: &str) -> bool {
        self.lengths & length_bit(term) != 0 && self.words.contains(term)
    }
}

fn length_bit(word: &str) -> u64 {
    1 << word.len().min(63)
}
