//! Tokens as people and other programs see them: text to tokens with their places, and back.

use std::ops::Range;

use tokenizers::TruncationDirection;

use crate::{Tokenizer, TokenizerError, Tokens, cut, library_error};

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
    pub bytes: Option<Range<usize>>,
}

impl Tokenizer {
    /// The tokens of a text as a whole input, cut on `side` (`None`: the tokenizer's own), and whether the
    /// text was too long.
    pub fn encode_cut(&self, text: &str, side: Option<Side>) -> Result<(Tokens, bool), TokenizerError> {
        let room = self.room()?;
        // One more token shows that the text is too long.
        let pieces = self.pieces_cut_on(self.direction(side), text, room, room + 1)?;
        Ok((self.template.compose(&pieces.ids), pieces.len > room))
    }

    /// The tokens of a whole input, cut like a text, and whether there were too many. Special tokens at its
    /// ends are kept if they are those that the tokenizer adds.
    pub fn cut_input(&self, ids: Vec<u32>, side: Option<Side>) -> Result<(Vec<u32>, bool), TokenizerError> {
        if ids.len() <= self.max_length {
            return Ok((ids, false));
        }
        let (room, side, before) = (self.room()?, self.direction(side), self.template.before());
        let text = &ids[before..ids.len() - (self.template.specials() - before)];
        let cut = match self.template.compose(text).input_ids == ids {
            true => self.template.compose(cut(text, room, side)).input_ids,
            false => cut(&ids, self.max_length, side).to_vec(),
        };
        Ok((cut, true))
    }

    fn direction(&self, side: Option<Side>) -> TruncationDirection {
        match side {
            None => self.side,
            Some(Side::Left) => TruncationDirection::Left,
            Some(Side::Right) => TruncationDirection::Right,
        }
    }

    /// All tokens of a text with their places, with or without special tokens. Nothing is cut.
    pub fn inspect(&self, text: &str, special_tokens: bool) -> Result<Vec<TokenInText>, TokenizerError> {
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

    /// The bytes of a text that each of its tokens stands for: `[tokens]`. Ranges may overlap where several
    /// tokens make a character.
    pub fn places(&self, text: &str) -> Result<Vec<Range<usize>>, TokenizerError> {
        let found = self.inner.encode(text, false).map_err(library_error)?;
        Ok(found.get_offsets().iter().map(|&(start, end)| start..end).collect())
    }

    /// The text of tokens.
    pub fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String, TokenizerError> {
        self.inner.decode(ids, skip_special_tokens).map_err(library_error)
    }
}
