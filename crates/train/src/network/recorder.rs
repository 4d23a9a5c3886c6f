//! The backend that records: the model's steps on the CPU in f32, with dropout, and what their gradients
//! need.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Mutex;

use toller_ir::locked;
use toller_nn::{
    Activation, AttentionParameters, Backend, Closing, LinearParameters, Matrix, NnError, NormParameters,
    NormPlacement, Place, Pooling, Prefix, Sequences, Stream, Work,
};
use toller_simd as simd;

use super::masks::Rate;
use super::tape::{Kind, Norm, Normed, PrefixPlace, States, Tape, prefix_rows};
use super::unsupported;
use super::weights::{Linear, Parameter, TensorName, Weights};
use crate::kernels::activation::Activate;
use crate::kernels::attention::{Attend, Sequence, Shape};
use crate::kernels::linear::Multiply;
use crate::kernels::norm::Normalize;
use crate::kernels::product::Panels;

/// Collects the parameters while a model is loaded, and records its steps.
#[derive(Default)]
pub struct Recorder {
    loading: Mutex<Loading>,
}

#[derive(Default)]
struct Loading {
    /// The tensors of the next layout.
    named: Vec<TensorName>,
    weights: Weights,
}

/// A batch: the rows of the tables, and where sequences begin.
pub struct Batch {
    rows: Vec<Vec<u32>>,
    sequences: Sequences,
}

/// A table of embeddings: its parameter and width.
pub struct Table {
    parameter: usize,
    width: usize,
}

impl Recorder {
    /// The parameters of the model that was loaded.
    pub fn take_weights(&self) -> Weights {
        let mut weights = std::mem::take(&mut self.lock().weights);
        weights.freeze_around_prefix();
        weights.pack();
        weights
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Loading> {
        locked(&self.loading)
    }
}

impl Loading {
    /// Adds a parameter that consists of the named tensors which `is_part` chooses.
    fn add(
        &mut self,
        values: &[f32],
        decays: bool,
        is_part: impl Fn(usize, &TensorName) -> bool,
    ) -> Result<usize, NnError> {
        let parts = self.named.iter().enumerate().filter(|(index, tensor)| is_part(*index, tensor));
        let tensors: Vec<_> = parts.map(|(_, tensor)| tensor.clone()).collect();
        if tensors.iter().map(TensorName::len).sum::<usize>() != values.len() {
            return Err(NnError::Shape(format!("{} values of tensors {tensors:?}", values.len())));
        }
        self.weights.parameters.push(Parameter { tensors, values: values.to_vec(), decays, frozen: false });
        Ok(self.weights.parameters.len() - 1)
    }
}

/// Normalises rows in place, and returns what the backward pass needs.
fn normalize(weights: &Weights, norm: Norm, values: &mut Vec<f32>) -> Normed {
    let weight = weights.values(norm.weight);
    let mut out = vec![0.0; values.len()];
    let mut normal = vec![0.0; values.len()];
    let mut scales = vec![0.0; values.len() / weight.len()];
    simd::dispatch(Normalize {
        x: values,
        weight,
        bias: norm.bias.map(|bias| weights.values(bias)),
        epsilon: norm.epsilon,
        normal: &mut normal,
        scales: &mut scales,
        out: &mut out,
    });
    *values = out;
    Normed { norm, normal, scales }
}

/// `x W^T + b`.
fn multiply(weights: &Weights, x: &[f32], layer: usize) -> Vec<f32> {
    let layer = &weights.linears[layer];
    let mut out = vec![0.0; x.len() / layer.inputs * layer.outputs];
    simd::dispatch(Multiply {
        x,
        depth: layer.inputs,
        panels: &layer.forward,
        bias: layer.bias.map(|bias| weights.values(bias)),
        out: &mut out,
    });
    out
}

impl Backend for Recorder {
    type Batch = Batch;
    type States = States;
    type Scratch = Tape;
    type Table = Table;
    type Linear = usize;
    type Gated = Infallible;
    type Norm = Norm;
    type Attention = Shape;

    fn work(&self) -> Work {
        Work {
            batch_tokens: 512,
            least_tokens: 512,
            sessions: rayon::current_num_threads(),
            uses_threads: true,
        }
    }

    fn scratch(&self) -> Tape {
        Tape::new(Default::default(), None, 0, false)
    }

    fn name_tensor(&self, folder: &Path, tensor: &str, shape: &[usize]) {
        self.lock().named.push(TensorName::new(folder, tensor, shape));
    }

    fn table(&self, table: Matrix<'_>) -> Result<Table, NnError> {
        let mut loading = self.lock();
        let parameter = loading.add(table.values, true, |_, _| true)?;
        loading.named.clear();
        Ok(Table { parameter, width: table.columns })
    }

    fn linear(&self, layer: LinearParameters<'_>, place: Place) -> Result<usize, NnError> {
        let mut loading = self.lock();
        let weight = loading.add(layer.weight.values, true, |_, tensor| tensor.shape.len() == 2)?;
        let bias = layer
            .bias
            .map(|bias| loading.add(bias, false, |_, tensor| tensor.shape.len() == 1))
            .transpose()?;
        loading.named.clear();
        let (outputs, inputs) = (layer.outputs(), layer.inputs());
        let (forward, backward) = (Panels::default(), Panels::default());
        let (drops_input, drops_output) = (false, true);
        loading.weights.linears.push(Linear {
            weight,
            bias,
            outputs,
            inputs,
            forward,
            backward,
            place,
            drops_input,
            drops_output,
        });
        Ok(loading.weights.linears.len() - 1)
    }

    fn gated(&self, _: LinearParameters<'_>, _: LinearParameters<'_>) -> Result<Infallible, NnError> {
        Err(unsupported("a gated feed-forward network"))
    }

    fn norm(&self, norm: NormParameters<'_>) -> Result<Norm, NnError> {
        if !norm.centers {
            return Err(unsupported("a norm that does not center"));
        }
        let mut loading = self.lock();
        let weight = loading.add(norm.weight, false, |index, _| index == 0)?;
        let bias = norm.bias.map(|bias| loading.add(bias, false, |index, _| index == 1)).transpose()?;
        loading.named.clear();
        Ok(Norm { weight, bias, epsilon: norm.epsilon })
    }

    fn attention(&self, attention: AttentionParameters<'_>) -> Result<Shape, NnError> {
        let AttentionParameters { heads, key_heads, head_size, .. } = attention;
        if attention.rotary.is_some() {
            return Err(unsupported("a model with rotary positions"));
        }
        if attention.relative_bias.is_some() {
            return Err(unsupported("a model with relative positions"));
        }
        if attention.before.is_some() || attention.after.is_some() || heads != key_heads {
            return Err(unsupported("attention to a part of the sequence, or with shared keys,"));
        }
        Ok(Shape { heads, head_size })
    }

    fn batch(&self, rows: Vec<Vec<u32>>, sequences: Sequences) -> Result<Batch, NnError> {
        Ok(Batch { rows, sequences })
    }

    fn embed(
        &self,
        tape: &mut Tape,
        batch: &Batch,
        tables: &[Table],
        norm: &Norm,
        placement: NormPlacement,
    ) -> Result<Stream<States>, NnError> {
        if placement != NormPlacement::After {
            return Err(unsupported("a model with norms before attention"));
        }
        tape.sequences = batch.sequences.clone();
        let step = tape.begin();
        let width = tables.first().map_or(0, |table| table.width);
        let mut values = vec![0.0; batch.sequences.tokens() * width];
        for (table, rows) in tables.iter().zip(&batch.rows) {
            let table = tape.weights.values(table.parameter);
            for (&row, sum) in rows.iter().zip(values.chunks_exact_mut(width)) {
                let start = row as usize * width;
                let row = table.get(start..start + width);
                let row = row.ok_or_else(|| {
                    NnError::Shape(format!("row {} of a table of {}", start / width, table.len() / width))
                })?;
                sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
            }
        }
        let normed = normalize(&tape.weights, *norm, &mut values);
        tape.drop_out(Rate::Hidden, step, &mut values, width);
        let out = tape.states(values, width);
        let tables = || tables.iter().map(|table| table.parameter).collect();
        tape.record(&out, || Kind::Embed { rows: batch.rows.clone(), tables: tables(), normed });
        Ok(out.into())
    }

    fn project(
        &self,
        tape: &mut Tape,
        x: &States,
        layer: &usize,
        activation: Activation,
    ) -> Result<States, NnError> {
        let step = tape.begin();
        let input = x.node;
        let mut x = x.clone();
        if tape.weights.linears[*layer].drops_input && tape.mask(Rate::Classifier, 0, step).is_some() {
            let mut values = x.values.to_vec();
            tape.drop_out(Rate::Classifier, step, &mut values, x.width);
            x = tape.states(values, x.width);
        }
        let before = multiply(&tape.weights, &x.values, *layer);
        let width = tape.weights.linears[*layer].outputs;
        let (before, values) = if activation == Activation::Identity {
            (None, before)
        } else {
            let mut values = vec![0.0; before.len()];
            simd::dispatch(Activate { activation, x: &before, out: &mut values });
            (Some(before), values)
        };
        let out = tape.states(values, width);
        tape.record(&out, || Kind::Project { x, input, layer: *layer, activation, before });
        Ok(out)
    }

    fn gate(&self, _: &mut Tape, _: &States, layer: &Infallible, _: Activation) -> Result<States, NnError> {
        match *layer {}
    }

    fn put_prefix(
        &self,
        tape: &mut Tape,
        qkv: States,
        batch: &Batch,
        attention: &Shape,
        prefix: Prefix<'_, Table>,
    ) -> Result<States, NnError> {
        tape.begin();
        let (hidden, table) = (attention.hidden(), prefix.table);
        let start = prefix.layer * 2 * hidden;
        let rows = tape.weights.values(table.parameter).len() / table.width;
        let (parameter, width) = (table.parameter, table.width);
        let prefix = PrefixPlace { parameter, width, columns: start..start + 2 * hidden, rows };
        let mut values = qkv.values.to_vec();
        let table = tape.weights.values(parameter);
        prefix_rows(&batch.sequences, rows).for_each(|(token, row)| {
            let from = &table[row * width..][prefix.columns.clone()];
            values[token * qkv.width..][hidden..3 * hidden].copy_from_slice(from);
        });
        let out = tape.states(values, qkv.width);
        tape.record(&out, || Kind::Prefix { qkv: qkv.node, width: qkv.width, prefix });
        Ok(out)
    }

    fn attend(
        &self,
        tape: &mut Tape,
        qkv: States,
        batch: &Batch,
        attention: &Shape,
        head_norms: Option<&[Norm; 2]>,
    ) -> Result<States, NnError> {
        if head_norms.is_some() {
            return Err(unsupported("a model with norms of queries and keys"));
        }
        let (shape, hidden) = (*attention, attention.hidden());
        let step = tape.begin();
        let mut values = vec![0.0; batch.sequences.tokens() * hidden];
        let mut buffers = std::mem::take(&mut tape.buffers);
        for (index, tokens) in batch.sequences.ranges().enumerate().filter(|(_, tokens)| !tokens.is_empty()) {
            let qkv = &qkv.values[3 * hidden * tokens.start..3 * hidden * tokens.end];
            let sequence = Sequence { shape, qkv, mask: tape.mask(Rate::Attention, index, step) };
            let out = &mut values[tokens.start * hidden..tokens.end * hidden];
            simd::dispatch(Attend { sequence, out, buffers: &mut buffers });
        }
        tape.buffers = buffers;
        let out = tape.states(values, hidden);
        tape.record(&out, || Kind::Attend { qkv, shape });
        Ok(out)
    }

    fn close(
        &self,
        tape: &mut Tape,
        x: States,
        closing: Closing<'_, usize, Norm>,
        residual: States,
    ) -> Result<Stream<States>, NnError> {
        let Closing { layer, inner_norm: None, norm: Some(norm), placement: NormPlacement::After } = closing
        else {
            return Err(unsupported("a model with norms before attention"));
        };
        let step = tape.begin();
        let mut values = multiply(&tape.weights, &x.values, *layer);
        if tape.weights.linears[*layer].drops_output {
            tape.drop_out(Rate::Hidden, step, &mut values, residual.width);
        }
        values.iter_mut().zip(residual.values.iter()).for_each(|(sum, x)| *sum += x);
        let normed = normalize(&tape.weights, *norm, &mut values);
        let out = tape.states(values, residual.width);
        tape.record(&out, || Kind::Close { x, layer: *layer, residual: residual.node, normed });
        Ok(out.into())
    }

    fn normalize(&self, _: &mut Tape, _: States, _: &Norm) -> Result<States, NnError> {
        Err(unsupported("a norm by itself"))
    }

    fn pool(
        &self,
        tape: &mut Tape,
        x: &States,
        batch: &Batch,
        poolings: &[Pooling],
        skipped: usize,
    ) -> Result<States, NnError> {
        tape.begin();
        let mut values = Vec::with_capacity(batch.sequences.count() * poolings.len() * x.width);
        for tokens in batch.sequences.ranges() {
            let start = (tokens.start + skipped).min(tokens.end);
            let rows = &x.values[start * x.width..tokens.end * x.width];
            for &pooling in poolings {
                values.extend(super::pool::forward(pooling, rows, x.width, skipped));
            }
        }
        let out = tape.states(values, poolings.len() * x.width);
        tape.record(&out, || Kind::Pool { x: x.clone(), poolings: poolings.to_vec(), skipped });
        Ok(out)
    }

    fn truncate(&self, tape: &mut Tape, x: States, width: usize) -> Result<States, NnError> {
        tape.begin();
        let values = x.values.chunks_exact(x.width).flat_map(|row| row[..width].to_vec()).collect();
        let out = tape.states(values, width);
        tape.record(&out, || Kind::Truncate { x: x.node, from: x.width, to: width });
        Ok(out)
    }

    fn unit(&self, tape: &mut Tape, x: States) -> Result<States, NnError> {
        tape.begin();
        let mut values = x.values.to_vec();
        let mut lengths = Vec::new();
        for row in values.chunks_exact_mut(x.width) {
            let square: f64 = row.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
            // PyTorch's `normalize` divides by at least this.
            let length = square.sqrt().max(1e-12);
            row.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
            lengths.push(length as f32);
        }
        let out = tape.states(values, x.width);
        tape.record(&out, || Kind::Unit { x: x.node, out: out.clone(), lengths });
        Ok(out)
    }

    fn to_host(&self, _: &mut Tape, x: States, host: &mut Vec<f32>) -> Result<(), NnError> {
        host.extend_from_slice(&x.values);
        Ok(())
    }
}
