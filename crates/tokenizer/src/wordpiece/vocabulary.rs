//! WordPiece: a word is cut into the longest tokens there are, from left to right (Wu et al. 2016, section
//! 4.1).

use tokenizers::Model;
use tokenizers::models::wordpiece::WordPiece;

use super::trie::{Root, Trie};
use super::whole_words::{ShortWord, WholeWords};

/// A vocabulary in the form that cutting words needs.
pub(super) struct Vocabulary {
    whole: WholeWords,
    pieces: Trie,
    unknown: u32,
    /// Longer words are unknown.
    max_chars: usize,
}

impl Vocabulary {
    /// The vocabulary of a model. `None` if the unknown token is missing, or the vocabulary is too large.
    pub(super) fn new(model: &WordPiece) -> Option<Self> {
        let tokens = model.get_vocab();
        let unknown = *tokens.get(&model.unk_token)?;
        let max_chars = model.max_input_chars_per_word;
        let prefix = model.continuing_subword_prefix.as_bytes();
        let tokens: Vec<(&str, u32)> = tokens.iter().map(|(token, &id)| (token.as_str(), id)).collect();
        let keys =
            || tokens.iter().map(|&(token, id)| (token.as_bytes(), id)).filter(|(key, _)| !key.is_empty());
        let continuing = keys().filter_map(|(key, id)| Some((key.strip_prefix(prefix)?, id)));
        let continuing = continuing.filter(|(key, _)| !key.is_empty());
        let short_enough = tokens.iter().filter(|(token, _)| token.chars().count() <= max_chars);
        Some(Self {
            whole: WholeWords::new(short_enough.map(|&(token, id)| (token.as_bytes(), id))),
            pieces: Trie::new(keys().collect(), continuing.collect())?,
            unknown,
            max_chars,
        })
    }

    /// The most characters of a word. Longer words are unknown.
    pub(super) fn max_chars(&self) -> usize {
        self.max_chars
    }

    /// Appends the ids of a word of `chars` characters.
    #[inline]
    pub(super) fn short(&self, word: ShortWord, chars: usize, ids: &mut Vec<u32>) {
        match self.whole.get(word) {
            Some(id) => ids.push(id),
            None => {
                let (bytes, len) = word.bytes();
                self.pieces(&bytes[..len], chars, ids);
            }
        }
    }

    /// Appends the ids of a word of `chars` characters, by its longest pieces. If the word is too long, bytes
    /// may be missing.
    pub(super) fn pieces(&self, word: &[u8], chars: usize, ids: &mut Vec<u32>) {
        if chars > self.max_chars {
            ids.push(self.unknown);
            return;
        }
        let before = ids.len();
        let (mut root, mut rest) = (Root::Begin, word);
        while !rest.is_empty() {
            let Some((id, len)) = self.pieces.longest(root, rest) else {
                ids.truncate(before);
                ids.push(self.unknown);
                return;
            };
            ids.push(id);
            (root, rest) = (Root::Continue, &rest[len..]);
        }
    }

    /// The id of a word that is a single token, or unknown.
    pub(super) fn single(&self, word: &str) -> Option<u32> {
        let mut ids = Vec::new();
        self.pieces(word.as_bytes(), word.chars().count(), &mut ids);
        match ids.as_slice() {
            &[id] => Some(id),
            _ => None,
        }
    }
}
