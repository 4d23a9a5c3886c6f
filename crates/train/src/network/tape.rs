//! What a forward pass leaves for the backward pass.

use std::ops::Range;
use std::sync::Arc;

use toller_nn::{Activation, Pooling, Sequences};

use super::masks::{Masks, Rate};
use super::weights::Weights;
use crate::dropout::{Apply, Dropout, Mask};
use crate::kernels::attention::{Buffers, Shape};

/// A matrix of states, and its place on the tape.
#[derive(Clone, Debug)]
pub struct States {
    pub(crate) node: usize,
    pub(crate) values: Arc<Vec<f32>>,
    pub(crate) width: usize,
}

/// A normalised matrix: what the backward pass needs of it.
pub(crate) struct Normed {
    /// The norm's parameters.
    pub(crate) norm: Norm,
    /// `[rows, width]`, before weight and bias.
    pub(crate) normal: Vec<f32>,
    /// 1 / deviation of each row.
    pub(crate) scales: Vec<f32>,
}

/// A norm's place among the parameters.
#[derive(Clone, Copy, Debug)]
pub struct Norm {
    pub(crate) weight: usize,
    pub(crate) bias: Option<usize>,
    pub(crate) epsilon: f32,
}

/// Where the keys and values of a layer's prefix are.
#[derive(Clone, Debug)]
pub(crate) struct PrefixPlace {
    /// The table among the parameters.
    pub(crate) parameter: usize,
    /// Values of a row of the table, and those of the layer.
    pub(crate) width: usize,
    pub(crate) columns: Range<usize>,
    /// Rows of the table.
    pub(crate) rows: usize,
}

/// A step, and its result's place on the tape.
pub(crate) struct Operation {
    pub(crate) kind: Kind,
    pub(crate) out: usize,
}

/// What a step did. States are inputs with their values; numbers of nodes are inputs without.
pub(crate) enum Kind {
    Embed { rows: Vec<Vec<u32>>, tables: Vec<usize>, normed: Normed },
    Project { x: States, input: usize, layer: usize, activation: Activation, before: Option<Vec<f32>> },
    Prefix { qkv: usize, width: usize, prefix: PrefixPlace },
    Attend { qkv: States, shape: Shape },
    Close { x: States, layer: usize, residual: usize, normed: Normed },
    Pool { x: States, poolings: Vec<Pooling>, skipped: usize },
    Truncate { x: usize, from: usize, to: usize },
    Unit { x: usize, out: States, lengths: Vec<f32> },
}

/// The record of one batch of sequences.
pub struct Tape {
    pub(crate) weights: Arc<Weights>,
    masks: Masks,
    /// Whether operations are recorded.
    records: bool,
    pub(crate) sequences: Sequences,
    pub(crate) operations: Vec<Operation>,
    nodes: usize,
    pub(crate) buffers: Buffers,
}

impl Tape {
    /// An empty tape for sequences that are numbered from `first` in their training batch. Without `records`
    /// there is no backward pass.
    #[must_use]
    pub fn new(weights: Arc<Weights>, dropout: Option<Dropout>, first: u64, records: bool) -> Self {
        Self {
            weights,
            masks: Masks::new(dropout, first),
            records,
            sequences: Sequences::from_lengths([]),
            operations: Vec::new(),
            nodes: 0,
            buffers: Buffers::default(),
        }
    }

    /// Begins a step and numbers it.
    pub(crate) fn begin(&mut self) -> usize {
        self.masks.begin()
    }

    /// The mask of a step's elements for a sequence of this batch.
    pub(crate) fn mask(&self, kind: Rate, sequence: usize, step: usize) -> Option<Mask> {
        self.masks.mask(kind, sequence, step)
    }

    /// Applies dropout to rows of `width` values that belong to sequences: to tokens, or to one row a
    /// sequence.
    pub(crate) fn drop_out(&self, kind: Rate, step: usize, values: &mut [f32], width: usize) {
        let per_token = values.len() == self.sequences.tokens() * width;
        for (sequence, tokens) in self.sequences.ranges().enumerate() {
            let rows = if per_token { tokens } else { sequence..sequence + 1 };
            if let Some(mask) = self.mask(kind, sequence, step) {
                let values = &mut values[rows.start * width..rows.end * width];
                toller_simd::dispatch(Apply { mask, values });
            }
        }
    }

    /// New states that are on no record.
    pub(crate) fn states(&mut self, values: Vec<f32>, width: usize) -> States {
        self.nodes += 1;
        States { node: self.nodes - 1, values: Arc::new(values), width }
    }

    /// Records a step, one for each that began: so a step's number is the length of the record after it.
    pub(crate) fn record(&mut self, out: &States, kind: impl FnOnce() -> Kind) {
        if self.records {
            self.operations.push(Operation { kind: kind(), out: out.node });
        }
    }

    /// Nodes of the tape.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes
    }
}

/// The tokens that get rows of a prefix, and the rows.
pub(crate) fn prefix_rows(sequences: &Sequences, rows: usize) -> impl Iterator<Item = (usize, usize)> {
    sequences.ranges().flat_map(move |tokens| tokens.zip(0..rows))
}
