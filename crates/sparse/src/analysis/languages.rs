//! The analyzer of each language, as a list of steps.

use super::chain::{Chain, Step};
use super::filters::{lower_case, possessive};
use super::stem::porter;
use super::stop_words::StopWords;

/// The names of [`chain`].
pub(super) const LANGUAGES: &[&str] = &["en"];

/// The chain of a language, by its ISO 639-1 code.
pub(super) fn chain(language: &str) -> Option<Chain> {
    use Step::{Change, Stop};
    let steps = match language {
        "en" => vec![
            Change(possessive),
            Change(lower_case),
            Stop(StopWords::new(include_str!("stop_words/en.txt"))),
            Change(porter),
        ],
        _ => return None,
    };
    Some(Chain::new(steps))
}
