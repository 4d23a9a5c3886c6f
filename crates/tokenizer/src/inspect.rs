//! Tokens as people and other programs see them: text to tokens with their places, and back.

use tokenizers::TruncationDirection;

use crate::{Tokenizer, TokenizerError, Tokens, library_error};

/// The side on which a text that is too long is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The beginning is cut off.
    Left,
    /// The end is cut off.
    Right,
}

/// A token and its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenInText {
    /// The token.
    pub id: u32,
    /// The text that the token stands for; of a special token, its name.
    pub text: String,
    /// Whether the tokenizer added the token.
    pub is_special: bool,
    /// The bytes of the text that the token stands for; `None` for a special token.
    pub bytes: Option<std::ops::Range<usize>>,
}

impl Tokenizer {
    /// The tokens of a text as a whole input, cut on `side` (`None`: the tokenizer's own), and whether the
    /// text was too long.
    pub fn encode_cut(&self, text: &str, side: Option<Side>) -> Result<(Tokens, bool), TokenizerError> {
        let room = self.room()?;
        let side = match side {
            None => self.side,
            Some(Side::Left) => TruncationDirection::Left,
            Some(Side::Right) => TruncationDirection::Right,
        };
        // One more token shows that the text is too long.
        let pieces = self.pieces_cut_on(side, text, room, room + 1)?;
        Ok((self.template.compose(&pieces.ids), pieces.len > room))
    }

    /// All tokens of a text with their places, with or without special tokens. Nothing is cut.
    pub fn inspect(&self, text: &str, special_tokens: bool) -> Result<Vec<TokenInText>, TokenizerError> {
        let lowered;
        let text = if self.lowercase {
            lowered = text.to_lowercase();
            &lowered
        } else {
            text
        };
        let found = self.inner.encode(text, special_tokens).map_err(library_error)?;
        let token = |at: usize| {
            let (start, end) = found.get_offsets()[at];
            let is_special = found.get_special_tokens_mask()[at] != 0;
            let bytes = (!is_special).then_some(start..end);
            let of_text = bytes.clone().and_then(|bytes| text.get(bytes));
            let text = of_text.unwrap_or(&found.get_tokens()[at]).to_owned();
            TokenInText { id: found.get_ids()[at], text, is_special, bytes }
        };
        Ok((0..found.len()).map(token).collect())
    }

    /// The text of tokens.
    pub fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String, TokenizerError> {
        self.inner.decode(ids, skip_special_tokens).map_err(library_error)
    }
}
