//! Texts of a wanted number of tokens.

use toller_encoder::EncoderError;

use crate::vectors::Random;

/// Common and rarer words, which tokenizers cut into one to several pieces.
const WORDS: &str = "the of and to in is that for it as was with on by this are from which at or an be his not have \
    they were their one all there when people time water year world system number river history between different \
    small large early modern science language city music war state government family university research study \
    protein temperature population energy surface century mountain island species theory election championship \
    manufacturing electromagnetic biochemistry archaeologist parliamentary nevertheless photosynthesis \
    characteristic misunderstanding jurisdiction Mesopotamia Tchaikovsky Johannesburg Wittgenstein 1789 2024 \
    retrieval passage question answer evidence claim dense index vector search rank document query score exact";

/// Words with the tokens that an encoder makes of each.
#[derive(Clone, Debug)]
pub struct Words {
    words: Vec<(&'static str, usize)>,
    /// Tokens of a text without words.
    special: usize,
}

impl Words {
    /// Asks a tokenizer: `tokens` counts those of a text, special tokens included.
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn new(tokens: impl Fn(&str) -> Result<usize, EncoderError>) -> Result<Self, EncoderError> {
        let special = tokens("")?;
        let count = |word: &'static str| {
            let tokens = tokens(word)?;
            Ok((word, tokens.saturating_sub(special).max(1)))
        };
        let words = WORDS.split_whitespace().map(count).collect::<Result<_, EncoderError>>()?;
        Ok(Self { words, special })
    }

    /// A random text of about `tokens` tokens, special tokens included: exactly this many if words are
    /// tokenized one by one, and at least one word.
    #[must_use]
    pub fn text(&self, tokens: usize, seed: u64) -> String {
        let mut random = Random::new(seed, tokens as u64);
        let wanted = tokens.saturating_sub(self.special).max(1);
        let (mut text, mut total) = (String::new(), 0);
        while total < wanted {
            let (word, count) = self.words[random.index(self.words.len())];
            // Near the end, only a word that still fits; if there is none, any.
            let (word, count) = if total + count <= wanted {
                (word, count)
            } else {
                let fitting = self.words.iter().find(|(_, count)| total + count <= wanted);
                *fitting.unwrap_or(&(word, count))
            };
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
            total += count;
        }
        text
    }
}
