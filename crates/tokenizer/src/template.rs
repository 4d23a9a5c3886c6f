//! Where the special tokens are around a text and around a pair of texts.

use tokenizers::tokenizer::{Encoding, Token};

use crate::tokens::Tokens;

/// A place of a template: a special token, or all tokens of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Special { id: u32, type_id: u32 },
    First { type_id: u32 },
    Second { type_id: u32 },
}

/// What a tokenizer puts around the tokens of one text and of a pair of texts: BERT's `[CLS] A [SEP]` and
/// `[CLS] A [SEP] B [SEP]`, RoBERTa's `<s> A </s></s> B </s>`, with the token types of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    single: Vec<Slot>,
    pair: Vec<Slot>,
}

/// Ids in the place of the texts when the library is asked for its template. No vocabulary is that large.
const FIRST: u32 = u32::MAX;
const SECOND: u32 = u32::MAX - 1;

impl Template {
    /// Reads the template of a tokenizer by giving texts of one token to its post-processor, which may be of
    /// any kind.
    pub(super) fn of(tokenizer: &tokenizers::Tokenizer) -> tokenizers::Result<Self> {
        let text = |id, type_id| Encoding::from_tokens(vec![Token::new(id, String::new(), (0, 0))], type_id);
        let slots = |encoding: Encoding| {
            let pairs = encoding.get_ids().iter().zip(encoding.get_type_ids());
            pairs
                .map(|(&id, &type_id)| match id {
                    FIRST => Slot::First { type_id },
                    SECOND => Slot::Second { type_id },
                    id => Slot::Special { id, type_id },
                })
                .collect()
        };
        Ok(Self {
            single: slots(tokenizer.post_process(text(FIRST, 0), None, true)?),
            pair: slots(tokenizer.post_process(text(FIRST, 0), Some(text(SECOND, 1)), true)?),
        })
    }

    /// No special tokens.
    pub(super) fn bare() -> Self {
        let first = Slot::First { type_id: 0 };
        Self { single: vec![first], pair: vec![first, Slot::Second { type_id: 0 }] }
    }

    /// The same with the type 0 throughout.
    pub(super) fn without_types(&self) -> Self {
        let untyped = |slots: &[Slot]| {
            let untyped = slots.iter().map(|slot| match *slot {
                Slot::Special { id, .. } => Slot::Special { id, type_id: 0 },
                Slot::First { .. } => Slot::First { type_id: 0 },
                Slot::Second { .. } => Slot::Second { type_id: 0 },
            });
            untyped.collect()
        };
        Self { single: untyped(&self.single), pair: untyped(&self.pair) }
    }

    /// The same with a special token at the end of texts and pairs, unless texts end in it already.
    pub(super) fn ending_in(&self, id: u32) -> Self {
        if matches!(self.single.last(), Some(Slot::Special { id: last, .. }) if *last == id) {
            return self.clone();
        }
        let ended = |slots: &[Slot]| {
            let type_id = slots.last().map_or(0, |slot| match *slot {
                Slot::Special { type_id, .. } | Slot::First { type_id } | Slot::Second { type_id } => type_id,
            });
            [slots, &[Slot::Special { id, type_id }]].concat()
        };
        Self { single: ended(&self.single), pair: ended(&self.pair) }
    }

    /// The largest type of a token of a pair.
    pub(super) fn largest_type(&self) -> u32 {
        let Tokens { type_ids, .. } = self.compose_pair(&[0], &[0]);
        type_ids.into_iter().max().unwrap_or(0)
    }

    /// The special tokens around one text.
    pub(super) fn specials(&self) -> usize {
        count_specials(&self.single)
    }

    /// The special tokens before one text.
    pub(super) fn before(&self) -> usize {
        self.single.iter().take_while(|slot| matches!(slot, Slot::Special { .. })).count()
    }

    /// The special tokens around a pair.
    pub(super) fn pair_specials(&self) -> usize {
        count_specials(&self.pair)
    }

    /// The special token after a pair.
    pub(super) fn last_of_pairs(&self) -> Option<u32> {
        match self.pair.last()? {
            Slot::Special { id, .. } => Some(*id),
            Slot::First { .. } | Slot::Second { .. } => None,
        }
    }

    /// One text with its special tokens.
    pub(super) fn compose(&self, text: &[u32]) -> Tokens {
        fill(&self.single, text, &[])
    }

    /// A pair of texts with its special tokens.
    pub(super) fn compose_pair(&self, first: &[u32], second: &[u32]) -> Tokens {
        fill(&self.pair, first, second)
    }
}

fn count_specials(slots: &[Slot]) -> usize {
    slots.iter().filter(|slot| matches!(slot, Slot::Special { .. })).count()
}

fn fill(slots: &[Slot], first: &[u32], second: &[u32]) -> Tokens {
    let mut tokens = Tokens::default();
    for slot in slots {
        let (ids, type_id) = match slot {
            Slot::Special { id, type_id } => (std::slice::from_ref(id), *type_id),
            Slot::First { type_id } => (first, *type_id),
            Slot::Second { type_id } => (second, *type_id),
        };
        tokens.input_ids.extend_from_slice(ids);
        tokens.type_ids.resize(tokens.input_ids.len(), type_id);
    }
    tokens
}
