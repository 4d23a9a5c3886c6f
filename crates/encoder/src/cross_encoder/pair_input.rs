//! From two texts to the input of a cross-encoder.

use toller_checkpoint::Fingerprint;
use toller_tokenizer::{PairTruncation, Side, TokenizedText, Tokenizer, TokenizerError, Tokens};

use super::pair_chat::{PairChat, beginning};
use crate::windows::windows;

/// A text for pairs, read once for all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairText(Read);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Read {
    /// Its tokens, which do not depend on the other text.
    Tokens(TokenizedText),
    /// The text itself, for a chat template.
    Text(String),
}

/// How the texts of a pair become one input: side by side between special tokens, or as messages of a chat
/// template.
pub(super) struct PairInput {
    pub(super) tokenizer: Tokenizer,
    pub(super) truncation: PairTruncation,
    /// Put before every query. A chat template has it as the message of the system.
    prompt: String,
    chat: Option<PairChat>,
}

impl PairInput {
    /// Texts side by side.
    ///
    /// # Errors
    /// When special tokens leave no room for them.
    pub(super) fn joined(
        tokenizer: Tokenizer,
        truncation: PairTruncation,
        prompt: String,
    ) -> Result<Self, TokenizerError> {
        tokenizer.check_pairs()?;
        Ok(Self { tokenizer, truncation, prompt, chat: None })
    }

    /// Texts as messages.
    pub(super) fn of_chat(
        tokenizer: Tokenizer,
        truncation: PairTruncation,
        prompt: String,
        chat: PairChat,
    ) -> Self {
        Self { tokenizer, truncation, prompt, chat: Some(chat) }
    }

    /// Adds the prompt and the template.
    pub(super) fn fingerprint(&self, fingerprint: &mut Fingerprint) {
        if !self.prompt.is_empty() {
            fingerprint.value("prompt", self.prompt.as_bytes());
        }
        if let Some(chat) = &self.chat {
            chat.fingerprint(fingerprint);
        }
    }

    pub(super) fn prompt(&self) -> &str {
        &self.prompt
    }

    /// The token that every pair ends in, if there is one.
    pub(super) fn last(&self) -> Option<u32> {
        match &self.chat {
            None => self.tokenizer.last_of_pairs(),
            Some(chat) => chat.last(),
        }
    }

    /// The largest type of a token.
    pub(super) fn largest_token_type(&self) -> u32 {
        if self.chat.is_some() { 0 } else { self.tokenizer.largest_token_type() }
    }

    pub(super) fn passage(&self, text: &str) -> Result<PairText, TokenizerError> {
        Ok(PairText(match self.chat {
            Some(_) => Read::Text(text.to_owned()),
            None => Read::Tokens(self.tokenizer.tokenize(text, self.truncation)?),
        }))
    }

    pub(super) fn query(&self, text: &str) -> Result<PairText, TokenizerError> {
        if self.chat.is_some() || self.prompt.is_empty() {
            return self.passage(text);
        }
        self.passage(&format!("{}{text}", self.prompt))
    }

    /// A query, cut to half of the room if it leaves none for a passage and only passages are cut.
    pub(super) fn query_cut(&self, text: &str) -> Result<PairText, TokenizerError> {
        if self.truncation == PairTruncation::LongestFirst {
            return self.query(text);
        }
        Ok(PairText(match (self.query(text)?.0, &self.chat) {
            (Read::Text(text), Some(chat)) => Read::Text(chat.leave_room(&self.tokenizer, &text)?.to_owned()),
            (Read::Tokens(tokens), _) => Read::Tokens(self.tokenizer.leave_room(tokens)?),
            (text, None) => text,
        }))
    }

    /// At most `tokens` tokens of a passage.
    pub(super) fn shorten(&self, text: &PairText, tokens: usize) -> Result<PairText, TokenizerError> {
        Ok(PairText(match &text.0 {
            Read::Tokens(text) => Read::Tokens(self.tokenizer.shorten(text, tokens)),
            Read::Text(text) => Read::Text(beginning(&self.tokenizer, text, tokens)?.to_owned()),
        }))
    }

    /// A passage in windows of `length` tokens.
    pub(super) fn windows(
        &self,
        text: &str,
        length: usize,
        stride: usize,
    ) -> Result<Vec<PairText>, TokenizerError> {
        if self.chat.is_none() {
            let ids = self.tokenizer.all_ids(text)?;
            let of = windows(ids.len(), length, stride);
            return Ok(of.map(|window| PairText(Read::Tokens(ids[window].to_vec().into()))).collect());
        }
        let places = self.tokenizer.places(text)?;
        let of = windows(places.len(), length, stride).map(|window| {
            let (first, last) = (places[window.clone()].first(), places[window].last());
            let [start, end] = [first.map_or(0, |place| place.start), last.map_or(0, |place| place.end)];
            let part = &text[text.floor_char_boundary(start)..text.ceil_char_boundary(end)];
            PairText(Read::Text(part.to_owned()))
        });
        Ok(of.collect())
    }

    /// The input of a pair, and whether a text was cut.
    pub(super) fn pair(
        &self,
        query: &PairText,
        passage: &PairText,
    ) -> Result<(Tokens, bool), TokenizerError> {
        match (&query.0, &passage.0, &self.chat) {
            (Read::Text(query), Read::Text(passage), Some(chat)) => {
                chat.encode(&self.tokenizer, query, passage, self.truncation)
            }
            (Read::Tokens(query), Read::Tokens(passage), None) => {
                let tokens = self.tokenizer.compose_pair(query, passage, self.truncation)?;
                Ok((tokens, self.tokenizer.cuts_pair(query, passage)))
            }
            _ => Err(TokenizerError::OfAnotherModel),
        }
    }

    /// Refuses a query that leaves no room for a passage, where only passages are cut.
    pub(super) fn check_room(&self, query: &PairText) -> Result<(), TokenizerError> {
        match (&query.0, &self.chat) {
            (Read::Text(query), Some(chat)) if self.truncation == PairTruncation::OnlySecond => {
                chat.check_room(&self.tokenizer, query)
            }
            (Read::Text(_), _) => Ok(()),
            (Read::Tokens(query), _) => {
                let any = vec![0; self.tokenizer.max_length()].into();
                self.tokenizer.compose_pair(query, &any, self.truncation).map(drop)
            }
        }
    }

    /// The input of one text, cut on `side`, and whether it was.
    pub(super) fn single(&self, text: &str, side: Option<Side>) -> Result<(Tokens, bool), TokenizerError> {
        if self.chat.is_some() {
            return Err(TokenizerError::NoPair);
        }
        self.tokenizer.encode_cut(text, side)
    }
}
