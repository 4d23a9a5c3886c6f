//! Snowball's stemmers, in the versions that Lucene 9 has: those of Snowball 2. Its Norwegian, Swedish and
//! (Porter's) Dutch are the same in `rust-stemmers`. `snowball_stemmers_rs` has later versions of these
//! three, and the others.

use std::borrow::Cow;

use rust_stemmers::{Algorithm as OlderAlgorithm, Stemmer as Older};
use snowball_stemmers_rs::{Algorithm, Stemmer};

/// Declares a function for each stemmer.
macro_rules! stemmers {
    ($($language:ident: $stemmer:ident, $algorithm:expr;)+) => {$(
        pub(in super::super) fn $language(term: &mut String) {
            let stem = match $stemmer::create($algorithm).stem(term) {
                Cow::Owned(stem) => stem,
                Cow::Borrowed(_) => return,
            };
            *term = stem;
        }
    )+};
}

stemmers! {
    danish: Stemmer, Algorithm::Danish;
    finnish: Stemmer, Algorithm::Finnish;
    hungarian: Stemmer, Algorithm::Hungarian;
    norwegian: Older, OlderAlgorithm::Norwegian;
    plain_dutch: Older, OlderAlgorithm::Dutch;
    russian: Stemmer, Algorithm::Russian;
    swedish: Older, OlderAlgorithm::Swedish;
    turkish: Stemmer, Algorithm::Turkish;
}

/// Dutch, except for four words that Lucene stems by hand.
pub(in super::super) fn dutch(term: &mut String) {
    match term.as_str() {
        "fiets" | "bromfiets" => {}
        "ei" | "kind" => term.push_str("er"),
        _ => plain_dutch(term),
    }
}
