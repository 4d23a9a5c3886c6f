//! The transformer on the CPU, over sixteen lanes.
//!
//! A batch runs on one thread from the first layer to the last, and threads take batches in turn: no
//! barriers, and states that stay in a core's cache. Where there are fewer batches than threads, the products
//! of one batch are divided by columns and its attention by heads: an output is the same chain of operations
//! wherever it is computed, so its bits do not change.

mod scratch;

use toller_simd::{self as simd, Isa, LANES};

pub(crate) use self::scratch::{CpuScratch, CpuStates, Output, Part};
use crate::attention::Attention;
use crate::attention::cpu::Call;
use crate::backend::{Backend, Closing, Prefix, Stream, Work};
use crate::embed::{self, HostBatch, Table};
use crate::gated_linear::{GatedLinear as GatedCall, interleave};
use crate::linear::cpu::Linear as LinearCall;
use crate::linear::{Int8Weight, Weight};
use crate::norm::cpu::{Norm, Normalize};
use crate::profile::{Operation, timer};
use crate::{
    Activation, AttentionParameters, LinearParameters, Matrix, NnError, NormParameters, NormPlacement, Place,
    Pooling, Precision, Sequences, norm, prefix, unit,
};

/// The tokens of a flat batch. On one thread and a hundred SciFact passages, 512, 1,024, 2,048 and 4,096 gave
/// the same rate within the machine's noise. A small batch keeps the states in the cache and the memory low.
const BATCH_TOKENS: usize = 1024;

/// A batch of fewer tokens is faster on several threads than divided into several batches.
const LEAST_TOKENS: usize = 128;

/// Multiplications and additions below which a product is not divided among threads: it takes some ten
/// microseconds.
const LEAST_PER_THREAD: usize = 1 << 20;

/// The CPU, in one precision.
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    precision: Precision,
    isa: Isa,
}

/// A linear layer, its weight packed for the register tile.
pub struct CpuLinear {
    weight: Weight,
    /// `[outputs]`, padded with zeros to whole vectors; empty for none.
    bias: Vec<f32>,
}

/// A gated linear layer, its halves in turns of sixteen columns.
pub struct CpuGated {
    weight: Weight,
    /// Interleaved like the weight; empty for none.
    bias: Vec<f32>,
    columns: usize,
}

impl Cpu {
    /// The CPU with the best instruction set that it has, multiplying in `precision`.
    #[must_use]
    pub fn new(precision: Precision) -> Self {
        Self::with_isa(precision, Isa::active())
    }

    /// The same on an instruction set of [`Isa::available`].
    pub(crate) fn with_isa(precision: Precision, isa: Isa) -> Self {
        Self { precision, isa }
    }

    /// The precision of a layer. In bf16, only the layer that ends a feed-forward network multiplies in bf16:
    /// this layer costs the least accuracy for the time that it saves. With every layer in bf16 a text of the
    /// golden MiniLM was off by 1.07e-2, where 1e-2 is promised; with this one and attention, by 5.7e-3
    /// (benches/results/encode.md has the error of each part).
    fn precision_at(&self, place: Place) -> Precision {
        match (place, self.precision) {
            (Place::Head | Place::TokenHead, _) | (Place::Inner, Precision::Bf16) => Precision::F32,
            (Place::Inner | Place::Down, precision) => precision,
        }
    }

    fn weight(&self, matrix: &[f32], rows: usize, columns: usize, place: Place) -> Result<Weight, NnError> {
        let precision = self.precision_at(place);
        if precision == Precision::Int8 && columns > Int8Weight::LONGEST {
            return Err(NnError::Int8Depth { depth: columns, max: Int8Weight::LONGEST });
        }
        Ok(Weight::new(matrix, rows, columns, precision))
    }

    fn multiply(
        &self,
        scratch: &mut CpuScratch,
        x: &CpuStates,
        layer: &CpuLinear,
        residual: Option<&[f32]>,
        activation: Activation,
    ) -> Result<CpuStates, NnError> {
        let CpuLinear { weight, bias } = layer;
        let (rows, columns) = (x.rows(), weight.columns());
        check_width("a linear layer", x.width(), weight.depth())?;
        let operations = 2 * rows * weight.depth() * columns;
        let _timer = timer(Operation::Linear, operations);
        let mut out = scratch.take(rows, columns);
        let call = LinearCall { x: x.values(), rows, weight, bias, residual, activation };
        let target = Output::of(out.values_mut());
        scratch.divided(operations / LEAST_PER_THREAD, |part, buffers| {
            call.run(self.isa, part, target, &mut buffers.conversions);
        });
        Ok(out)
    }

    /// A sum and its norm, as the next half of a layer takes them.
    fn place_norm(
        &self,
        scratch: &mut CpuScratch,
        sum: CpuStates,
        norm: &Norm,
        placement: NormPlacement,
    ) -> Result<Stream<CpuStates>, NnError> {
        if placement == NormPlacement::After {
            return Ok(self.normalize(scratch, sum, norm)?.into());
        }
        check_width("a norm", sum.width(), norm.width())?;
        let _timer = timer(Operation::LayerNorm, 0);
        let mut normed = scratch.take(sum.rows(), sum.width());
        let kernel = Normalize { norm, x: Some(sum.values()), out: normed.values_mut() };
        simd::dispatch_on(self.isa, kernel);
        Ok(Stream { residual: sum, normed: Some(normed) })
    }
}

/// Checks that states of width `found` have the width that a step takes.
pub(crate) fn check_width(step: &str, found: usize, width: usize) -> Result<(), NnError> {
    if found == width {
        return Ok(());
    }
    Err(NnError::Shape(format!("{step} of width {width} over states of width {found}")))
}

/// Checks that a layer takes inputs, and that its values have its shape.
pub(crate) fn check_linear(layer: &LinearParameters<'_>) -> Result<(), NnError> {
    let Matrix { values, rows, columns } = layer.weight;
    let has_shape = values.len() == rows * columns && layer.bias.is_none_or(|bias| bias.len() == rows);
    if columns > 0 && has_shape {
        return Ok(());
    }
    Err(NnError::Shape(format!("a linear layer [{rows}, {columns}] whose values have another shape")))
}

/// Checks that both halves of a gated layer have the same shape.
pub(crate) fn check_gated(
    activated: &LinearParameters<'_>,
    linear: &LinearParameters<'_>,
) -> Result<(), NnError> {
    check_linear(activated)?;
    check_linear(linear)?;
    let shape = |layer: &LinearParameters<'_>| (layer.outputs(), layer.inputs(), layer.bias.is_some());
    if shape(activated) == shape(linear) {
        return Ok(());
    }
    Err(NnError::Shape("the halves of a gated layer have different shapes".to_owned()))
}

impl Backend for Cpu {
    type Batch = HostBatch;
    type States = CpuStates;
    type Scratch = CpuScratch;
    type Table = Table;
    type Linear = CpuLinear;
    type Gated = CpuGated;
    type Norm = Norm;
    type Attention = Attention;

    fn shares_beginnings(&self) -> bool {
        true
    }

    fn work(&self) -> Work {
        Work {
            batch_tokens: BATCH_TOKENS,
            least_tokens: LEAST_TOKENS,
            sessions: rayon::current_num_threads(),
            uses_threads: true,
        }
    }

    fn scratch(&self) -> CpuScratch {
        CpuScratch::default()
    }

    fn use_threads(&self, scratch: &mut CpuScratch, threads: usize) {
        scratch.use_threads(threads);
    }

    fn release(&self, scratch: &mut CpuScratch, states: CpuStates) {
        scratch.give_back(states);
    }

    fn table(&self, table: Matrix<'_>) -> Result<Table, NnError> {
        Table::new(table)
    }

    fn linear(&self, layer: LinearParameters<'_>, place: Place) -> Result<CpuLinear, NnError> {
        check_linear(&layer)?;
        let Matrix { values, rows, columns } = layer.weight;
        let mut bias = layer.bias.map(<[f32]>::to_vec).unwrap_or_default();
        bias.resize(bias.len().next_multiple_of(LANES), 0.0);
        Ok(CpuLinear { weight: self.weight(values, rows, columns, place)?, bias })
    }

    fn gated(
        &self,
        activated: LinearParameters<'_>,
        linear: LinearParameters<'_>,
    ) -> Result<CpuGated, NnError> {
        check_gated(&activated, &linear)?;
        let (columns, depth) = (activated.outputs(), activated.inputs());
        let rows = interleave(activated.weight.values, linear.weight.values, columns, depth);
        let bias = match (activated.bias, linear.bias) {
            (Some(activated), Some(linear)) => interleave(activated, linear, columns, 1),
            _ => Vec::new(),
        };
        let width = columns.next_multiple_of(LANES) * 2;
        Ok(CpuGated { weight: self.weight(&rows, width, depth, Place::Inner)?, bias, columns })
    }

    fn norm(&self, parameters: NormParameters<'_>) -> Result<Norm, NnError> {
        norm::check(&parameters)?;
        let NormParameters { weight, bias, epsilon, centers } = parameters;
        let bias = bias.map_or_else(|| vec![0.0; weight.len()], <[f32]>::to_vec);
        Ok(Norm { weight: weight.to_vec(), bias, epsilon, centers })
    }

    fn attention(&self, attention: AttentionParameters<'_>) -> Result<Attention, NnError> {
        Attention::new(attention)
    }

    fn batch(&self, rows: Vec<Vec<u32>>, sequences: Sequences) -> Result<HostBatch, NnError> {
        Ok(HostBatch { rows, sequences })
    }

    fn embed(
        &self,
        scratch: &mut CpuScratch,
        batch: &HostBatch,
        tables: &[Table],
        norm: &Norm,
        placement: NormPlacement,
    ) -> Result<Stream<CpuStates>, NnError> {
        let width = embed::width(tables, &batch.rows)?;
        let mut sum = scratch.take(batch.sequences.tokens(), width);
        embed::embed(tables, &batch.rows, sum.values_mut())?;
        self.place_norm(scratch, sum, norm, placement)
    }

    fn project(
        &self,
        scratch: &mut CpuScratch,
        x: &CpuStates,
        layer: &CpuLinear,
        activation: Activation,
    ) -> Result<CpuStates, NnError> {
        self.multiply(scratch, x, layer, None, activation)
    }

    fn gate(
        &self,
        scratch: &mut CpuScratch,
        x: &CpuStates,
        layer: &CpuGated,
        activation: Activation,
    ) -> Result<CpuStates, NnError> {
        let CpuGated { weight, bias, columns } = layer;
        check_width("a gated layer", x.width(), weight.depth())?;
        let operations = 2 * x.rows() * weight.depth() * weight.columns();
        let _timer = timer(Operation::Linear, operations);
        let mut out = scratch.take(x.rows(), *columns);
        let call = GatedCall { x: x.values(), rows: x.rows(), weight, bias, activation, columns: *columns };
        let target = Output::of(out.values_mut());
        scratch.divided(operations / LEAST_PER_THREAD, |part, buffers| {
            call.run(self.isa, part, target, &mut buffers.conversions);
        });
        Ok(out)
    }

    fn put_prefix(
        &self,
        _: &mut CpuScratch,
        mut qkv: CpuStates,
        batch: &HostBatch,
        attention: &Attention,
        prefix: Prefix<'_, Table>,
    ) -> Result<CpuStates, NnError> {
        let width = qkv.width();
        prefix::put((qkv.values_mut(), width), &batch.sequences, attention, &prefix)?;
        Ok(qkv)
    }

    fn attend(
        &self,
        scratch: &mut CpuScratch,
        qkv: CpuStates,
        batch: &HostBatch,
        attention: &Attention,
        head_norms: Option<&[Norm; 2]>,
    ) -> Result<CpuStates, NnError> {
        check_width("attention", qkv.width(), attention.input_width())?;
        for norm in head_norms.into_iter().flatten() {
            check_width("a norm of heads", attention.head_size, norm.width())?;
        }
        let sequences = &batch.sequences;
        let longest = sequences.parts().map(|(before, own)| before.len() + own.len()).max().unwrap_or(0);
        let rotary = attention.rotary.as_ref().map(|rotary| rotary.table(longest));
        let operations = attention.operations(sequences);
        let _timer = timer(Operation::Attention, operations);
        let mut out = scratch.take(qkv.rows(), attention.output_width());
        let call = Call { attention, qkv: qkv.values(), sequences, head_norms, rotary: rotary.as_deref() };
        let target = Output::of(out.values_mut());
        scratch.divided(operations / LEAST_PER_THREAD, |part, buffers| {
            call.run(self.isa, self.precision, part, target, &mut buffers.attention);
        });
        scratch.give_back(qkv);
        Ok(out)
    }

    fn close(
        &self,
        scratch: &mut CpuScratch,
        x: CpuStates,
        Closing { layer, inner_norm, norm, placement }: Closing<'_, CpuLinear, Norm>,
        residual: CpuStates,
    ) -> Result<Stream<CpuStates>, NnError> {
        check_width("a residual", residual.width(), layer.weight.columns())?;
        let added = inner_norm.is_none().then_some(residual.values());
        let mut sum = self.multiply(scratch, &x, layer, added, Activation::Identity)?;
        scratch.give_back(x);
        if let Some(norm) = inner_norm {
            sum = self.normalize(scratch, sum, norm)?;
            sum.values_mut().iter_mut().zip(residual.values()).for_each(|(sum, x)| *sum += x);
        }
        scratch.give_back(residual);
        match norm {
            Some(norm) => self.place_norm(scratch, sum, norm, placement),
            None => Ok(sum.into()),
        }
    }

    fn normalize(&self, _: &mut CpuScratch, mut x: CpuStates, norm: &Norm) -> Result<CpuStates, NnError> {
        check_width("a norm", x.width(), norm.width())?;
        let _timer = timer(Operation::LayerNorm, 0);
        simd::dispatch_on(self.isa, Normalize { norm, x: None, out: x.values_mut() });
        Ok(x)
    }

    fn pool(
        &self,
        scratch: &mut CpuScratch,
        x: &CpuStates,
        batch: &HostBatch,
        poolings: &[Pooling],
        skipped: usize,
    ) -> Result<CpuStates, NnError> {
        let _timer = timer(Operation::Pooling, 0);
        let (width, sequences) = (x.width(), &batch.sequences);
        let mut out = scratch.take(sequences.count(), poolings.len() * width);
        let targets = out.values_mut().chunks_exact_mut(width.max(1));
        let every = sequences
            .ranges()
            .flat_map(|tokens| poolings.iter().map(move |pooling| (tokens.clone(), pooling)));
        for ((tokens, pooling), target) in every.zip(targets) {
            let start = (tokens.start + skipped).min(tokens.end);
            pooling.pool(&x.values()[start * width..tokens.end * width], skipped, target);
        }
        Ok(out)
    }

    fn truncate(&self, scratch: &mut CpuScratch, x: CpuStates, width: usize) -> Result<CpuStates, NnError> {
        let mut out = scratch.take(x.rows(), width);
        let rows = x.values().chunks_exact(x.width().max(1));
        for (row, out) in rows.zip(out.values_mut().chunks_exact_mut(width.max(1))) {
            out.copy_from_slice(&row[..width]);
        }
        scratch.give_back(x);
        Ok(out)
    }

    fn unit(&self, _: &mut CpuScratch, mut x: CpuStates) -> Result<CpuStates, NnError> {
        let _timer = timer(Operation::Pooling, 0);
        let width = x.width();
        unit::unit(x.values_mut(), width);
        Ok(x)
    }

    fn to_host(&self, scratch: &mut CpuScratch, x: CpuStates, host: &mut Vec<f32>) -> Result<(), NnError> {
        host.extend_from_slice(x.values());
        scratch.give_back(x);
        Ok(())
    }
}
