//! Particles and endings of Japanese.

/// Empties a term of one or two hiragana: a particle or an ending, not a word that a text is about.
pub(in super::super) fn without_short_hiragana(term: &mut String) {
    if term.chars().count() <= 2 && term.chars().all(|char| matches!(char, 'ぁ'..='ゟ' | 'ー')) {
        term.clear();
    }
}
