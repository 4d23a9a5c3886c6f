//! The token ids of a text.

/// The tokens of one text, special tokens included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Token ids: `[tokens]`.
    pub input_ids: Vec<u32>,
    /// Token type ids: `[tokens]`, zeros except for the second text of a pair.
    pub type_ids: Vec<u32>,
}

impl Tokens {
    /// The number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.input_ids.len()
    }

    /// Whether there is no token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.input_ids.is_empty()
    }
}

/// The tokens of a text without special tokens, which can be used in any number of pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenizedText {
    /// As many tokens as an input can hold, and one more.
    pub(crate) ids: Vec<u32>,
    /// The number of all tokens that were counted. The last segment may have had more than are kept.
    pub(crate) len: usize,
}

impl TokenizedText {
    /// The number of tokens of the text, as far as they were counted. For a text that is too long for the
    /// model, more than the model's maximum length.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl From<Vec<u32>> for TokenizedText {
    /// A text of exactly these tokens.
    fn from(ids: Vec<u32>) -> Self {
        Self { len: ids.len(), ids }
    }
}
