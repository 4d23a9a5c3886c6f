//! Texts with impacts, the weights that learned sparse models give to terms.
//!
//! Such a text has words between white space. A word is a term that counts once, or a term and its impact
//! with U+001F between them.

use std::fmt::Write;

/// Between a term and its impact.
const BETWEEN: char = '\u{1F}';

/// The largest impact. All up to it are exact in f32.
pub const MAX_IMPACT: u32 = 1 << 24;

/// A text with impacts that has no terms, and is not a text that a person left empty.
pub const NO_IMPACTS: &str = "\u{1F}";

/// Whether a term can stand in a text with impacts.
#[must_use]
pub fn is_term(term: &str) -> bool {
    !term.is_empty() && !term.contains(|char: char| char.is_whitespace() || char == BETWEEN)
}

/// Appends a term and its impact to a text.
pub fn push_impact(text: &mut String, term: &str, impact: u32) {
    let space = if text.is_empty() { "" } else { " " };
    // A String takes everything.
    let _ = write!(text, "{space}{term}{BETWEEN}{impact}");
}

/// The terms of a text and their impacts, in order.
pub fn impacts(text: &str) -> impl Iterator<Item = (&str, u32)> {
    let words = text.split_whitespace().filter(|word| *word != NO_IMPACTS);
    words.map(|word| with_impact(word).unwrap_or((word, 1)))
}

/// Whether a text is one of terms with impacts, and not one that a person wrote.
#[must_use]
pub fn has_impacts(text: &str) -> bool {
    let mut words = text.split_whitespace().peekable();
    words.peek().is_some() && words.all(|word| word == NO_IMPACTS || with_impact(word).is_some())
}

/// The term and the impact of a word that has both.
fn with_impact(word: &str) -> Option<(&str, u32)> {
    let (term, impact) = word.rsplit_once(BETWEEN).filter(|(term, _)| !term.is_empty())?;
    let impact = impact.parse().ok().filter(|impact| (1..=MAX_IMPACT).contains(impact))?;
    Some((term, impact))
}

#[cfg(test)]
mod tests {
    use super::{MAX_IMPACT, NO_IMPACTS, has_impacts, impacts, is_term, push_impact};

    #[test]
    fn impacts_go_through_a_text() {
        let pushed = [("##ing", 3), ("1", 1), ("^", MAX_IMPACT), ("große", 12)];
        let mut text = String::new();
        pushed.iter().for_each(|(term, impact)| push_impact(&mut text, term, *impact));
        assert_eq!(impacts(&text).collect::<Vec<_>>(), pushed);
        assert!(has_impacts(&text) && !has_impacts(&format!("{text} ing")) && !has_impacts(" "));
        assert!(has_impacts(NO_IMPACTS) && impacts(NO_IMPACTS).next().is_none());
        assert_eq!(impacts(" a b\ta\n").collect::<Vec<_>>(), [("a", 1), ("b", 1), ("a", 1)]);
        for odd in ["\u{1F}3", "a\u{1F}", "a\u{1F}0", "a\u{1F}b", "a\u{1F}99999999999", "a\u{1F}16777217"] {
            assert_eq!(impacts(odd).collect::<Vec<_>>(), [(odd, 1)], "{odd:?}");
        }
        assert!(is_term("a-b") && ["", "a b", "a\u{1F}", "\n"].iter().all(|term| !is_term(term)));
    }
}
