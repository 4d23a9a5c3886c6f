//! Lower case.

/// Puts every character into lower case by itself: one character becomes one, wherever it stands.
pub(in super::super) fn lower_case(term: &mut String) {
    if term.is_ascii() {
        term.make_ascii_lowercase();
    } else if term.chars().any(|char| simple_lower_case(char) != char) {
        *term = term.chars().map(simple_lower_case).collect();
    }
}

/// Unicode's simple mapping. The full one, of the standard library, differs for one character alone: it makes two of a dotted
/// capital I.
pub(in super::super) fn simple_lower_case(char: char) -> char {
    char.to_lowercase().next().unwrap_or(char)
}
