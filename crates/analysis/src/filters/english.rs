//! English possessives.

/// Takes `'s` off the end, with any of three apostrophes.
pub(in super::super) fn possessive(term: &mut String) {
    if let Some(owner) =
        term.strip_suffix(['s', 'S']).and_then(|rest| rest.strip_suffix(['\'', '\u{2019}', '\u{FF07}']))
    {
        term.truncate(owner.len());
    }
}
