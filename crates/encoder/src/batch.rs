//! A flat batch of tokenized texts.

use std::ops::Range;

use toller_nn::Sequences;
use toller_tokenizer::Tokens;

/// Several texts in one flat matrix, without any padding.
pub(crate) struct TokenBatch {
    /// `[tokens]`.
    pub(crate) input_ids: Vec<u32>,
    /// `[tokens]`.
    pub(crate) type_ids: Vec<u32>,
    pub(crate) sequences: Sequences,
    /// The sequence of each text, if there are others.
    pub(crate) texts: Option<Vec<usize>>,
}

/// Fewer common tokens are not worth a sequence of their own.
const LEAST_SHARED: usize = 8;

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
            texts: None,
        }
    }

    /// Texts that begin with the same tokens, such as the pairs of one query in a chat template, with these
    /// tokens once: a sequence that the texts' sequences begin with.
    pub(crate) fn sharing(texts: &[Tokens]) -> Self {
        let (mut input_ids, mut type_ids) = (Vec::new(), Vec::new());
        let mut sequences: Vec<(usize, Option<usize>)> = Vec::new();
        let mut of_texts = Vec::with_capacity(texts.len());
        let mut add = |text: &Tokens, part: Range<usize>, beginning: Option<usize>| {
            input_ids.extend_from_slice(&text.input_ids[part.clone()]);
            type_ids.extend_from_slice(&text.type_ids[part.clone()]);
            sequences.push((part.len(), beginning));
            sequences.len() - 1
        };
        let mut rest = texts;
        while let Some(first) = rest.first() {
            let (count, shared) = common_beginning(rest);
            let (together, after) = rest.split_at(count);
            let beginning = (shared > 0).then(|| add(first, 0..shared, None));
            of_texts.extend(together.iter().map(|text| add(text, shared..text.len(), beginning)));
            rest = after;
        }
        let texts = (sequences.len() > texts.len()).then_some(of_texts);
        Self { input_ids, type_ids, sequences: Sequences::sharing(sequences), texts }
    }
}

/// How many of the first texts are computed together, and the tokens that all of them begin with; 0 for one
/// text alone.
fn common_beginning(texts: &[Tokens]) -> (usize, usize) {
    let (mut count, mut shared) = (1, 0);
    while let Some(common) = texts.get(count).and_then(|text| joined(&texts[0], count, shared, text)) {
        (count, shared) = (count + 1, common);
    }
    (count, shared)
}

/// What `count` texts share with one more, if that saves tokens. The first of them is given, and what they
/// share without the new one.
fn joined(first: &Tokens, count: usize, shared: usize, text: &Tokens) -> Option<usize> {
    let common = common_tokens(first, text);
    let common = if count > 1 { common.min(shared) } else { common };
    (count * common > (count - 1) * shared).then_some(common)
}

/// The tokens that both texts begin with and that are worth sharing; each has at least one of its own.
fn common_tokens(one: &Tokens, other: &Tokens) -> usize {
    let most = one.len().min(other.len()).saturating_sub(1);
    let is_same =
        |at: &usize| one.input_ids[*at] == other.input_ids[*at] && one.type_ids[*at] == other.type_ids[*at];
    let common = (0..most).take_while(is_same).count();
    if common < LEAST_SHARED { 0 } else { common }
}

/// The tokens of a text with its prefix. An empty text has none.
pub(crate) fn length(text: &Tokens, prefix: usize) -> usize {
    if text.is_empty() { 0 } else { text.len() + prefix }
}

/// The tokens that are computed for a batch of texts.
#[derive(Clone, Debug)]
pub struct BatchSize {
    /// Whether what texts begin with in common counts once.
    shares: bool,
    /// Tokens in front of every text.
    prefix: usize,
    /// The tokens of all groups of texts but the last. A group shares its beginning.
    before: usize,
    /// The first text of the last group, how many texts it has, what they share, and all their tokens.
    first: Tokens,
    count: usize,
    shared: usize,
    tokens: usize,
    /// The most tokens that a group shares.
    most_shared: usize,
}

impl BatchSize {
    /// That of a batch without texts.
    pub(crate) fn new(shares: bool, prefix: usize) -> Self {
        let first = Tokens::default();
        Self { shares, prefix, before: 0, first, count: 0, shared: 0, tokens: 0, most_shared: 0 }
    }

    /// Adds a text behind the others.
    pub fn add(&mut self, text: &Tokens) {
        let is_joined = self.shares && self.count > 0;
        let common = if is_joined { joined(&self.first, self.count, self.shared, text) } else { None };
        if let Some(common) = common {
            (self.count, self.shared) = (self.count + 1, common);
            self.most_shared = self.most_shared.max(common);
            // Texts with a prefix share nothing.
            self.tokens += text.len();
            return;
        }
        self.before = self.tokens();
        (self.count, self.shared, self.tokens) = (1, 0, length(text, self.prefix));
        if self.shares {
            self.first.clone_from(text);
        }
    }

    /// The number of tokens.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.before + self.tokens - self.count.saturating_sub(1) * self.shared
    }

    /// The size of each batch if the texts are divided among `parts`: what texts share is computed in every
    /// batch again.
    pub(crate) fn divided(&self, parts: usize) -> usize {
        (self.tokens() - self.most_shared).div_ceil(parts.max(1)) + self.most_shared
    }
}

/// Splits texts into consecutive batches of at most `budget` tokens; a text of more tokens is a batch by
/// itself. `empty` is the size of a batch without texts. The order does not change: without padding, sorting
/// gains nothing.
pub(crate) fn by_budget(
    texts: &[Tokens],
    budget: usize,
    empty: BatchSize,
) -> impl Iterator<Item = &[Tokens]> {
    let mut rest = texts;
    std::iter::from_fn(move || {
        let mut size = empty.clone();
        let fitting = rest.iter().take_while(|text| {
            size.add(text);
            size.tokens() <= budget
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

    use super::{BatchSize, TokenBatch, by_budget};

    #[test]
    fn batches_fill_the_budget_in_order() {
        let texts: Vec<Tokens> = [3, 3, 4, 20, 1, 0, 9]
            .map(|len| Tokens { input_ids: vec![len as u32; len], type_ids: vec![0; len] })
            .into();
        let lengths = |budget| -> Vec<Vec<usize>> {
            let batches = by_budget(&texts, budget, BatchSize::new(false, 0));
            batches.map(|batch| batch.iter().map(Tokens::len).collect()).collect()
        };
        assert_eq!(lengths(10), [vec![3, 3, 4], vec![20], vec![1, 0, 9]]);
        assert_eq!(lengths(1), [vec![3], vec![3], vec![4], vec![20], vec![1, 0], vec![9]]);
        assert_eq!(by_budget(&[], 10, BatchSize::new(true, 0)).count(), 0);
        let with_prefix = by_budget(&texts, 14, BatchSize::new(false, 2));
        let with_prefix: Vec<usize> = with_prefix.map(<[Tokens]>::len).collect();
        assert_eq!(with_prefix, [2, 1, 1, 3], "5 + 5, 6, 22, 3 + 0 + 11");
        let same = vec![text(&[7; 20]); 5];
        let shared = by_budget(&same, 22, BatchSize::new(true, 0));
        let shared: Vec<usize> = shared.map(<[Tokens]>::len).collect();
        assert_eq!(shared, [3, 2], "20 + 1 + 1");
    }

    fn text(ids: &[u32]) -> Tokens {
        Tokens { input_ids: ids.to_vec(), type_ids: vec![1; ids.len()] }
    }

    #[test]
    fn common_beginnings_are_there_once() {
        let of = |shared: u32, own: &[u32]| text(&[&(0..shared).collect::<Vec<_>>(), own].concat());
        let batch = TokenBatch::sharing(&[of(20, &[91]), of(20, &[92, 93]), of(20, &[94])]);
        assert_eq!(batch.input_ids, [&(0..20).collect::<Vec<_>>()[..], &[91, 92, 93, 94]].concat());
        assert_eq!(batch.type_ids, [1; 24]);
        assert_eq!(batch.sequences.offsets(), [0, 20, 21, 23, 24]);
        assert_eq!(batch.texts, Some(vec![1, 2, 3]));
        let parts: Vec<_> = batch.sequences.parts().collect();
        assert_eq!(parts, [(0..0, 0..20), (0..20, 20..21), (0..20, 21..23), (0..20, 23..24)]);

        // The other query's pairs share less, and are better apart.
        let texts = [of(30, &[91]), of(30, &[92]), of(10, &[93, 94]), of(10, &[95]), text(&[]), of(9, &[7])];
        let batch = TokenBatch::sharing(&texts);
        assert_eq!(batch.texts, Some(vec![1, 2, 4, 5, 6, 7]));
        assert_eq!(batch.sequences.offsets(), [0, 30, 31, 32, 42, 44, 45, 45, 55]);
        // Few pairs of each query: their common beginning is shorter, and saves more.
        let texts = [of(30, &[91]), of(25, &[92, 1]), of(24, &[93])];
        assert_eq!(TokenBatch::sharing(&texts).sequences.offsets(), [0, 24, 31, 34, 35]);
        // A text has tokens of its own, and few common ones are not enough.
        let batch = TokenBatch::sharing(&[of(12, &[]), of(12, &[])]);
        assert_eq!(batch.sequences.offsets(), [0, 11, 12, 13]);
        for texts in [vec![of(7, &[91]), of(7, &[92])], vec![of(20, &[])], vec![text(&[]), text(&[])], vec![]]
        {
            let batch = TokenBatch::sharing(&texts);
            let plain = TokenBatch::new(&texts, 0);
            assert_eq!((batch.input_ids, batch.texts), (plain.input_ids, None));
            assert_eq!(batch.sequences.offsets(), plain.sequences.offsets());
        }
    }

    #[test]
    fn the_size_of_a_batch_is_that_of_its_sequences() {
        let of = |shared: u32, own: u32| text(&[&(0..shared).collect::<Vec<_>>()[..], &[own]].concat());
        // Beginnings that shrink from text to text, and that change.
        let shapes = [30, 29, 28, 20, 8, 9, 40, 40, 3, 40, 39].into_iter().zip(90..);
        let texts: Vec<Tokens> = shapes.map(|(shared, own)| of(shared, own)).chain([text(&[])]).collect();
        for from in 0..texts.len() {
            let mut size = BatchSize::new(true, 0);
            for to in from..texts.len() {
                size.add(&texts[to]);
                let batch = TokenBatch::sharing(&texts[from..=to]);
                assert_eq!(size.tokens(), batch.input_ids.len(), "{from} to {to}");
            }
        }
        let mut size = BatchSize::new(true, 0);
        (90..100).for_each(|own| size.add(&of(300, own)));
        assert_eq!((size.tokens(), size.divided(1), size.divided(2)), (310, 310, 305));
    }

    #[test]
    fn texts_that_are_not_empty_get_the_prefix() {
        let batch = TokenBatch::new(&[text(&[7, 8]), text(&[]), text(&[9])], 2);
        assert_eq!(batch.input_ids, [7, 7, 7, 8, 9, 9, 9]);
        assert_eq!(batch.type_ids, [1; 7]);
        assert_eq!(batch.sequences.offsets(), [0, 4, 4, 7]);
    }
}
