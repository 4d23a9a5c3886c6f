//! A flat batch of tokenized texts.

use toller_nn::Sequences;
use toller_tokenizer::Tokens;

/// Several texts in one flat matrix, without any padding.
pub(crate) struct TokenBatch {
    /// `[tokens]`.
    pub(crate) input_ids: Vec<u32>,
    /// `[tokens]`.
    pub(crate) type_ids: Vec<u32>,
    pub(crate) sequences: Sequences,
}

impl TokenBatch {
    /// Texts with a prefix of that many tokens, whose ids do not matter: they are copies of the first token.
    pub(crate) fn new(texts: &[Tokens], prefix: usize) -> Self {
        let ids = |ids: fn(&Tokens) -> &[u32]| {
            let prefixed = texts.iter().map(ids).flat_map(|ids| {
                let copies = ids.first().into_iter().flat_map(|first| std::iter::repeat_n(first, prefix));
                copies.chain(ids).copied()
            });
            prefixed.collect()
        };
        Self {
            input_ids: ids(|text| &text.input_ids),
            type_ids: ids(|text| &text.type_ids),
            sequences: Sequences::from_lengths(texts.iter().map(|text| length(text, prefix))),
        }
    }
}

/// The tokens of a text with its prefix. An empty text has none.
pub(crate) fn length(text: &Tokens, prefix: usize) -> usize {
    if text.is_empty() { 0 } else { text.len() + prefix }
}

/// Splits texts into consecutive batches of at most `budget` tokens, prefixes included; a text longer than
/// the budget is a batch by itself. The order does not change: without padding, sorting gains nothing.
pub(crate) fn by_budget(texts: &[Tokens], budget: usize, prefix: usize) -> impl Iterator<Item = &[Tokens]> {
    let mut rest = texts;
    std::iter::from_fn(move || {
        let mut total = 0;
        let fitting = rest.iter().take_while(|text| {
            total += length(text, prefix);
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
    use toller_tokenizer::Tokens;

    use super::{TokenBatch, by_budget};

    #[test]
    fn batches_fill_the_budget_in_order() {
        let texts: Vec<Tokens> = [3, 3, 4, 20, 1, 0, 9]
            .map(|len| Tokens { input_ids: vec![len as u32; len], type_ids: vec![0; len] })
            .into();
        let lengths = |budget| -> Vec<Vec<usize>> {
            by_budget(&texts, budget, 0).map(|batch| batch.iter().map(Tokens::len).collect()).collect()
        };
        assert_eq!(lengths(10), [vec![3, 3, 4], vec![20], vec![1, 0, 9]]);
        assert_eq!(lengths(1), [vec![3], vec![3], vec![4], vec![20], vec![1, 0], vec![9]]);
        assert_eq!(by_budget(&[], 10, 0).count(), 0);
        let with_prefix: Vec<usize> = by_budget(&texts, 14, 2).map(<[Tokens]>::len).collect();
        assert_eq!(with_prefix, [2, 1, 1, 3], "5 + 5, 6, 22, 3 + 0 + 11");
    }

    #[test]
    fn texts_that_are_not_empty_get_the_prefix() {
        let text = |ids: &[u32]| Tokens { input_ids: ids.to_vec(), type_ids: vec![1; ids.len()] };
        let batch = TokenBatch::new(&[text(&[7, 8]), text(&[]), text(&[9])], 2);
        assert_eq!(batch.input_ids, [7, 7, 7, 8, 9, 9, 9]);
        assert_eq!(batch.type_ids, [1; 7]);
        assert_eq!(batch.sequences.offsets(), [0, 4, 4, 7]);
    }
}
