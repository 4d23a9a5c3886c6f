//! Terms with weights that a model has given.

use toller_ir::impacts;

use super::Tokenize;

/// Takes the terms of a text with impacts as they are.
pub(super) struct Impacts;

impl Tokenize for Impacts {
    fn tokenize(&self, text: &str, each: &mut dyn FnMut(&str)) {
        impacts(text).for_each(|(term, _)| each(term));
    }

    fn weigh(&self, text: &str, each: &mut dyn FnMut(&str, u32)) {
        impacts(text).for_each(|(term, impact)| each(term, impact));
    }
}
