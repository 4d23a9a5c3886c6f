//! What to show of a document: where it has the terms of a query, and the part that has most of them.

use std::collections::HashSet;
use std::ops::Range;

use toller_analysis::Analyzer;

/// The words of `text` that `analyzer` makes one of `terms` of, as ranges of bytes in order. Where words are
/// not written apart, as in Chinese, it is the term itself if the text has it as it is.
#[must_use]
pub fn matched_words(text: &str, analyzer: &Analyzer, terms: &HashSet<&str>) -> Vec<Range<usize>> {
    let mut matched = Vec::new();
    for word in words(text) {
        let of_word = analyzer.analyze(&text[word.clone()]);
        let found: Vec<&str> =
            of_word.iter().map(String::as_str).filter(|term| terms.contains(term)).collect();
        if found.is_empty() {
            continue;
        }
        let inside = if of_word.len() > 1 { occurrences(&text[word.clone()], &found) } else { Vec::new() };
        match inside.is_empty() {
            true => matched.push(word),
            false => matched.extend(inside.into_iter().map(|at| word.start + at.start..word.start + at.end)),
        }
    }
    matched
}

/// The longest ranges without white space or punctuation.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let pieces = text.split(|c: char| c.is_whitespace() || c.is_ascii_punctuation());
    pieces.filter(|word| !word.is_empty()).map(|word| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        start..start + word.len()
    })
}

/// Where a word has the terms as they are, joined where they overlap.
fn occurrences(word: &str, terms: &[&str]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = terms
        .iter()
        .filter(|term| !term.is_empty())
        .flat_map(|term| word.match_indices(term).map(|(at, found)| at..at + found.len()))
        .collect();
    found.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in found {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// The part of a text, of at most `length` characters, that has the most distinct matches, then the most
/// matches; of equal ones the first. It begins and ends between words where there are blanks.
#[must_use]
pub fn best_part(text: &str, matches: &[Range<usize>], length: usize) -> Range<usize> {
    let end_of =
        |start: usize| text[start..].char_indices().nth(length).map_or(text.len(), |(at, _)| start + at);
    if end_of(0) == text.len() {
        return 0..text.len();
    }
    let value = |start: usize| {
        let end = end_of(start);
        let inside = matches.iter().filter(|range| range.start >= start && range.end <= end);
        let words: Vec<String> = inside.map(|range| text[range.clone()].to_lowercase()).collect();
        (words.iter().collect::<HashSet<_>>().len(), words.len())
    };
    // A window begins a little before a match, so that the reader sees what it belongs to.
    let before = |at: usize| {
        let lead = text[..at].char_indices().rev().nth(length / 6).map_or(0, |(start, _)| start);
        let blank = |(start, c): (usize, char)| c.is_whitespace().then(|| start + c.len_utf8());
        if lead == 0 {
            0
        } else {
            text[lead..at].char_indices().find_map(blank).map_or(lead, |start| lead + start)
        }
    };
    let starts = std::iter::once(0).chain(matches.iter().map(|range| before(range.start)));
    let mut best = (value(0), 0);
    for start in starts.take(MOST_WINDOWS) {
        let found = value(start);
        if found > best.0 {
            best = (found, start);
        }
    }
    let (_, start) = best;
    let end = end_of(start);
    let blank = text[start..end].rfind(char::is_whitespace).filter(|_| end < text.len());
    start..blank.map_or(end, |at| start + at)
}

/// Windows of a text that are compared: a book has its best part near its beginning, or it takes too long.
const MOST_WINDOWS: usize = 200;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use toller_analysis::Analyzer;

    use super::{best_part, matched_words};

    fn matched<'a>(language: &str, text: &'a str, query: &str) -> Vec<&'a str> {
        let analyzer = Analyzer::by_name(language).unwrap();
        let terms = analyzer.analyze(query);
        let terms: HashSet<&str> = terms.iter().map(String::as_str).collect();
        matched_words(text, &analyzer, &terms).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn words_match_as_the_analyzer_sees_them() {
        let text = "Microstructural development of Human newborns' brains; a DEVELOPING brain.";
        assert_eq!(
            matched("en", text, "brain developments"),
            ["development", "brains", "DEVELOPING", "brain"]
        );
        assert_eq!(matched("de", "Häuser und Gärten", "haus"), ["Häuser"]);
        assert_eq!(matched("en", text, "the of"), [""; 0]);
    }

    #[test]
    fn words_that_are_not_apart_match_inside() {
        assert_eq!(matched("zh", "我们在北京大学学习。", "北京大学"), ["北京大学"]);
        assert_eq!(matched("ja", "東京は日本の首都です", "日本"), ["日本"]);
    }

    #[test]
    fn the_best_part_has_the_most_distinct_matches() {
        let filler = "lorem ipsum dolor ".repeat(20);
        let text = format!("brain brain {filler} white matter of the brain {filler}");
        let analyzer = Analyzer::by_name("en").unwrap();
        let matches = matched_words(&text, &analyzer, &HashSet::from(["white", "matter", "brain"]));
        let part = &text[best_part(&text, &matches, 80)];
        assert!(part.contains("white matter of the brain"), "{part}");
        assert_eq!(best_part("short", &[], 80), 0..5);
    }

    proptest! {
        #[test]
        fn any_text_has_a_part(text in "\\PC{0,300}", query in "\\PC{0,40}", length in 1..120_usize) {
            let analyzer = Analyzer::by_name("standard").unwrap();
            let terms = analyzer.analyze(&query);
            let terms: HashSet<&str> = terms.iter().map(String::as_str).collect();
            let matches = matched_words(&text, &analyzer, &terms);
            prop_assert!(matches.is_sorted_by(|a, b| a.end <= b.start));
            prop_assert!(text[best_part(&text, &matches, length)].chars().count() <= length);
        }
    }
}
