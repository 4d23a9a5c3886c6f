//! Token ids, alone and as a flat batch.

use toller_compute::Sequences;

/// The tokens of one text, special tokens included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Token ids: `[tokens]`.
    pub input_ids: Vec<u32>,
    /// Token type ids: `[tokens]`, zeros but for the second text of a pair.
    pub type_ids: Vec<u32>,
}

impl Tokens {
    /// The number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.input_ids.len()
    }

    /// Whether there is no token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.input_ids.is_empty()
    }
}

/// The tokens of a text without special tokens: made once, used in any number of pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenizedText {
    /// As many as an input can hold, and one more.
    pub(crate) ids: Vec<u32>,
    /// All that were counted; the last segment that was tokenized may have had more than are kept.
    pub(crate) len: usize,
}

impl TokenizedText {
    /// The number of tokens of the text, as far as they were counted: of a text that is too long for the model, more
    /// than the model's maximum length.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Several texts in one flat matrix, without any padding.
pub(crate) struct TokenBatch {
    /// `[tokens]`.
    pub(crate) input_ids: Vec<u32>,
    /// `[tokens]`.
    pub(crate) type_ids: Vec<u32>,
    pub(crate) sequences: Sequences,
}

impl TokenBatch {
    pub(crate) fn new(texts: &[Tokens]) -> Self {
        Self {
            input_ids: texts.iter().flat_map(|text| text.input_ids.iter().copied()).collect(),
            type_ids: texts.iter().flat_map(|text| text.type_ids.iter().copied()).collect(),
            sequences: Sequences::from_lengths(texts.iter().map(Tokens::len)),
        }
    }
}

/// Splits texts into consecutive batches of at most `budget` tokens; a text longer than the budget is a
/// batch of its own. The order stays as it is: without padding there is nothing to gain from sorting.
pub(crate) fn by_budget(texts: &[Tokens], budget: usize) -> impl Iterator<Item = &[Tokens]> {
    let mut rest = texts;
    std::iter::from_fn(move || {
        let mut total = 0;
        let fitting = rest.iter().take_while(|text| {
            total += text.len();
            total <= budget
        });
        let count = fitting.count().max(1);
        if rest.is_empty() {
            return None;
        }
        let (batch, after) = rest.split_at(count);
        rest = after;
        Some(batch)
    })
}

#[cfg(test)]
mod tests {
    use super::{Tokens, by_budget};

    #[test]
    fn batches_fill_the_budget_in_order() {
        let texts: Vec<Tokens> = [3, 3, 4, 20, 1, 0, 9]
            .map(|len| Tokens { input_ids: vec![len as u32; len], type_ids: vec![0; len] })
            .into();
        let lengths = |budget| -> Vec<Vec<usize>> {
            by_budget(&texts, budget).map(|batch| batch.iter().map(Tokens::len).collect()).collect()
        };
        assert_eq!(lengths(10), [vec![3, 3, 4], vec![20], vec![1, 0, 9]]);
        assert_eq!(lengths(1), [vec![3], vec![3], vec![4], vec![20], vec![1, 0], vec![9]]);
        assert_eq!(by_budget(&[], 10).count(), 0);
    }
}
