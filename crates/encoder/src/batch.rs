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
    pub(crate) fn new(texts: &[Tokens]) -> Self {
        Self {
            input_ids: texts.iter().flat_map(|text| text.input_ids.iter().copied()).collect(),
            type_ids: texts.iter().flat_map(|text| text.type_ids.iter().copied()).collect(),
            sequences: Sequences::from_lengths(texts.iter().map(Tokens::len)),
        }
    }
}

/// Splits texts into consecutive batches of at most `budget` tokens; a text longer than the budget is a batch
/// by itself. The order does not change: without padding, sorting gains nothing.
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
    use toller_tokenizer::Tokens;

    use super::by_budget;

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
