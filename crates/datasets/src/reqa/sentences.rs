//! Where sentences begin and end, for paragraphs without marked sentences.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use toller_ir::named;
use unicode_segmentation::UnicodeSegmentation;

use crate::squad::Squad;

named! {
    /// How sentences are found.
    pub enum SentenceRules: "rules of sentences" {
        /// After `.`, `?` and `!` before a capital or a digit, but not after titles, initials, months and
        /// other abbreviations.
        English = "english",
        /// The sentences of Unicode (UAX #29), in any language.
        Unicode = "unicode",
    }
}

/// Punctuation that ends a sentence, with what closes after it, and the white space that follows.
static END: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"([.?!]+)['"”’)\]]*(\s+)"#).ok());

/// Words before a full stop that ends no sentence: titles, months, references.
const NO_END: [&str; 45] = [
    "mr", "mrs", "ms", "dr", "prof", "st", "rev", "gen", "col", "lt", "sgt", "capt", "gov", "sen", "rep",
    "hon", "pres", "messrs", "mt", "no", "nos", "vol", "vols", "fig", "figs", "pp", "ed", "eds", "vs", "v",
    "cf", "e.g", "i.e", "approx", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sept", "oct", "nov",
    "dec",
];

/// Words before a full stop that ends no sentence if a number follows: years and parts.
const NO_END_BEFORE_NUMBER: [&str; 6] = ["c", "ca", "al", "p", "ch", "sec"];

/// Words that begin a sentence after an abbreviation such as `U.S.`, where a name would be a part of it.
const STARTERS: [&str; 20] = [
    "the", "a", "an", "in", "on", "at", "it", "he", "she", "they", "this", "these", "that", "however", "but",
    "as", "after", "by", "for", "while",
];

/// The sentences of a text: first character, and the character after the last, without white space around.
#[must_use]
pub fn split_sentences(text: &str, rules: SentenceRules) -> Vec<[usize; 2]> {
    let (mut characters, mut at) = (0, 0);
    let in_characters = |range: Range<usize>| {
        let count = |bytes: Range<usize>| text.get(bytes).unwrap_or_default().chars().count();
        let start = characters + count(at..range.start);
        (characters, at) = (start + count(range.clone()), range.end);
        [start, characters]
    };
    sentences(text, rules).into_iter().map(in_characters).collect()
}

/// The bytes of a text's sentences, without white space around.
pub(crate) fn sentences(text: &str, rules: SentenceRules) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = match rules {
        SentenceRules::English => english(text),
        SentenceRules::Unicode => {
            text.split_sentence_bound_indices().map(|(at, sentence)| at..at + sentence.len()).collect()
        }
    };
    for range in &mut ranges {
        let sentence = text.get(range.clone()).unwrap_or_default();
        let start = range.start + (sentence.len() - sentence.trim_start().len());
        *range = start..start + sentence.trim().len();
    }
    ranges.retain(|range| !range.is_empty());
    ranges
}

/// Marks the sentences of each paragraph without marks. Returns how many these are.
pub fn mark_sentences(squad: &mut Squad, rules: SentenceRules) -> usize {
    let mut marked = 0;
    for paragraph in squad.data.iter_mut().flat_map(|article| &mut article.paragraphs) {
        if paragraph.sentence_breaks.is_none() {
            paragraph.sentence_breaks = Some(split_sentences(&paragraph.context, rules));
            marked += 1;
        }
    }
    marked
}

fn english(text: &str) -> Vec<Range<usize>> {
    let (mut ranges, mut start) = (Vec::new(), 0);
    for found in END.iter().flat_map(|end| end.captures_iter(text)) {
        let (Some(all), Some(marks)) = (found.get(0), found.get(1)) else { continue };
        let before = text.get(start..marks.start()).unwrap_or_default();
        let after =
            text.get(all.end()..).unwrap_or_default().trim_start_matches(['\'', '"', '“', '‘', '(', '[']);
        if begins_sentence(after) && (marks.as_str() != "." || ends_sentence(before, after)) {
            ranges.push(start..all.end());
            start = all.end();
        }
    }
    ranges.push(start..text.len());
    ranges
}

fn begins_sentence(text: &str) -> bool {
    text.starts_with(|c: char| c.is_uppercase() || c.is_numeric())
}

/// Whether a full stop between these texts ends a sentence.
fn ends_sentence(before: &str, after: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let word = word.trim_start_matches(['\'', '"', '“', '‘', '(', '[']);
    let mut characters = word.chars();
    let is_initial = characters.next().is_some_and(char::is_uppercase) && characters.next().is_none();
    let lower = word.to_lowercase();
    if is_initial || NO_END.contains(&lower.as_str()) {
        return false;
    }
    if after.starts_with(char::is_numeric) {
        return !NO_END_BEFORE_NUMBER.contains(&lower.as_str());
    }
    // U.S. or E.I.: letters with full stops between.
    let is_acronym = word.contains('.') && word.split('.').all(|part| part.chars().count() == 1);
    let next = after.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    !is_acronym || STARTERS.contains(&next.as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{SentenceRules, split_sentences};

    fn split(text: &str, rules: SentenceRules) -> Vec<String> {
        let characters: Vec<char> = text.chars().collect();
        let of = |[start, end]: [usize; 2]| characters[start..end].iter().collect();
        split_sentences(text, rules).into_iter().map(of).collect()
    }

    #[test]
    fn english_sentences() {
        let english = |text| split(text, SentenceRules::English);
        assert_eq!(
            english(
                " Dr. A. Smith met Mr. Bell on Jan. 5. He left (in 1876). \"Why?\" 42 asked! See Fig. 3. "
            ),
            [
                "Dr. A. Smith met Mr. Bell on Jan. 5.", "He left (in 1876).", "\"Why?\"", "42 asked!",
                "See Fig. 3."
            ]
        );
        assert_eq!(
            english("The U.S. President came. In the U.S. The end"),
            ["The U.S. President came.", "In the U.S.", "The end"]
        );
        assert_eq!(
            english("It costs 3.5 dollars. so what? Ünder all. Jones et al. 1998 say"),
            ["It costs 3.5 dollars. so what?", "Ünder all.", "Jones et al. 1998 say"]
        );
        assert_eq!(english("  "), [""; 0]);
    }

    #[test]
    fn other_languages() {
        let unicode = |text| split(text, SentenceRules::Unicode);
        assert_eq!(unicode("你好。再见！ 谁？"), ["你好。", "再见！", "谁？"]);
        assert_eq!(unicode("Er kam. Sie ging."), ["Er kam.", "Sie ging."]);
    }

    proptest! {
        /// Sentences come in order, are trimmed, and only white space is between them.
        #[test]
        fn nothing_is_lost(text in "([A-Z]?[a-zé]{0,3}[.?!]{0,2}[ \n\"。]{0,2}){0,8}") {
            let characters: Vec<char> = text.chars().collect();
            for rules in SentenceRules::ALL {
                let mut at = 0;
                for [start, end] in split_sentences(&text, rules) {
                    prop_assert!(at <= start && start < end && end <= characters.len());
                    prop_assert!(characters[at..start].iter().all(|c| c.is_whitespace()));
                    prop_assert!(!characters[start].is_whitespace() && !characters[end - 1].is_whitespace());
                    at = end;
                }
                prop_assert!(characters[at..].iter().all(|c| c.is_whitespace()));
            }
        }
    }
}
