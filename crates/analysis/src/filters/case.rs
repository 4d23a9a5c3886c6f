//! Lower case: Unicode's, Turkish, and Greek without accents.

use crate::chars::replace_each;
use crate::letters::is_nonspacing_mark;

/// Puts every character into lower case by itself: one character becomes one, wherever it is.
pub(in super::super) fn lower_case(term: &mut String) {
    if term.is_ascii() {
        term.make_ascii_lowercase();
    } else {
        replace_each(term, simple);
    }
}

/// Unicode's simple mapping. The standard library has the full mapping, which differs for one character only:
/// a dotted capital I becomes two characters.
fn simple(char: char) -> char {
    char.to_lowercase().next().unwrap_or(char)
}

/// Turkish has two letters: `I` is `ı` in lower case, and `İ`, also written as `I` with a dot above, is `i`.
pub(in super::super) fn turkish_lower_case(term: &mut String) {
    if !term.contains('I') {
        return lower_case(term);
    }
    let mut lower = String::with_capacity(term.len());
    let mut chars = term.chars();
    // The dot may follow other marks.
    let mut after_i = false;
    while let Some(char) = chars.next() {
        after_i = char == 'I' || after_i && is_nonspacing_mark(char);
        if char == 'I' {
            let dotted =
                chars.clone().take_while(|&next| is_nonspacing_mark(next)).any(|next| next == DOT_ABOVE);
            lower.push(if dotted { 'i' } else { 'ı' });
            after_i = dotted;
        } else if !(after_i && char == DOT_ABOVE) {
            lower.push(simple(char));
        }
    }
    *term = lower;
}

const DOT_ABOVE: char = '\u{307}';

/// Greek in lower case, without accents, every sigma the same.
pub(in super::super) fn greek_lower_case(term: &mut String) {
    replace_each(term, |char| match char {
        'ς' => 'σ',
        'Ά' | 'ά' => 'α',
        'Έ' | 'έ' => 'ε',
        'Ή' | 'ή' => 'η',
        'Ί' | 'Ϊ' | 'ί' | 'ϊ' | 'ΐ' => 'ι',
        'Ύ' | 'Ϋ' | 'ύ' | 'ϋ' | 'ΰ' => 'υ',
        'Ό' | 'ό' => 'ο',
        'Ώ' | 'ώ' => 'ω',
        other => simple(other),
    });
}
