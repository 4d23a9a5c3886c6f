//! Snowball's stemmers, in the versions of them that Lucene 9 has: those of Snowball 2. Its Norwegian, Swedish and (Porter's)
//! Dutch are the same in `rust-stemmers`; of the others, `snowball_stemmers_rs` has what they have become.

use std::borrow::Cow;

use rust_stemmers::Stemmer as Older;
use snowball_stemmers_rs::Stemmer;

pub(in super::super) fn danish(term: &mut String) {
    newer(snowball_stemmers_rs::Algorithm::Danish, term);
}

/// Dutch, but for four words that Lucene stems by hand.
pub(in super::super) fn dutch(term: &mut String) {
    match term.as_str() {
        "fiets" | "bromfiets" => {}
        "ei" | "kind" => term.push_str("er"),
        _ => older(rust_stemmers::Algorithm::Dutch, term),
    }
}

pub(in super::super) fn finnish(term: &mut String) {
    newer(snowball_stemmers_rs::Algorithm::Finnish, term);
}

pub(in super::super) fn hungarian(term: &mut String) {
    newer(snowball_stemmers_rs::Algorithm::Hungarian, term);
}

pub(in super::super) fn norwegian(term: &mut String) {
    older(rust_stemmers::Algorithm::Norwegian, term);
}

pub(in super::super) fn russian(term: &mut String) {
    newer(snowball_stemmers_rs::Algorithm::Russian, term);
}

pub(in super::super) fn swedish(term: &mut String) {
    older(rust_stemmers::Algorithm::Swedish, term);
}

pub(in super::super) fn turkish(term: &mut String) {
    newer(snowball_stemmers_rs::Algorithm::Turkish, term);
}

fn newer(algorithm: snowball_stemmers_rs::Algorithm, term: &mut String) {
    if let Some(stem) = changed(Stemmer::create(algorithm).stem(term)) {
        *term = stem;
    }
}

fn older(algorithm: rust_stemmers::Algorithm, term: &mut String) {
    if let Some(stem) = changed(Older::create(algorithm).stem(term)) {
        *term = stem;
    }
}

/// The stem, unless it is the term.
fn changed(stem: Cow<'_, str>) -> Option<String> {
    match stem {
        Cow::Owned(stem) => Some(stem),
        Cow::Borrowed(_) => None,
    }
}
