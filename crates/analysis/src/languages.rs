//! The analyzer of each language, as a list of steps: those of Lucene 9's analyzers, in their order.

use std::sync::Arc;

use super::Tokenize;
use super::bigrams::Bigrams;
use super::chain::{Chain, Step};
use super::dictionary::{DictionaryWords, is_short_hiragana};
use super::filters::*;
use super::jieba::ChineseWords;
use super::stem::*;
use super::stop_words::StopWords;
use super::whitespace::Whitespace;

/// The names of [`by_name`].
pub(super) const NAMES: &[&str] = &[
    "ar",
    "bn",
    "da",
    "de",
    "el",
    "en",
    "es",
    "fa",
    "fi",
    "fr",
    "hi",
    "hu",
    "id",
    "it",
    "ja",
    "ko",
    "nl",
    "no",
    "pt",
    "ru",
    "sv",
    "sw",
    "te",
    "th",
    "tr",
    "zh",
    "jieba",
    "standard",
    "telugu",
    "whitespace",
];

/// The steps of a language, by its ISO 639-1 code, or of another analyzer.
pub(super) fn by_name(name: &str) -> Option<Arc<dyn Tokenize>> {
    use Step::{Change, DropIf, Stop};
    macro_rules! stop {
        ($list:literal) => {
            Stop(StopWords::new(include_str!(concat!("stop_words/", $list, ".txt"))))
        };
    }
    let steps = match name {
        "ar" => vec![
            Change(lower_case),
            Change(decimal_digits),
            stop!("ar"),
            Change(arabic_normal),
            Change(arabic),
        ],
        "bn" => vec![
            Change(lower_case),
            Change(decimal_digits),
            Change(indic_normal),
            Change(bengali_normal),
            stop!("bn"),
            Change(bengali),
        ],
        "da" => vec![Change(lower_case), stop!("da"), Change(danish)],
        "de" => vec![Change(lower_case), stop!("de"), Change(german_normal), Change(german_light)],
        "el" => vec![Change(greek_lower_case), stop!("el"), Change(greek)],
        "en" => vec![Change(possessive), Change(lower_case), stop!("en"), Change(porter)],
        "es" => vec![Change(lower_case), stop!("es"), Change(spanish_light)],
        "fa" => {
            let steps = vec![
                Change(lower_case),
                Change(decimal_digits),
                Change(arabic_normal),
                Change(persian_normal),
                stop!("fa"),
            ];
            return Some(Arc::new(Chain::splitting_at(steps, '\u{200C}')));
        }
        "fi" => vec![Change(lower_case), stop!("fi"), Change(finnish)],
        "fr" => vec![Change(french_elision), Change(lower_case), stop!("fr"), Change(french_light)],
        "hi" => vec![
            Change(lower_case),
            Change(decimal_digits),
            Change(indic_normal),
            Change(hindi_normal),
            stop!("hi"),
            Change(hindi),
        ],
        "hu" => vec![Change(lower_case), stop!("hu"), Change(hungarian)],
        "id" => vec![Change(lower_case), stop!("id"), Change(indonesian)],
        "it" => vec![Change(italian_elision), Change(lower_case), stop!("it"), Change(italian_light)],
        "ko" | "zh" => {
            return Some(Arc::new(Bigrams::new(StopWords::new(include_str!("stop_words/cjk.txt")))));
        }
        "ja" => {
            let steps = vec![Change(width), Change(lower_case), DropIf(is_short_hiragana), stop!("ja")];
            return Some(Arc::new(DictionaryWords::new(steps)));
        }
        "jieba" => {
            let steps = vec![Change(width), Change(lower_case), stop!("cjk")];
            return Some(Arc::new(ChineseWords::new(steps)));
        }
        "nl" => vec![Change(lower_case), stop!("nl"), Change(dutch)],
        "no" => vec![Change(lower_case), stop!("no"), Change(norwegian)],
        "pt" => vec![Change(lower_case), stop!("pt"), Change(portuguese_light)],
        "ru" => vec![Change(lower_case), stop!("ru"), Change(russian)],
        "standard" => vec![Change(lower_case)],
        "sv" => vec![Change(lower_case), stop!("sv"), Change(swedish)],
        "telugu" => vec![
            Change(decimal_digits),
            Change(indic_normal),
            Change(telugu_normal),
            stop!("te"),
            Change(telugu),
        ],
        "th" => {
            let steps = vec![Change(lower_case), Change(decimal_digits), stop!("th")];
            return Some(Arc::new(DictionaryWords::new(steps)));
        }
        "tr" => vec![Change(turkish_apostrophe), Change(turkish_lower_case), stop!("tr"), Change(turkish)],
        "sw" | "te" | "whitespace" => return Some(Arc::new(Whitespace)),
        _ => return None,
    };
    Some(Arc::new(Chain::new(steps)))
}
