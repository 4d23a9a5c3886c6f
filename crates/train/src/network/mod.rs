//! A network in training: forward passes that leave a tape, and backward passes over it.

mod backward;
mod gradients;
mod masks;
mod pool;
mod recorder;
#[cfg(feature = "candle")]
mod replica;
mod tape;
mod weights;

use std::sync::Arc;

use rayon::prelude::*;
use toller_encoder::{EncoderError, Network};
use toller_nn::{NnError, Sequences};
use toller_tokenizer::Tokens;

use self::backward::{Reverse, Terms};
pub use self::gradients::Gradients;
pub use self::recorder::Recorder;
#[cfg(feature = "candle")]
pub(crate) use self::replica::{OnDevice, Replica, Sums};
use self::tape::{States, Tape};
pub(crate) use self::weights::PREFIX;
pub use self::weights::{Parameter, TensorName, Weights};
use crate::dropout::{Dropout, Places};

/// Tokens of a tape, at most: what one thread computes at a time. The bits do not depend on it.
const SPAN: usize = 256;

/// A network and its parameters.
pub struct Tower {
    network: Network<Recorder>,
    weights: Arc<Weights>,
}

/// What a forward pass leaves of a few sequences.
pub(crate) struct Span {
    tape: Tape,
    result: States,
}

/// Sequences that go through a network, the first with a number in the training batch.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'a> {
    pub(crate) tokens: &'a [Tokens],
    pub(crate) first: u64,
    /// Tokens at the start of each text that are not pooled.
    pub(crate) unpooled: usize,
}

impl Tower {
    /// Takes the parameters of a network that was loaded on a recorder, and has dropout in these places.
    pub(crate) fn new(network: Network<Recorder>, dropped: Places) -> Self {
        let mut weights = network.backend().take_weights();
        let count = weights.linears.len();
        for (index, layer) in weights.linears.iter_mut().enumerate() {
            layer.drops_input = dropped.drops_input(layer.place, index + 1 == count);
            layer.drops_output = dropped.drops_output(layer.place);
        }
        Self { network, weights: Arc::new(weights) }
    }

    /// The parameters.
    #[must_use]
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Keeps no layouts for products: passes over the network are made elsewhere.
    pub(crate) fn without_passes(mut self) -> Self {
        if let Some(weights) = self.weights_mut() {
            weights.unpack();
        }
        self
    }

    /// Leaves all parameters as they are: there are no gradients of them.
    pub(crate) fn freeze(&mut self) {
        if let Some(weights) = self.weights_mut() {
            weights.freeze();
        }
    }

    /// The parameters, to change them; `None` while a pass over them is on its way.
    pub fn weights_mut(&mut self) -> Option<&mut Weights> {
        Arc::get_mut(&mut self.weights)
    }

    /// The rows of the network's result, appended to `rows`. With `records`, also what the way back needs.
    pub(crate) fn forward(
        &self,
        texts: Texts<'_>,
        dropout: Option<Dropout>,
        records: bool,
        rows: &mut Vec<f32>,
    ) -> Result<Vec<Span>, EncoderError> {
        let spans = spans(texts.tokens, SPAN);
        let computed: Result<Vec<Span>, EncoderError> = spans
            .into_par_iter()
            .with_max_len(1)
            .map(|range| {
                let first = texts.first + range.start as u64;
                let mut tape = Tape::new(Arc::clone(&self.weights), dropout, first, records);
                let result = self.network.forward(&mut tape, &texts.tokens[range], texts.unpooled, 0)?;
                Ok(Span { tape, result })
            })
            .collect();
        let computed = computed?;
        computed.iter().for_each(|span| rows.extend_from_slice(&span.result.values));
        Ok(if records { computed } else { Vec::new() })
    }

    /// Adds to the gradients of the parameters, from those of the results' rows.
    pub(crate) fn backward(&self, spans: Vec<Span>, mut rows: &[f32], gradients: &mut Gradients) {
        let mut reversed: Vec<Reverse> = Vec::with_capacity(spans.len());
        for Span { tape, result } in spans {
            let (own, rest) = rows.split_at(result.values.len());
            rows = rest;
            reversed.push(Reverse::new(tape, &result, own.to_vec()));
        }
        // The steps of a network are the same for all sequences, so all tapes end together.
        loop {
            let terms: Option<Vec<Terms>> =
                reversed.par_iter_mut().with_max_len(1).map(Reverse::step).collect();
            let Some(terms) = terms.filter(|terms| !terms.is_empty()) else { break };
            let sequences: Vec<&Sequences> = reversed.iter().map(|reverse| &reverse.tape.sequences).collect();
            gradients.add(&self.weights, &terms, &sequences);
        }
    }
}

fn unsupported(what: &str) -> NnError {
    NnError::Unsupported(format!("{what} cannot be trained yet"))
}

/// Consecutive texts of at most `most` tokens together; a longer text is alone.
pub(crate) fn spans(texts: &[Tokens], most: usize) -> Vec<std::ops::Range<usize>> {
    let mut spans = Vec::new();
    let (mut start, mut tokens) = (0, 0);
    for (index, text) in texts.iter().enumerate() {
        if index > start && tokens + text.len() > most {
            spans.push(start..index);
            (start, tokens) = (index, 0);
        }
        tokens += text.len();
    }
    if start < texts.len() {
        spans.push(start..texts.len());
    }
    spans
}
