//! Changing the characters of a term, for filters and stemmers.

/// Replaces every character, and allocates only if one changes.
pub(super) fn replace_each(term: &mut String, replace: impl Fn(char) -> char) {
    if term.chars().any(|char| replace(char) != char) {
        *term = term.chars().map(replace).collect();
    }
}

/// Replaces every character, or removes it.
pub(super) fn replace_or_remove(term: &mut String, replace: impl Fn(char) -> Option<char>) {
    if term.chars().any(|char| replace(char) != Some(char)) {
        *term = term.chars().filter_map(replace).collect();
    }
}

/// Marks the second UTF-16 code unit of the character before. No term contains this noncharacter.
const SECOND_UNIT: char = '\u{FFFF}';

/// Changes a term as a list of characters. The list is as long as the term is for Lucene, which counts code
/// units.
pub(super) fn edit(term: &mut String, change: fn(&mut Vec<char>)) {
    let mut units = Vec::with_capacity(term.len());
    for char in term.chars() {
        units.push(char);
        if char.len_utf16() == 2 {
            units.push(SECOND_UNIT);
        }
    }
    change(&mut units);
    term.clear();
    term.extend(units.into_iter().filter(|&unit| unit != SECOND_UNIT));
}
