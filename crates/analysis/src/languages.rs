//! The analyzer of each language, as a list of steps: those of Lucene 9's analyzers, in their order.

use std::sync::Arc;

use icu_segmenter::WordSegmenter;
use icu_segmenter::options::WordBreakInvariantOptions;
use jieba_rs::Jieba;

use super::Tokenize;
use super::bigrams::Bigrams;
use super::chain::{Chain, Step, Words};
use super::filters::*;
use super::stem::*;
use super::stop_words::StopWords;
use super::whitespace::Whitespace;

type MakeAnalyzer = fn() -> Arc<dyn Tokenize>;

/// The words of a list.
macro_rules! stop_words {
    ($list:literal) => {
        StopWords::new(include_str!(concat!("stop_words/", $list, ".txt")))
    };
}

/// A step: the name of a list of stop words, or a function that changes a term.
macro_rules! step {
    ($list:literal) => {
        Step::Stop(stop_words!($list))
    };
    ($change:ident) => {
        Step::Change($change)
    };
}

/// A chain of words and steps.
macro_rules! chain {
    ($words:expr; $($step:tt),+) => {
        Arc::new(Chain { words: $words, steps: vec![$(step!($step)),+] })
    };
    ($($step:tt),+) => {
        chain!(Words::Standard; $($step),+)
    };
}

/// Every analyzer: a language by its ISO 639-1 code, or another name.
const ANALYZERS: &[(&str, MakeAnalyzer)] = &[
    ("ar", || chain!(lower_case, decimal_digits, "ar", arabic_normal, arabic)),
    ("bn", || chain!(lower_case, decimal_digits, indic_normal, bengali_normal, "bn", bengali)),
    ("da", || chain!(lower_case, "da", danish)),
    ("de", || chain!(lower_case, "de", german_normal, german_light)),
    ("el", || chain!(greek_lower_case, "el", greek)),
    ("en", || chain!(possessive, lower_case, "en", porter)),
    ("es", || chain!(lower_case, "es", spanish_light)),
    ("fa", || {
        chain!(
            Words::SplitAt('\u{200C}'); lower_case, decimal_digits, arabic_normal, persian_normal, "fa"
        )
    }),
    ("fi", || chain!(lower_case, "fi", finnish)),
    ("fr", || chain!(french_elision, lower_case, "fr", french_light)),
    ("hi", || chain!(lower_case, decimal_digits, indic_normal, hindi_normal, "hi", hindi)),
    ("hu", || chain!(lower_case, "hu", hungarian)),
    ("id", || chain!(lower_case, "id", indonesian)),
    ("it", || chain!(italian_elision, lower_case, "it", italian_light)),
    ("ja", || chain!(dictionary(); width, lower_case, without_short_hiragana, "ja")),
    ("ko", bigrams),
    ("nl", || chain!(lower_case, "nl", dutch)),
    ("no", || chain!(lower_case, "no", norwegian)),
    ("pt", || chain!(lower_case, "pt", portuguese_light)),
    ("ru", || chain!(lower_case, "ru", russian)),
    ("sv", || chain!(lower_case, "sv", swedish)),
    ("sw", || Arc::new(Whitespace)),
    ("te", || Arc::new(Whitespace)),
    ("th", || chain!(dictionary(); lower_case, decimal_digits, "th")),
    ("tr", || chain!(turkish_apostrophe, turkish_lower_case, "tr", turkish)),
    ("zh", bigrams),
    // Unpacks the dictionary, which takes a tenth of a second.
    ("jieba", || chain!(Words::Jieba(Box::new(Jieba::new())); width, lower_case, "cjk")),
    ("standard", || chain!(lower_case)),
    ("telugu", || chain!(decimal_digits, indic_normal, telugu_normal, "te", telugu)),
    ("whitespace", || Arc::new(Whitespace)),
];

/// The names of [`by_name`].
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ANALYZERS.iter().map(|(name, _)| *name)
}

/// The analyzer of a language, by its ISO 639-1 code, or another one.
pub(super) fn by_name(name: &str) -> Option<Arc<dyn Tokenize>> {
    ANALYZERS.iter().find(|(known, _)| *known == name).map(|(_, make)| make())
}

fn bigrams() -> Arc<dyn Tokenize> {
    Arc::new(Bigrams::new(stop_words!("cjk")))
}

fn dictionary() -> Words {
    Words::Dictionary(WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()))
}
