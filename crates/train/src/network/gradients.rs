//! The gradients of parameters, summed in one order.
//!
//! Every sum runs over the sequences of the training batch in their order, whatever chunks, tapes and threads
//! they were computed in. So the bits of a gradient depend only on the batch.

use std::ops::Range;

use rayon::prelude::*;
use toller_nn::Sequences;
use toller_simd as simd;
use toller_simd::tile::Rows;

use super::backward::{LinearTerms, NormTerms, PrefixTerms, TableTerms, Terms};
use super::tape::prefix_rows;
use super::weights::Weights;
use crate::kernels::linear::AddGradient;
use crate::kernels::product::Panels;

/// Values of a weight's gradient that a task keeps in the second-level cache while the sequences pass by.
const BLOCK: usize = 1 << 16;

/// A gradient for each parameter of a network; an empty one for a frozen parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradients {
    pub(crate) values: Vec<Vec<f32>>,
}

impl Gradients {
    /// Zeros.
    #[must_use]
    pub fn zeros(weights: &Weights) -> Self {
        Self { values: weights.parameters.iter().map(|parameter| vec![0.0; parameter.trained()]).collect() }
    }

    /// Back to zeros.
    pub fn reset(&mut self) {
        self.values.par_iter_mut().for_each(|values| values.fill(0.0));
    }

    /// The values for each parameter.
    #[must_use]
    pub fn values(&self) -> &[Vec<f32>] {
        &self.values
    }

    /// Adds the terms of one step of all tapes, in the order of the tapes.
    pub(crate) fn add(&mut self, weights: &Weights, terms: &[Terms], sequences: &[&Sequences]) {
        let linear: Vec<&LinearTerms> = terms.iter().filter_map(|terms| terms.linear.as_ref()).collect();
        if let Some(first) = linear.first() {
            self.add_linear(weights, first.layer, &linear, sequences);
        }
        for (terms, sequences) in terms.iter().zip(sequences) {
            if let Some(norm) = &terms.norm {
                self.add_norm(norm, sequences);
            }
            if let Some(tables) = &terms.tables {
                self.add_tables(tables);
            }
            if let Some(prefix) = &terms.prefix {
                self.add_prefix(prefix, sequences);
            }
        }
    }

    fn add_linear(
        &mut self,
        weights: &Weights,
        layer: usize,
        terms: &[&LinearTerms],
        sequences: &[&Sequences],
    ) {
        let layer = &weights.linears[layer];
        if weights.parameters[layer.weight].frozen {
            return;
        }
        let (inputs, outputs) = (layer.inputs, layer.outputs);
        let parts: Vec<(&LinearTerms, Range<usize>)> = terms
            .iter()
            .zip(sequences)
            .flat_map(|(&terms, sequences)| {
                rows_of(terms.delta.len() / outputs, sequences).map(move |rows| (terms, rows))
            })
            .collect();
        let packed: Vec<Panels> = parts
            .par_iter()
            .map(|(terms, rows)| {
                let mut panels = Panels::default();
                panels.pack(Rows::new(&terms.x[rows.start * inputs..], inputs, rows.len(), inputs));
                panels
            })
            .collect();
        let block = (BLOCK / inputs).clamp(1, outputs);
        let mut weight = std::mem::take(&mut self.values[layer.weight]);
        let mut bias = layer.bias.map(|bias| std::mem::take(&mut self.values[bias])).unwrap_or_default();
        let mut biases: Vec<Option<&mut [f32]>> = bias.chunks_mut(block).map(Some).collect();
        biases.resize_with(outputs.div_ceil(block), || None);
        weight.par_chunks_mut(block * inputs).zip(biases).enumerate().for_each(
            |(index, (weight, mut bias))| {
                let mut scratch = Vec::new();
                for ((terms, rows), x) in parts.iter().zip(&packed) {
                    simd::dispatch(AddGradient {
                        x,
                        delta: &terms.delta[rows.start * outputs..rows.end * outputs],
                        outputs,
                        first: index * block,
                        weight,
                        bias: bias.as_deref_mut(),
                        scratch: &mut scratch,
                    });
                }
            },
        );
        self.values[layer.weight] = weight;
        if let Some(index) = layer.bias {
            self.values[index] = bias;
        }
    }

    fn add_norm(&mut self, terms: &NormTerms, sequences: &Sequences) {
        let width = self.values[terms.norm.weight].len();
        if width == 0 {
            return;
        }
        let rows = |rows: &Range<usize>| rows.start * width..rows.end * width;
        for tokens in sequences.ranges() {
            let (mut weight, mut bias) = (vec![0.0; width], vec![0.0; width]);
            let gradients = terms.gradient[rows(&tokens)].chunks_exact(width);
            for (gradient, normal) in gradients.zip(terms.normal[rows(&tokens)].chunks_exact(width)) {
                for (column, (gradient, normal)) in gradient.iter().zip(normal).enumerate() {
                    weight[column] += gradient * normal;
                    bias[column] += gradient;
                }
            }
            add(&mut self.values[terms.norm.weight], &weight);
            if let Some(index) = terms.norm.bias {
                add(&mut self.values[index], &bias);
            }
        }
    }

    fn add_tables(&mut self, terms: &TableTerms) {
        for (&table, rows) in terms.tables.iter().zip(&terms.rows) {
            let width = terms.delta.len() / rows.len().max(1);
            let table = &mut self.values[table];
            if table.is_empty() {
                continue;
            }
            for (&row, delta) in rows.iter().zip(terms.delta.chunks_exact(width.max(1))) {
                add(&mut table[row as usize * width..][..width], delta);
            }
        }
    }

    fn add_prefix(&mut self, PrefixTerms { prefix, delta }: &PrefixTerms, sequences: &Sequences) {
        let deltas = delta.chunks_exact(prefix.columns.len());
        for ((_, row), delta) in prefix_rows(sequences, prefix.rows).zip(deltas) {
            let table = &mut self.values[prefix.parameter][row * prefix.width..];
            add(&mut table[prefix.columns.clone()], delta);
        }
    }
}

/// The rows of each sequence: its tokens, or the one row that was pooled of them. Sequences without rows are
/// left out.
fn rows_of(rows: usize, sequences: &Sequences) -> impl Iterator<Item = Range<usize>> {
    let per_token = rows == sequences.tokens();
    sequences
        .ranges()
        .enumerate()
        .map(move |(index, tokens)| if per_token { tokens } else { index..index + 1 })
        .filter(|rows| !rows.is_empty())
}

fn add(sum: &mut [f32], values: &[f32]) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}
