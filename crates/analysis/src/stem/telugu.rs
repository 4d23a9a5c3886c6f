//! A light stemmer for Telugu.

use super::suffixes::{Endings, remove_one};

/// Takes the longest ending off.
pub(in super::super) fn telugu(term: &mut String) {
    remove_one(term, ENDINGS);
}

const ENDINGS: &[Endings] = &[
    (4, &["ళ్ళు", "డ్లు"]),
    (2, &["డు", "ము", "వు", "లు", "ని", "ను", "చే", "కై", "లో", "ది", "కి", "సు", "వై", "పై"]),
    (1, &["ి", "ీ", "ు", "ూ", "ె", "ే", "ొ", "ో", "ా"]),
];
