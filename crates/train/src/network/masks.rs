//! The masks of dropout over the steps of a network, for one batch of sequences.

use crate::dropout::{Dropout, Mask};

/// Which rate of dropout applies.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rate {
    Hidden,
    Attention,
    Classifier,
}

/// Numbers the steps of a pass, and says what each drops.
pub(crate) struct Masks {
    dropout: Option<Dropout>,
    /// The number of the first sequence in the training batch.
    first: u64,
    steps: usize,
}

impl Masks {
    /// The masks for sequences that are numbered from `first` in their training batch.
    pub(crate) fn new(dropout: Option<Dropout>, first: u64) -> Self {
        Self { dropout, first, steps: 0 }
    }

    /// Begins a step and numbers it.
    pub(crate) fn begin(&mut self) -> usize {
        self.steps += 1;
        self.steps
    }

    /// The mask of a step's elements for a sequence of this batch; `None` where nothing is dropped.
    pub(crate) fn mask(&self, kind: Rate, sequence: usize, step: usize) -> Option<Mask> {
        let dropout = self.dropout.as_ref()?;
        let rate = match kind {
            Rate::Hidden => dropout.rates.hidden,
            Rate::Attention => dropout.rates.attention,
            Rate::Classifier => dropout.rates.classifier,
        };
        dropout.mask(rate, self.first + sequence as u64, step)
    }
}
