//! The terms that a sparse encoder gives weights to, and the weights as integers.

use toller_ir::{MAX_IMPACT, is_term, push_impact};
use toller_tokenizer::Tokenizer;

use crate::EncoderError;

/// Impacts of a weight of 1, as SPLADE's authors quantize for Anserini.
const IMPACTS: f32 = 100.0;

/// The vocabulary of a sparse encoder.
#[derive(PartialEq, Eq)]
pub struct Terms(Vec<Box<str>>);

impl Terms {
    /// The tokens of a model with `count` word embeddings.
    pub(crate) fn new(tokenizer: &Tokenizer, count: usize) -> Self {
        let mut names = tokenizer.vocabulary();
        names.resize(count, String::new());
        let named = |(id, name): (usize, String)| {
            // An embedding without a token, or a token of white space.
            let name = if is_term(&name) { name } else { format!("<{id}>") };
            name.into_boxed_str()
        };
        Self(names.into_iter().enumerate().map(named).collect())
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The terms, by the number of their token.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }

    /// The weights of all terms, `[terms]`, as a text with impacts ([`toller_ir::impacts`]): 100 times the
    /// weight, rounded to the nearest integer (ties to even). Terms whose impact is 0 are left out.
    ///
    /// # Errors
    /// [`EncoderError::Weight`] for a weight that is no number, negative, or too large for an impact.
    pub fn impacts(&self, weights: &[f32]) -> Result<String, EncoderError> {
        let mut text = String::new();
        for (term, &weight) in self.0.iter().zip(weights) {
            let impact = (weight * IMPACTS).round_ties_even();
            // Also false for NaN. Integers up to the limit are exact.
            if !(0.0..=MAX_IMPACT as f32).contains(&impact) {
                return Err(EncoderError::Weight { term: term.to_string(), weight });
            }
            if impact > 0.0 {
                push_impact(&mut text, term, impact as u32);
            }
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use toller_ir::impacts;

    use super::Terms;
    use crate::EncoderError;

    #[test]
    fn weights_become_integers() {
        let terms = Terms(["a", "b", "##c", "d"].map(Into::into).into());
        let text = terms.impacts(&[1.234, 0.0049, 0.0051, 0.0]).unwrap_or_default();
        assert_eq!(impacts(&text).collect::<Vec<_>>(), [("a", 123), ("##c", 1)]);
        assert_eq!(terms.impacts(&[0.0; 4]).unwrap_or_default(), "");
        for wrong in [f32::NAN, f32::INFINITY, -1.0, 2e5] {
            let refused = terms.impacts(&[0.0, wrong, 0.0, 0.0]);
            assert!(matches!(refused, Err(EncoderError::Weight { term, .. }) if term == "b"));
        }
    }
}
