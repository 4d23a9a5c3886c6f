//! The ids equal those of the `tokenizers` crate: for every character, for real texts, and for nasty invented
//! texts.
#![allow(clippy::unwrap_used)]

mod characters;
mod data;
mod fuzz;
mod random;
mod small;

use std::collections::HashMap;

use tokenizers::models::wordpiece::WordPiece as Model;
use tokenizers::normalizers::bert::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{AddedToken, Tokenizer};

use super::{NeedsReference, WordPiece};

/// A tokenizer of the reference, and ours.
struct Pair {
    reference: Tokenizer,
    ours: WordPiece,
}

/// The switches of a normalizer.
#[derive(Clone, Copy, Debug)]
struct Flags {
    clean_text: bool,
    chinese: bool,
    strip_accents: Option<bool>,
    lowercase: bool,
}

const UNCASED: Flags = Flags { clean_text: true, chinese: true, strip_accents: None, lowercase: true };
const CASED: Flags = Flags { lowercase: false, ..UNCASED };

/// All settings of the normalizer.
fn all_flags() -> Vec<Flags> {
    let mut all = Vec::new();
    for bits in 0..8 {
        for strip_accents in [None, Some(false), Some(true)] {
            let bit = |n: u8| bits & 1 << n != 0;
            all.push(Flags { clean_text: bit(0), chinese: bit(1), strip_accents, lowercase: bit(2) });
        }
    }
    all
}

impl Pair {
    fn new(vocabulary: impl IntoIterator<Item = (String, u32)>, flags: Flags, added: &[AddedToken]) -> Self {
        Self::with_model(vocabulary, "##", 100, flags, added)
    }

    fn with_model(
        vocabulary: impl IntoIterator<Item = (String, u32)>,
        prefix: &str,
        max_chars: usize,
        flags: Flags,
        added: &[AddedToken],
    ) -> Self {
        Self::try_with_model(vocabulary, prefix, max_chars, flags, added).unwrap()
    }

    /// `None` if the reference refuses the added tokens, or two are found by the same text.
    fn try_with_model(
        vocabulary: impl IntoIterator<Item = (String, u32)>,
        prefix: &str,
        max_chars: usize,
        flags: Flags,
        added: &[AddedToken],
    ) -> Option<Self> {
        let vocabulary: ahash::AHashMap<_, _> = vocabulary.into_iter().collect();
        let model = Model::builder().vocab(vocabulary).unk_token("[UNK]".to_owned());
        let model = model.continuing_subword_prefix(prefix.to_owned()).max_input_chars_per_word(max_chars);
        let mut reference = Tokenizer::new(model.build().unwrap());
        let Flags { clean_text, chinese, strip_accents, lowercase } = flags;
        let normalizer = BertNormalizer::new(clean_text, chinese, strip_accents, lowercase);
        reference.with_normalizer(Some(normalizer)).unwrap();
        reference.with_pre_tokenizer(Some(BertPreTokenizer));
        reference.add_tokens(added.iter().cloned()).ok()?;
        let ours = WordPiece::like(&reference)?;
        Some(Self { reference, ours })
    }

    fn of(mut reference: Tokenizer) -> Self {
        reference.with_truncation(None).unwrap();
        reference.with_padding(None);
        let ours = WordPiece::like(&reference).unwrap();
        Self { reference, ours }
    }

    fn expected(&self, text: &str) -> Vec<u32> {
        self.reference.encode_fast(text, false).unwrap().get_ids().to_vec()
    }

    /// Compares the ids of a text. Returns whether they were ours.
    #[track_caller]
    fn check(&self, text: &str) -> bool {
        let mut ids = Vec::new();
        match self.ours.tokenize(text, usize::MAX, &mut ids) {
            Ok(()) => {
                assert_eq!(ids, self.expected(text), "{text:?}");
                true
            }
            Err(NeedsReference) => false,
        }
    }

    /// Compares the first ids of a text.
    #[track_caller]
    fn check_limit(&self, text: &str, limit: usize) {
        let mut ids = vec![7];
        if self.ours.tokenize(text, limit, &mut ids).is_ok() {
            let mut expected = self.expected(text);
            expected.truncate(limit);
            expected.insert(0, 7);
            assert_eq!(ids, expected, "the first {limit} of {text:?}");
        }
    }
}

/// A vocabulary of words, the unknown token first.
fn vocabulary(words: &[&str]) -> HashMap<String, u32> {
    ["[UNK]"].iter().chain(words).map(|&word| word.to_owned()).zip(0..).collect()
}

/// A vocabulary that distinguishes all characters: those of all planes in use today, and the same as
/// continuations.
fn of_all_characters(flags: Flags) -> Pair {
    let all = || ('\0'..'\u{40000}').chain('\u{e0000}'..'\u{e1000}');
    let tokens = all().map(String::from).chain(all().map(|c| format!("##{c}")));
    Pair::new(["[UNK]".to_owned()].into_iter().chain(tokens).zip(0..), flags, &[])
}

/// The tokenizers of real models, as far as present: uncased English, Chinese, cased multilingual.
fn models() -> Vec<Pair> {
    let mut models = Vec::new();
    if let Some(folder) = toller_testing::minilm() {
        models.push(Pair::of(Tokenizer::from_file(folder.join("tokenizer.json")).unwrap()));
    }
    if let Some(golden) = toller_testing::shared("golden") {
        let chinese = std::fs::read_to_string(golden.join("bert-base-chinese-vocab.txt")).unwrap();
        let special =
            ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(|token| AddedToken::from(token, true));
        let words = chinese.lines().map(str::to_owned).zip(0..);
        models.push(Pair::new(words, UNCASED, &special));
        for cased in ["mbert-dpr/ctx_encoder", "bert-mean"] {
            models.push(Pair::of(Tokenizer::from_file(golden.join(cased).join("tokenizer.json")).unwrap()));
        }
    }
    models
}
