//! Terms between white space, as they stand.

use super::Tokenize;

/// Splits at Unicode white space and changes nothing.
pub(super) struct Whitespace;

impl Tokenize for Whitespace {
    fn tokenize(&self, text: &str, each: &mut dyn FnMut(&str)) {
        text.split_whitespace().for_each(each);
    }
}
