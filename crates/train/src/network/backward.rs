//! The backward pass over a tape, step by step.

use std::sync::Arc;

use toller_nn::Activation;
use toller_simd as simd;

use super::masks::Rate;
use super::tape::{Kind, Norm, Normed, PrefixPlace, States, Tape, prefix_rows};
use crate::kernels::activation::Derive;
use crate::kernels::attention::{AttendBack, Sequence};
use crate::kernels::linear::Multiply;
use crate::kernels::norm::Denormalize;

/// A tape on its way back: what remains of it, and the gradients of its states so far.
pub(crate) struct Reverse {
    pub(crate) tape: Tape,
    gradients: Vec<Option<Vec<f32>>>,
}

/// What a step adds to the gradients of parameters.
#[derive(Default)]
pub(crate) struct Terms {
    pub(crate) linear: Option<LinearTerms>,
    pub(crate) norm: Option<NormTerms>,
    pub(crate) tables: Option<TableTerms>,
    pub(crate) prefix: Option<PrefixTerms>,
}

/// A linear layer's input, and the gradient at its output before the activation.
pub(crate) struct LinearTerms {
    pub(crate) layer: usize,
    pub(crate) x: Arc<Vec<f32>>,
    pub(crate) delta: Vec<f32>,
}

/// The gradient at a norm's output, and its input normalised.
pub(crate) struct NormTerms {
    pub(crate) norm: Norm,
    pub(crate) gradient: Vec<f32>,
    pub(crate) normal: Vec<f32>,
}

/// The gradient of the sum of the tables' rows.
pub(crate) struct TableTerms {
    pub(crate) tables: Vec<usize>,
    pub(crate) rows: Vec<Vec<u32>>,
    pub(crate) delta: Vec<f32>,
}

/// The gradient of a layer's prefix: a row for each of [`prefix_rows`].
pub(crate) struct PrefixTerms {
    pub(crate) prefix: PrefixPlace,
    pub(crate) delta: Vec<f32>,
}

impl Reverse {
    /// Begins with the gradient of the network's result.
    pub(crate) fn new(tape: Tape, result: &States, gradient: Vec<f32>) -> Self {
        let mut gradients = vec![None; tape.nodes()];
        gradients[result.node] = Some(gradient);
        Self { tape, gradients }
    }

    /// Undoes the last step; `None` after the first.
    pub(crate) fn step(&mut self) -> Option<Terms> {
        let number = self.tape.operations.len();
        let operation = self.tape.operations.pop()?;
        // A state that the result does not depend on has no gradient, and its parameters get none.
        let Some(gradient) = self.gradients[operation.out].take() else { return Some(Terms::default()) };
        Some(self.undo(operation.kind, number, gradient))
    }

    fn undo(&mut self, kind: Kind, number: usize, mut gradient: Vec<f32>) -> Terms {
        match kind {
            Kind::Embed { rows, tables, normed } => {
                let width = self.tape.weights.values(normed.norm.weight).len();
                self.tape.drop_out(Rate::Hidden, number, &mut gradient, width);
                let norm = self.denormalize(normed, &mut gradient);
                let tables = Some(TableTerms { tables, rows, delta: gradient });
                Terms { norm: Some(norm), tables, ..Terms::default() }
            }
            Kind::Project { x, input, layer, activation, before } => {
                if let Some(before) = before.filter(|_| activation != Activation::Identity) {
                    simd::dispatch(Derive { activation, x: &before, gradient: &mut gradient });
                }
                let mut below = self.input_gradient(layer, &gradient);
                if x.node != input {
                    self.tape.drop_out(Rate::Classifier, number, &mut below, x.width);
                }
                self.add(input, below);
                let linear = Some(LinearTerms { layer, x: x.values, delta: gradient });
                Terms { linear, ..Terms::default() }
            }
            Kind::Prefix { qkv, width, prefix } => {
                let kept = width - prefix.columns.len();
                let mut delta = Vec::new();
                for (token, _) in prefix_rows(&self.tape.sequences, prefix.rows) {
                    let replaced = &mut gradient[token * width..(token + 1) * width][kept..];
                    delta.extend_from_slice(replaced);
                    replaced.fill(0.0);
                }
                self.add(qkv, gradient);
                Terms { prefix: Some(PrefixTerms { prefix, delta }), ..Terms::default() }
            }
            Kind::Attend { qkv, shape } => {
                let hidden = shape.hidden();
                let mut out = vec![0.0; qkv.values.len()];
                let mut buffers = std::mem::take(&mut self.tape.buffers);
                for (index, tokens) in self.tape.sequences.ranges().enumerate() {
                    if tokens.is_empty() {
                        continue;
                    }
                    let part = tokens.start * 3 * hidden..tokens.end * 3 * hidden;
                    let mask = self.tape.mask(Rate::Attention, index, number);
                    simd::dispatch(AttendBack {
                        sequence: Sequence { shape, qkv: &qkv.values[part.clone()], mask },
                        gradient: &gradient[tokens.start * hidden..tokens.end * hidden],
                        out: &mut out[part],
                        buffers: &mut buffers,
                    });
                }
                self.tape.buffers = buffers;
                self.add(qkv.node, out);
                Terms::default()
            }
            Kind::Close { x, layer, residual, normed } => {
                let norm = Some(self.denormalize(normed, &mut gradient));
                let width = self.tape.weights.linears[layer].outputs;
                let mut delta = gradient.clone();
                self.add(residual, gradient);
                if self.tape.weights.linears[layer].drops_output {
                    self.tape.drop_out(Rate::Hidden, number, &mut delta, width);
                }
                let below = self.input_gradient(layer, &delta);
                self.add(x.node, below);
                Terms { linear: Some(LinearTerms { layer, x: x.values, delta }), norm, ..Terms::default() }
            }
            Kind::Pool { x, poolings, skipped } => {
                let mut out = vec![0.0; x.values.len()];
                let mut gradients = gradient.chunks_exact(x.width);
                for tokens in self.tape.sequences.ranges() {
                    let start = (tokens.start + skipped).min(tokens.end);
                    let part = start * x.width..tokens.end * x.width;
                    for (&pooling, gradient) in poolings.iter().zip(&mut gradients) {
                        let rows = &x.values[part.clone()];
                        super::pool::backward(pooling, rows, skipped, gradient, &mut out[part.clone()]);
                    }
                }
                self.add(x.node, out);
                Terms::default()
            }
            Kind::Truncate { x, from, to } => {
                let mut out = vec![0.0; gradient.len() / to * from];
                for (out, row) in out.chunks_exact_mut(from).zip(gradient.chunks_exact(to)) {
                    out[..to].copy_from_slice(row);
                }
                self.add(x, out);
                Terms::default()
            }
            Kind::Unit { x, out, lengths } => {
                let rows = gradient.chunks_exact_mut(out.width).zip(out.values.chunks_exact(out.width));
                for ((gradient, unit), length) in rows.zip(lengths) {
                    let along: f64 =
                        gradient.iter().zip(unit).map(|(&g, &u)| f64::from(g) * f64::from(u)).sum();
                    for (gradient, &unit) in gradient.iter_mut().zip(unit) {
                        let across = f64::from(*gradient) - along * f64::from(unit);
                        *gradient = (across / f64::from(length)) as f32;
                    }
                }
                self.add(x, gradient);
                Terms::default()
            }
        }
    }

    /// Adds to the gradient of a state.
    fn add(&mut self, node: usize, gradient: Vec<f32>) {
        match &mut self.gradients[node] {
            Some(sum) => sum.iter_mut().zip(gradient).for_each(|(sum, x)| *sum += x),
            empty => *empty = Some(gradient),
        }
    }

    fn denormalize(&self, normed: Normed, gradient: &mut [f32]) -> NormTerms {
        let Normed { norm, normal, scales } = normed;
        let terms = NormTerms { norm, gradient: gradient.to_vec(), normal };
        let weight = self.tape.weights.values(norm.weight);
        simd::dispatch(Denormalize { gradient, weight, normal: &terms.normal, scales: &scales });
        terms
    }

    /// The gradient of a linear layer's input.
    fn input_gradient(&self, layer: usize, delta: &[f32]) -> Vec<f32> {
        let layer = &self.tape.weights.linears[layer];
        let mut out = vec![0.0; delta.len() / layer.outputs * layer.inputs];
        let (depth, panels) = (layer.outputs, &layer.backward);
        simd::dispatch(Multiply { x: delta, depth, panels, bias: None, out: &mut out });
        out
    }
}
