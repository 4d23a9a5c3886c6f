//! Changing the characters of a term, for filters and stemmers.

/// Replaces every character, and allocates only if one changes.
pub(super) fn replace_each(term: &mut String, replace: impl Fn(char) -> char) {
    if term.chars().any(|char| replace(char) != char) {
        *term = term.chars().map(replace).collect();
    }
}

/// Replaces every character, or takes it away.
pub(super) fn replace_or_remove(term: &mut String, replace: impl Fn(char) -> Option<char>) {
    if term.chars().any(|char| replace(char) != Some(char)) {
        *term = term.chars().filter_map(replace).collect();
    }
}

/// Changes a term as a list of characters.
pub(super) fn edit(term: &mut String, change: fn(&mut Vec<char>)) {
    let mut chars: Vec<char> = term.chars().collect();
    change(&mut chars);
    term.clear();
    term.extend(chars);
}
