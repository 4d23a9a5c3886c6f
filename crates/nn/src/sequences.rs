//! A flat batch.

use std::ops::Range;

/// Where the sequences of a flat batch begin and end: a batch is one matrix `[tokens, hidden]` without
/// any padding, its sequences one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequences {
    offsets: Vec<u32>,
    /// For each sequence, the one whose tokens come before its own. Empty where there is none for any.
    beginnings: Vec<Option<u32>>,
}

impl Sequences {
    /// Sequences of the given lengths, in tokens.
    ///
    /// # Panics
    /// When the batch has more than `u32::MAX` tokens.
    #[must_use]
    pub fn from_lengths(lengths: impl IntoIterator<Item = usize>) -> Self {
        let mut offsets = vec![0];
        let mut end = 0_usize;
        for length in lengths {
            end += length;
            offsets.push(u32::try_from(end).expect("a batch of more than u32::MAX tokens fits no memory"));
        }
        Self { offsets, beginnings: Vec::new() }
    }

    /// Sequences of the given lengths, some of which begin with all tokens of another one, given by its
    /// number. Those tokens are in the batch once. Only where a token sees none behind it are its states
    /// the same in every sequence, and only backends that [`crate::Backend::shares_beginnings`] take such a
    /// batch.
    ///
    /// # Panics
    /// When a sequence that others begin with begins with another itself, or is not there; as
    /// [`Self::from_lengths`].
    #[must_use]
    pub fn sharing(sequences: impl IntoIterator<Item = (usize, Option<usize>)>) -> Self {
        let (lengths, beginnings): (Vec<usize>, Vec<Option<usize>>) = sequences.into_iter().unzip();
        let is_whole = |number: &usize| beginnings.get(*number).is_some_and(Option::is_none);
        assert!(beginnings.iter().flatten().all(is_whole), "sequences begin with whole sequences");
        let beginnings = beginnings.into_iter().map(|number| number.map(|number| number as u32)).collect();
        Self { beginnings, ..Self::from_lengths(lengths) }
    }

    /// Where each sequence starts, then the number of tokens: `[count + 1]`.
    #[must_use]
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// The number of sequences.
    #[must_use]
    pub fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of tokens.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.offsets.last().map_or(0, |&end| end as usize)
    }

    /// The number of each token in its sequence, from 0.
    pub(crate) fn positions(&self) -> impl Iterator<Item = u32> {
        self.parts().flat_map(|(before, tokens)| (before.len() as u32..).take(tokens.len()))
    }

    /// The tokens of each sequence, as ranges of rows, without those of another one that it begins with.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        (0..self.count()).map(|number| self.range(number))
    }

    /// Of each sequence, the tokens of the one that it begins with, and its own.
    pub fn parts(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let before = |number: usize| match self.beginnings.get(number) {
            Some(Some(beginning)) => self.range(*beginning as usize),
            _ => 0..0,
        };
        (0..self.count()).map(move |number| (before(number), self.range(number)))
    }

    fn range(&self, number: usize) -> Range<usize> {
        self.offsets[number] as usize..self.offsets[number + 1] as usize
    }
}
