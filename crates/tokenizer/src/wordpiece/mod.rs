//! Our own BERT tokenizer: cleaning, splitting and WordPiece in one pass over the bytes.
//!
//! The ids equal those of the `tokenizers` crate for a `BertNormalizer`, a `BertPreTokenizer` and a
//! `WordPiece` model, at some tens of times its speed. Three things make it fast. What the normalizer and the
//! pre-tokenizer do to a character depends only on that character (with one exception, which goes to the
//! reference), so both are one table ([`Characters`]). Words of up to fifteen bytes are looked up whole, as
//! two integers ([`WholeWords`]); others are cut by a double-array trie ([`Trie`]). And only ids are written,
//! no strings and no offsets, and no more than were asked for.
//!
//! The tables are made by asking the reference, so there are no Unicode data here that could differ from the
//! reference's.

mod added_tokens;
mod characters;
mod scan;
mod trie;
mod vocabulary;
mod whole_words;

#[cfg(test)]
mod tests;

use tokenizers::models::ModelWrapper;
use tokenizers::normalizers::bert::BertNormalizer;
use tokenizers::{NormalizedString, Normalizer, NormalizerWrapper, PreTokenizerWrapper};

use self::added_tokens::{AddedTokens, Part};
use self::characters::Characters;
use self::vocabulary::Vocabulary;

/// The text has a character whose effect depends on its neighbours, so the reference must tokenize the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NeedsReference;

/// A tokenizer that does what a [`tokenizers::Tokenizer`] of BERT's kind does before its post-processor.
pub(super) struct WordPiece {
    vocabulary: Vocabulary,
    /// For texts that are not normalized.
    characters: Characters,
    /// For texts that are normalized already.
    plain: Characters,
    normalizer: BertNormalizer,
    /// Tokens that are found in the text before it is normalized.
    added: AddedTokens,
    /// Tokens that are found in the normalized text.
    added_normalized: AddedTokens,
}

impl WordPiece {
    /// The same tokenizer, or `None` if `reference` is of another kind.
    pub(super) fn like(reference: &tokenizers::Tokenizer) -> Option<Self> {
        let Some(NormalizerWrapper::BertNormalizer(normalizer)) = reference.get_normalizer() else {
            return None;
        };
        let Some(PreTokenizerWrapper::BertPreTokenizer(_)) = reference.get_pre_tokenizer() else {
            return None;
        };
        let ModelWrapper::WordPiece(model) = reference.get_model() else { return None };
        let added = reference.get_added_vocabulary();
        if added.get_encode_special_tokens() {
            return None;
        }
        let vocabulary = Vocabulary::new(model)?;
        let characters = Characters::new(Some(*normalizer), &vocabulary)?;
        let plain = Characters::new(None, &vocabulary)?;
        let (normalized, raw): (Vec<_>, Vec<_>) =
            added.get_added_tokens_decoder().iter().partition(|(_, token)| token.normalized);
        let raw = raw.into_iter().map(|(&id, token)| (token.content.clone(), id, token));
        let normalized = normalized
            .into_iter()
            .map(|(&id, token)| Some((added.simple_id_to_token(id)?, id, token)))
            .collect::<Option<Vec<_>>>()?;
        Some(Self {
            characters,
            plain,
            normalizer: *normalizer,
            added: AddedTokens::new(raw)?,
            added_normalized: AddedTokens::new(normalized)?,
            vocabulary,
        })
    }

    /// Appends the first `limit` ids of a text, without special tokens around it. After an error, some ids
    /// may have been appended.
    pub(super) fn tokenize(
        &self,
        text: &str,
        limit: usize,
        ids: &mut Vec<u32>,
    ) -> Result<(), NeedsReference> {
        let end = ids.len().saturating_add(limit);
        for part in self.added.split(text) {
            if ids.len() >= end {
                break;
            }
            match part {
                Part::Token(id) => ids.push(id),
                Part::Text(text) if self.added_normalized.is_empty() => {
                    scan::scan(text, &self.characters, &self.vocabulary, end, ids)?;
                }
                Part::Text(text) => self.tokenize_normalized(&self.normalized(text)?, end, ids)?,
            }
        }
        ids.truncate(end);
        Ok(())
    }

    fn tokenize_normalized(&self, text: &str, end: usize, ids: &mut Vec<u32>) -> Result<(), NeedsReference> {
        for part in self.added_normalized.split(text) {
            if ids.len() >= end {
                break;
            }
            match part {
                Part::Token(id) => ids.push(id),
                Part::Text(text) => scan::scan(text, &self.plain, &self.vocabulary, end, ids)?,
            }
        }
        Ok(())
    }

    fn normalized(&self, text: &str) -> Result<String, NeedsReference> {
        let mut normalized = NormalizedString::from(text);
        self.normalizer.normalize(&mut normalized).map_err(|_| NeedsReference)?;
        Ok(normalized.get().to_owned())
    }
}
