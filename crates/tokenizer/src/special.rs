//! The tokens that are found in a text before all else: special tokens, and tokens that were added to a
//! vocabulary.

use std::path::Path;

use tokenizers::AddedToken;
use toller_checkpoint::{Fingerprint, ModelError};

use super::TokenizerConfig;
use crate::TokenizerError;

/// The roles of RoBERTa's special tokens, and the tokens themselves.
pub(super) const ROBERTA: [(&str, &str); 7] = [
    ("bos_token", "<s>"),
    ("eos_token", "</s>"),
    ("unk_token", "<unk>"),
    ("sep_token", "</s>"),
    ("pad_token", "<pad>"),
    ("cls_token", "<s>"),
    ("mask_token", "<mask>"),
];

/// Added tokens, for a tokenizer that is made from its vocabulary, or whose file does not have them.
pub(super) struct Specials {
    /// The tokens with the names of their roles.
    named: Vec<(&'static str, AddedToken)>,
    /// `added_tokens_decoder`, by id.
    numbered: Vec<(u32, AddedToken)>,
    others: Vec<AddedToken>,
}

impl Specials {
    /// The tokens of these roles, or their defaults, and all tokens that the configuration adds.
    pub(super) fn read(config: &TokenizerConfig, roles: &[(&'static str, &'static str)]) -> Self {
        Self {
            named: roles.iter().map(|&(role, default)| (role, config.special(role, default))).collect(),
            numbered: config.added_tokens(),
            others: config.additional_tokens(),
        }
    }

    /// Lets the token of a role take the blanks before it, as do the Python classes that treat the token as a
    /// word.
    pub(super) fn with_lstrip(mut self, role: &str) -> Self {
        for (name, token) in &mut self.named {
            if *name == role {
                token.lstrip = true;
            }
        }
        self
    }

    /// Further tokens.
    pub(super) fn with(mut self, tokens: Vec<AddedToken>) -> Self {
        self.others.extend(tokens);
        self
    }

    /// Those that a tokenizer does not have as added tokens yet, if there are any.
    pub(super) fn beyond(mut self, tokenizer: &tokenizers::Tokenizer) -> Option<Self> {
        let there = tokenizer.get_added_tokens_decoder();
        let is_new = |token: &AddedToken| there.values().all(|other| other.content != token.content);
        self.numbered.retain(|(_, token)| is_new(token));
        self.others.retain(is_new);
        (!self.numbered.is_empty() || !self.others.is_empty()).then_some(self)
    }

    /// Adds the tokens in the order of transformers: those with an id, those with a role, the others. A token
    /// with a role that is neither in the vocabulary nor has an id is not added: it has no embedding.
    pub(super) fn add_to(
        self,
        tokenizer: &mut tokenizers::Tokenizer,
        path: &Path,
        fingerprint: &mut Fingerprint,
    ) -> Result<(), TokenizerError> {
        let problem = |problem: String| ModelError::Config { problem, path: path.to_owned() };
        let mut tokens: Vec<AddedToken> = Vec::new();
        let numbered = self.numbered.iter().map(|(_, token)| token.clone());
        let known = |token: &AddedToken| tokenizer.token_to_id(&token.content).is_some();
        let named = self.named.into_iter().map(|(_, token)| token).filter(known);
        for token in numbered.chain(named).chain(self.others) {
            if !tokens.iter().any(|other| other.content == token.content) {
                tokens.push(token);
            }
        }
        let described: Vec<String> = tokens.iter().map(describe).collect();
        fingerprint.value("added tokens", described.join("\n").as_bytes());
        tokenizer.add_tokens(tokens).map_err(|error| problem(error.to_string()))?;
        for (id, token) in &self.numbered {
            let found = tokenizer.token_to_id(&token.content);
            if found != Some(*id) {
                let found = found.map_or("none".to_owned(), |found| found.to_string());
                return Err(problem(format!(
                    "added_tokens_decoder gives {:?} the id {id}, but after this vocabulary it has {found}",
                    token.content
                ))
                .into());
            }
        }
        Ok(())
    }
}

fn describe(token: &AddedToken) -> String {
    let AddedToken { content, single_word, lstrip, rstrip, normalized, special } = token;
    format!("{content} {single_word} {lstrip} {rstrip} {normalized} {special}")
}
