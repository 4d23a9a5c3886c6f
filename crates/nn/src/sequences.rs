//! A flat batch.

/// Where the sequences of a flat batch begin and end: a batch is one matrix `[tokens, hidden]` without
/// any padding, its sequences one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequences {
    offsets: Vec<u32>,
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
        Self { offsets }
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
        self.ranges().flat_map(|tokens| (0..).take(tokens.len()))
    }

    /// The tokens of each sequence, as ranges of rows.
    pub fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        self.offsets.windows(2).map(|bounds| bounds[0] as usize..bounds[1] as usize)
    }
}
