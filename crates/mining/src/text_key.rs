//! What makes two passages the same text.

use xxhash_rust::xxh3::Xxh3;

/// A 128-bit hash of a text up to white space at its ends and between its words, so that the texts of a
/// collection can be compared without holding them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextKey(u128);

impl TextKey {
    /// The key of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut hash = Xxh3::new();
        for word in text.split_whitespace() {
            hash.update(word.as_bytes());
            // No word holds a space.
            hash.update(b" ");
        }
        Self(hash.digest128())
    }
}

#[cfg(test)]
mod tests {
    use super::TextKey;

    #[test]
    fn white_space_makes_no_difference_and_words_do() {
        let key = TextKey::of("one two");
        assert_eq!(key, TextKey::of(" one\n\ttwo "));
        assert_eq!(TextKey::of(""), TextKey::of(" \u{3000}"));
        for other in ["one  two three", "onetwo", "One two", "on etwo", ""] {
            assert_ne!(key, TextKey::of(other), "{other:?}");
        }
    }
}
