//! The light stemmer for Arabic of L. S. Larkey, L. Ballesteros and M. E. Connell (light10).

use super::suffixes::units;

/// Takes one prefix off a normalised term, and then suffixes.
pub(in super::super) fn arabic(term: &mut String) {
    const PREFIXES: &[&str] = &["ال", "وال", "بال", "كال", "فال", "لل", "و"];
    const SUFFIXES: &[&str] = &["ها", "ان", "ات", "ون", "ين", "يه", "ية", "ه", "ة", "ي"];
    let length = units(term);
    // A conjunction by itself needs three letters after it, other prefixes two.
    let fits = |prefix: &&&str| length >= (units(prefix) + 2).max(4) && term.starts_with(**prefix);
    if let Some(prefix) = PREFIXES.iter().find(fits) {
        term.drain(..prefix.len());
    }
    // Each suffix in turn that leaves two letters.
    for suffix in SUFFIXES {
        if units(term) >= units(suffix) + 2 && term.ends_with(suffix) {
            term.truncate(term.len() - suffix.len());
        }
    }
}
