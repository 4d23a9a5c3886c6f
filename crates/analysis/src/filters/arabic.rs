//! Normalisation of Arabic script.

use crate::chars::replace_or_remove;

/// Arabic: one alef, one final yeh and heh; no tatweel, no vowel signs.
pub(in super::super) fn arabic_normal(term: &mut String) {
    replace_or_remove(term, |char| match char {
        '\u{622}' | '\u{623}' | '\u{625}' => Some('\u{627}'),
        '\u{649}' => Some('\u{64A}'),
        '\u{629}' => Some('\u{647}'),
        '\u{640}' | '\u{64B}'..='\u{652}' => None,
        other => Some(other),
    });
}

/// Persian: its yeh, kaf and heh become the Arabic ones, without hamza.
pub(in super::super) fn persian_normal(term: &mut String) {
    replace_or_remove(term, |char| match char {
        '\u{6CC}' | '\u{6D2}' => Some('\u{64A}'),
        '\u{6A9}' => Some('\u{643}'),
        '\u{6C0}' | '\u{6C1}' => Some('\u{647}'),
        '\u{654}' => None,
        other => Some(other),
    });
}
