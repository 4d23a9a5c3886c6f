//! From text to token ids, as with Hugging Face's tokenizers.

mod byte_pairs;
mod chat;
mod config;
mod error;
mod inspect;
mod open;
mod pair;
mod python;
mod segments;
mod sentence_piece;
mod special;
mod template;
mod tokens;
mod vocabulary;
mod wordpiece;

use std::path::Path;
use std::sync::Arc;

use tokenizers::normalizers::{Lowercase, Sequence};
use tokenizers::{NormalizerWrapper, TruncationDirection};

pub use self::chat::{ChatSettings, ChatTemplate, Message};
pub use self::config::TokenizerConfig;
pub use self::error::TokenizerError;
pub use self::inspect::{Side, TokenInText};
pub use self::pair::PairTruncation;
use self::segments::Cuts;
use self::template::Template;
pub use self::tokens::{TokenizedText, Tokens};
use self::wordpiece::WordPiece;
use toller_checkpoint::{Fingerprint, ModelType};

/// How to convert a tokenizer that cannot be read.
const CONVERT: &str =
    "transformers writes tokenizer.json: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)";

/// A tokenizer that truncates to a maximum length and never pads.
///
/// The tokens of an input are the tokens of its texts, each tokenized by itself, with special tokens around
/// them. So a text can be tokenized once and used in many pairs. A clone shares the vocabulary.
#[derive(Clone)]
pub struct Tokenizer {
    /// Makes the tokens of a text. Neither truncates nor pads nor adds special tokens.
    inner: Arc<tokenizers::Tokenizer>,
    /// Does the same much faster, if the tokenizer is BERT's.
    own: Option<Arc<WordPiece>>,
    cuts: Cuts,
    template: Template,
    max_length: usize,
    /// The side on which texts are cut.
    side: TruncationDirection,
}

impl Tokenizer {
    /// Loads the tokenizer of a folder for a model of that type. Texts are truncated to `max_length`
    /// tokens, special tokens included. With `lowercase` (`do_lower_case` of sentence_bert_config.json) they
    /// are lowered first, except for the special tokens in them.
    pub fn load(
        folder: &Path,
        config: &TokenizerConfig,
        max_length: usize,
        lowercase: bool,
        model_type: ModelType,
        fingerprint: &mut Fingerprint,
    ) -> Result<Self, TokenizerError> {
        let mut inner = open::open(folder, config, model_type, fingerprint)?;
        let side = config.truncation_direction(folder)?;
        let flags = [config.do_lower_case, config.strip_accents, config.tokenize_chinese_chars];
        fingerprint.value("tokenizer flags", format!("{lowercase} {flags:?} {}", side.as_ref()).as_bytes());
        if config.split_special_tokens {
            fingerprint.value("special tokens in texts", b"split");
            inner.set_encode_special_tokens(true);
        }
        if lowercase && lower(&mut inner).map_err(library_error)? {
            fingerprint.value("lowered", b"by a normalizer");
        }
        inner.with_padding(None);
        inner.with_truncation(None).map_err(library_error)?;
        let template = Template::of(&inner).map_err(library_error)?;
        room(max_length, template.specials())?;
        Ok(Self {
            own: WordPiece::like(&inner).map(Arc::new),
            cuts: Cuts::of(&inner),
            inner: Arc::new(inner),
            template,
            max_length,
            side,
        })
    }

    /// The same tokenizer, which truncates to another number of tokens.
    pub fn with_max_length(&self, max_length: usize) -> Result<Self, TokenizerError> {
        room(max_length, self.template.specials())?;
        Ok(Self { max_length, ..self.clone() })
    }

    /// The same tokenizer, which gives all tokens the type 0.
    pub fn without_token_types(&self, fingerprint: &mut Fingerprint) -> Self {
        let template = self.template.without_types();
        if template != self.template {
            fingerprint.value("token types", b"none");
        }
        Self { template, ..self.clone() }
    }

    /// The same tokenizer, which puts no special tokens around texts.
    pub fn without_special_tokens(&self, fingerprint: &mut Fingerprint) -> Self {
        fingerprint.value("special tokens", b"none");
        Self { template: Template::bare(), ..self.clone() }
    }

    /// The same tokenizer, which ends every input in the token that `config` calls the end of a text, unless
    /// it does so already (Tevatron's `append_eos_token`).
    pub fn with_end(
        &self,
        config: &TokenizerConfig,
        fingerprint: &mut Fingerprint,
    ) -> Result<Self, TokenizerError> {
        let end = config.end_of_text().ok_or(TokenizerError::NoEnd { token: None })?;
        let id = self.id_of(&end).ok_or(TokenizerError::NoEnd { token: Some(end) })?;
        let template = self.template.ending_in(id);
        room(self.max_length, template.specials())?;
        if template != self.template {
            fingerprint.value("end of text", &id.to_le_bytes());
        }
        Ok(Self { template, ..self.clone() })
    }

    /// The largest type of a token of a pair.
    pub fn largest_token_type(&self) -> u32 {
        self.template.largest_type()
    }

    /// Texts are truncated to this many tokens, special tokens included.
    pub fn max_length(&self) -> usize {
        self.max_length
    }

    /// Checks that there is room for texts in a pair.
    pub fn check_pairs(&self) -> Result<(), TokenizerError> {
        room(self.max_length, self.template.pair_specials()).map(drop)
    }

    /// The special token that every pair ends in, if there is one.
    pub fn last_of_pairs(&self) -> Option<u32> {
        self.template.last_of_pairs()
    }

    /// The tokens of a text as a whole input, special tokens included.
    pub fn encode(&self, text: &str) -> Result<Tokens, TokenizerError> {
        let room = self.room()?;
        Ok(self.template.compose(&self.pieces(text, room, room)?.ids))
    }

    /// The tokens of a text for a pair, without special tokens.
    ///
    /// All of a text is tokenized if `truncation` depends on which of two texts is longer. Else only as much
    /// as a pair can use.
    pub fn tokenize(&self, text: &str, truncation: PairTruncation) -> Result<TokenizedText, TokenizerError> {
        // One more token shows that a text is too long.
        let most = self.max_length + 1;
        self.pieces(text, most, if truncation == PairTruncation::LongestFirst { usize::MAX } else { most })
    }

    /// The tokens of a pair of tokenized texts, special tokens included.
    pub fn compose_pair(
        &self,
        first: &TokenizedText,
        second: &TokenizedText,
        truncation: PairTruncation,
    ) -> Result<Tokens, TokenizerError> {
        let room = room(self.max_length, self.template.pair_specials())?;
        let (first_kept, second_kept) = truncation
            .lengths(first.len(), second.len(), room)
            .ok_or(TokenizerError::FirstTextTooLong { max_length: self.max_length })?;
        let [first, second] =
            [(first, first_kept), (second, second_kept)].map(|(text, length)| self.cut(&text.ids, length));
        Ok(self.template.compose_pair(first, second))
    }

    /// Whether a pair of tokenized texts is too long, so that [`Self::compose_pair`] cuts it.
    pub fn cuts_pair(&self, first: &TokenizedText, second: &TokenizedText) -> bool {
        first.len() + second.len() + self.template.pair_specials() > self.max_length
    }

    /// The first text of a pair, cut to half of the room for both if it leaves no room for the second.
    pub fn leave_room(&self, first: TokenizedText) -> Result<TokenizedText, TokenizerError> {
        let room = room(self.max_length, self.template.pair_specials())?;
        Ok(if first.len() < room { first } else { self.cut(&first.ids, room / 2).to_vec().into() })
    }

    /// At most `length` tokens of a text.
    pub fn shorten(&self, text: &TokenizedText, length: usize) -> TokenizedText {
        TokenizedText { ids: self.cut(&text.ids, length).to_vec(), len: text.len.min(length) }
    }

    /// The tokens of a title and a text. If they are too long together, the longer one is cut.
    pub fn encode_titled(&self, title: &str, text: &str) -> Result<Tokens, TokenizerError> {
        let truncation = PairTruncation::LongestFirst;
        let title = self.tokenize(title, truncation)?;
        // A text that is cut off beyond its title's length is known to be the longer one.
        let most = self.max_length.max(title.len()) + 1;
        self.compose_pair(&title, &self.pieces(text, self.max_length + 1, most)?, truncation)
    }

    /// The tokens of a text and its context, as a pair. If they are too long together, the context is cut;
    /// the text only if it is too long without a context.
    pub fn encode_in_context(&self, text: &str, context: &str) -> Result<Tokens, TokenizerError> {
        let room = room(self.max_length, self.template.pair_specials())?;
        let text = self.pieces(text, room, room)?.ids;
        let left = room - text.len();
        let context = if left > 0 { self.pieces(context, left, left)?.ids } else { Vec::new() };
        Ok(self.template.compose_pair(&text, &context))
    }

    /// All tokens of a text, without special tokens.
    pub fn all_ids(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        Ok(self.pieces(text, usize::MAX, usize::MAX)?.ids)
    }

    /// The tokens of a text that an input has room for, next to its special tokens.
    pub fn room(&self) -> Result<usize, TokenizerError> {
        room(self.max_length, self.template.specials())
    }

    /// Tokens of a text as a whole input, special tokens included, and the place of the first one in it.
    pub fn wrap(&self, ids: &[u32]) -> (Tokens, usize) {
        (self.template.compose(ids), self.template.before())
    }

    /// The side on which texts are cut.
    pub fn side(&self) -> Side {
        match self.side {
            TruncationDirection::Left => Side::Left,
            TruncationDirection::Right => Side::Right,
        }
    }

    /// The id of the token of this name.
    pub fn id_of(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// The name of the token of this id.
    pub fn name_of(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    /// The names of all tokens by id, if the tokenizer is BERT's.
    pub fn word_pieces(&self) -> Option<Vec<String>> {
        self.own.as_ref()?;
        Some(self.vocabulary())
    }

    /// The names of all tokens by id; an empty one for an id without a token.
    pub fn vocabulary(&self) -> Vec<String> {
        let vocabulary = self.inner.get_vocab(true);
        let ids = vocabulary.values().max().map_or(0, |last| *last as usize + 1);
        let mut names = vec![String::new(); ids];
        for (name, id) in vocabulary {
            names[id as usize] = name;
        }
        names
    }

    /// At most `kept` tokens of a text, the first or the last, without special tokens. Tokenizing stops when
    /// there are `enough` tokens.
    fn pieces(&self, text: &str, kept: usize, enough: usize) -> Result<TokenizedText, TokenizerError> {
        self.pieces_cut_on(self.side, text, kept, enough)
    }

    /// The same, cut on another side than the tokenizer's own.
    fn pieces_cut_on(
        &self,
        side: TruncationDirection,
        text: &str,
        kept: usize,
        enough: usize,
    ) -> Result<TokenizedText, TokenizerError> {
        let (mut ids, mut len) = (Vec::new(), 0);
        for segment in self.cuts.segments(text, enough) {
            let before = ids.len();
            // The last tokens are known only at the end.
            let wanted = if side == TruncationDirection::Right { enough - len } else { usize::MAX };
            self.append(segment, wanted, &mut ids)?;
            len += ids.len() - before;
            match side {
                TruncationDirection::Right => ids.truncate(kept),
                TruncationDirection::Left => drop(ids.drain(..ids.len().saturating_sub(kept))),
            }
            if len >= enough && side == TruncationDirection::Right {
                break;
            }
        }
        Ok(TokenizedText { ids, len })
    }

    /// Appends the tokens of a segment: all, or as many as are wanted.
    fn append(&self, segment: &str, wanted: usize, ids: &mut Vec<u32>) -> Result<(), TokenizerError> {
        let before = ids.len();
        if let Some(own) = &self.own {
            if own.tokenize(segment, wanted, ids).is_ok() {
                return Ok(());
            }
            ids.truncate(before);
        }
        ids.extend_from_slice(self.inner.encode_fast(segment, false).map_err(library_error)?.get_ids());
        Ok(())
    }

    /// The tokens that remain when a text is cut to `length`.
    fn cut<'a>(&self, ids: &'a [u32], length: usize) -> &'a [u32] {
        cut(ids, length, self.side)
    }
}

/// The tokens that remain when a text is cut to `length` on that side.
fn cut(ids: &[u32], length: usize, side: TruncationDirection) -> &[u32] {
    match side {
        TruncationDirection::Right => &ids[..length.min(ids.len())],
        TruncationDirection::Left => &ids[ids.len().saturating_sub(length)..],
    }
}

/// The number of tokens that are left for texts.
fn room(max_length: usize, specials: usize) -> Result<usize, TokenizerError> {
    max_length.checked_sub(specials).filter(|&room| room > 0).ok_or_else(|| TokenizerError::MaxLength {
        asked: max_length,
        reason: format!("{specials} of them are special tokens, so nothing is left for the text"),
    })
}

/// Makes a tokenizer lower its texts. Returns whether it did not.
fn lower(tokenizer: &mut tokenizers::Tokenizer) -> tokenizers::Result<bool> {
    let own = tokenizer.get_normalizer().cloned();
    if own.as_ref().is_some_and(lowers) {
        return Ok(false);
    }
    let all = std::iter::once(NormalizerWrapper::from(Lowercase)).chain(own).collect();
    tokenizer.with_normalizer(Some(Sequence::new(all)))?;
    Ok(true)
}

/// Whether a normalizer lowers texts.
fn lowers(normalizer: &NormalizerWrapper) -> bool {
    match normalizer {
        NormalizerWrapper::Lowercase(_) => true,
        NormalizerWrapper::BertNormalizer(normalizer) => normalizer.lowercase,
        NormalizerWrapper::Sequence(parts) => parts.as_ref().iter().any(lowers),
        _ => false,
    }
}

fn library_error(error: tokenizers::Error) -> TokenizerError {
    TokenizerError::Tokenizer(error.to_string())
}

#[cfg(test)]
mod tests;
