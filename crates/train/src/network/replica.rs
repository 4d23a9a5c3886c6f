//! A network on one of candle's devices: the steps of the recorder, with gradients by candle.

use std::convert::Infallible;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use toller_encoder::{EncoderError, Network};
use toller_nn::candle_core::{self, Tensor, Var};
use toller_nn::{
    Activation, AttentionParameters, Backend, Candle, CandleAttention, CandleBatch, CandleLinear, CandleNorm,
    Closing, LinearParameters, Matrix, NnError, NormParameters, NormPlacement, Place, Pooling, Prefix,
    Sequences, Stream, Work,
};
use toller_simd as simd;

use super::masks::{Masks, Rate};
use super::weights::{Parameter, Weights};
use super::{Texts, unsupported};
use crate::dropout::{Apply, Dropout, Places};

/// A network on a device, whose variables follow the parameters of its tower.
pub(crate) struct Replica {
    network: Network<OnDevice>,
    variables: Vec<Var>,
}

/// The gradients of a replica's variables so far; `None` for those that have none.
pub(crate) type Sums = Vec<Option<Tensor>>;

impl Replica {
    /// Takes the variables of a network, which belong to these weights in their order. It has dropout in
    /// these places.
    ///
    /// # Errors
    /// When the variables are not as many, or not as large, as the weights' parameters.
    pub(crate) fn new(
        network: Network<OnDevice>,
        weights: &Weights,
        dropped: Places,
    ) -> Result<Self, EncoderError> {
        let OnDevice { candle, layers, dropped: places } = network.backend();
        places.get_or_init(|| (dropped, layers.load(Ordering::Relaxed)));
        let variables = candle.variables();
        let found: Vec<usize> = variables.iter().map(|variable| variable.elem_count()).collect();
        let expected: Vec<usize> = weights.parameters().iter().map(|of| of.values.len()).collect();
        if found != expected {
            let what = "parameters on a device that are not those of the network";
            return Err(NnError::Shape(format!("{what}: {found:?} values, not {expected:?}")).into());
        }
        Ok(Self { network, variables })
    }

    /// The rows of the network's result, with the way back.
    pub(crate) fn forward(&self, texts: Texts<'_>, dropout: Option<Dropout>) -> Result<Tensor, EncoderError> {
        let masks = Masks::new(dropout, texts.first);
        let mut pass = Pass { masks, sequences: Sequences::from_lengths([]) };
        self.network.forward(&mut pass, texts.tokens, texts.unpooled, 0)
    }

    /// The rows of a result on the host, appended to `rows`.
    pub(crate) fn download(&self, result: Tensor, rows: &mut Vec<f32>) -> Result<(), EncoderError> {
        Ok(self.network.backend().candle.to_host(&mut (), result, rows)?)
    }

    /// Zeros.
    pub(crate) fn sums(&self) -> Sums {
        vec![None; self.variables.len()]
    }

    /// Adds to the gradients of the variables, from those of a result's rows.
    pub(crate) fn backward(
        &self,
        result: &Tensor,
        rows: &[f32],
        sums: &mut Sums,
    ) -> Result<(), EncoderError> {
        self.add(result, rows, sums).map_err(|error| NnError::from(error).into())
    }

    fn add(&self, result: &Tensor, rows: &[f32], sums: &mut Sums) -> candle_core::Result<()> {
        let rows = Tensor::from_slice(rows, result.shape(), result.device())?;
        let mut gradients = result.mul(&rows)?.sum_all()?.backward()?;
        for (sum, variable) in sums.iter_mut().zip(&self.variables) {
            let Some(gradient) = gradients.remove(variable) else { continue };
            *sum = Some(match sum.take() {
                Some(sum) => sum.add(&gradient)?,
                None => gradient,
            });
        }
        Ok(())
    }

    /// Copies the parameters to the device.
    pub(crate) fn follow(&self, weights: &Weights) -> Result<(), EncoderError> {
        let mut pairs = self.variables.iter().zip(weights.parameters());
        let copied = pairs.try_for_each(|(variable, Parameter { values, .. })| {
            variable.set(&Tensor::from_slice(values, variable.shape(), variable.device())?)
        });
        copied.map_err(|error| NnError::from(error).into())
    }

    /// Sums on the host.
    pub(crate) fn on_host(&self, sums: Sums) -> Result<Vec<Option<Vec<f32>>>, EncoderError> {
        let values = sums.into_iter().map(|sum| sum.map(|sum| sum.flatten_all()?.to_vec1()).transpose());
        values.collect::<candle_core::Result<_>>().map_err(|error| NnError::from(error).into())
    }
}

/// candle's steps, with dropout.
pub(crate) struct OnDevice {
    candle: Candle,
    /// Linear layers that were laid out.
    layers: AtomicUsize,
    /// What is dropped, and the number of all layers, once they are laid out.
    dropped: OnceLock<(Places, usize)>,
}

/// What belongs to one forward pass.
pub(crate) struct Pass {
    masks: Masks,
    sequences: Sequences,
}

/// A batch, and where its sequences begin.
pub(crate) struct Batch {
    rows: CandleBatch,
    sequences: Sequences,
}

/// A linear layer with its number.
pub(crate) struct Layer {
    linear: CandleLinear,
    number: usize,
    place: Place,
}

impl OnDevice {
    /// On the device of `candle`.
    pub(crate) fn new(candle: Candle) -> Self {
        Self { candle: candle.with_gradients(), layers: AtomicUsize::new(0), dropped: OnceLock::new() }
    }
}

impl Pass {
    /// Applies dropout to rows that belong to sequences: to tokens, or to one row a sequence.
    fn drop_out(&self, kind: Rate, step: usize, x: Tensor) -> Result<Tensor, NnError> {
        let (rows, width) = x.dims2()?;
        let per_token = rows == self.sequences.tokens();
        let elements = |tokens: usize| if per_token { tokens * width } else { width };
        let sequences = self.sequences.ranges().map(|tokens| elements(tokens.len())).enumerate();
        self.multiply(kind, step, x, sequences)
    }

    /// Drops elements that belong to sequences: their numbers, and how many elements each has, in the order
    /// of `x`. Masks are made on the host: candle has no integers to make them of.
    fn multiply(
        &self,
        kind: Rate,
        step: usize,
        x: Tensor,
        sequences: impl Iterator<Item = (usize, usize)>,
    ) -> Result<Tensor, NnError> {
        let masks =
            sequences.map(|(sequence, elements)| Some((self.masks.mask(kind, sequence, step)?, elements)));
        let Some(masks) = masks.collect::<Option<Vec<_>>>() else { return Ok(x) };
        let mut factors = vec![1.0_f32; x.elem_count()];
        let mut rest = factors.as_mut_slice();
        let mut parts = Vec::with_capacity(masks.len());
        for (mask, elements) in masks {
            let (own, after) = rest.split_at_mut(elements);
            parts.push(Apply { mask, values: own });
            rest = after;
        }
        parts.into_par_iter().for_each(simd::dispatch);
        Ok(x.mul(&Tensor::from_vec(factors, x.shape(), x.device())?.to_dtype(x.dtype())?)?)
    }
}

impl Backend for OnDevice {
    type Batch = Batch;
    type States = Tensor;
    type Scratch = Pass;
    type Table = Tensor;
    type Linear = Layer;
    type Gated = Infallible;
    type Norm = CandleNorm;
    type Attention = CandleAttention;

    fn work(&self) -> Work {
        self.candle.work()
    }

    fn scratch(&self) -> Pass {
        Pass { masks: Masks::new(None, 0), sequences: Sequences::from_lengths([]) }
    }

    fn table(&self, table: Matrix<'_>) -> Result<Tensor, NnError> {
        self.candle.table(table)
    }

    fn linear(&self, layer: LinearParameters<'_>, place: Place) -> Result<Layer, NnError> {
        let number = self.layers.fetch_add(1, Ordering::Relaxed);
        Ok(Layer { linear: self.candle.linear(layer, place)?, number, place })
    }

    fn gated(&self, _: LinearParameters<'_>, _: LinearParameters<'_>) -> Result<Infallible, NnError> {
        Err(unsupported("a gated feed-forward network"))
    }

    fn norm(&self, norm: NormParameters<'_>) -> Result<CandleNorm, NnError> {
        self.candle.norm(norm)
    }

    fn attention(&self, attention: AttentionParameters<'_>) -> Result<CandleAttention, NnError> {
        self.candle.attention(attention)
    }

    fn batch(&self, rows: Vec<Vec<u32>>, sequences: Sequences) -> Result<Batch, NnError> {
        Ok(Batch { rows: self.candle.batch(rows, sequences.clone())?, sequences })
    }

    fn embed(
        &self,
        pass: &mut Pass,
        batch: &Batch,
        tables: &[Tensor],
        norm: &CandleNorm,
        placement: NormPlacement,
    ) -> Result<Stream<Tensor>, NnError> {
        if placement != NormPlacement::After {
            return Err(unsupported("a model with norms before attention"));
        }
        pass.sequences = batch.sequences.clone();
        let step = pass.masks.begin();
        let stream = self.candle.embed(&mut (), &batch.rows, tables, norm, placement)?;
        Ok(pass.drop_out(Rate::Hidden, step, stream.residual)?.into())
    }

    fn project(
        &self,
        pass: &mut Pass,
        x: &Tensor,
        layer: &Layer,
        activation: Activation,
    ) -> Result<Tensor, NnError> {
        let step = pass.masks.begin();
        let mut x = x.clone();
        let drops_input =
            |(places, count): &(Places, usize)| places.drops_input(layer.place, layer.number + 1 == *count);
        if self.dropped.get().is_some_and(drops_input) {
            x = pass.drop_out(Rate::Classifier, step, x)?;
        }
        self.candle.project(&mut (), &x, &layer.linear, activation)
    }

    fn gate(&self, _: &mut Pass, _: &Tensor, layer: &Infallible, _: Activation) -> Result<Tensor, NnError> {
        match *layer {}
    }

    fn put_prefix(
        &self,
        pass: &mut Pass,
        qkv: Tensor,
        batch: &Batch,
        attention: &CandleAttention,
        prefix: Prefix<'_, Tensor>,
    ) -> Result<Tensor, NnError> {
        pass.masks.begin();
        self.candle.put_prefix(&mut (), qkv, &batch.rows, attention, prefix)
    }

    fn attend(
        &self,
        pass: &mut Pass,
        qkv: Tensor,
        batch: &Batch,
        attention: &CandleAttention,
        head_norms: Option<&[CandleNorm; 2]>,
    ) -> Result<Tensor, NnError> {
        let step = pass.masks.begin();
        attention.forward(&qkv, &batch.rows, head_norms, |weights, sequences| {
            let elements = weights.elem_count() / sequences.len().max(1);
            let sequences = sequences.iter().map(|&sequence| (sequence, elements));
            pass.multiply(Rate::Attention, step, weights, sequences)
        })
    }

    fn close(
        &self,
        pass: &mut Pass,
        x: Tensor,
        closing: Closing<'_, Layer, CandleNorm>,
        residual: Tensor,
    ) -> Result<Stream<Tensor>, NnError> {
        let Closing { layer, inner_norm: None, norm: Some(norm), placement: NormPlacement::After } = closing
        else {
            return Err(unsupported("a model with norms before attention"));
        };
        let step = pass.masks.begin();
        let x = self.candle.project(&mut (), &x, &layer.linear, Activation::Identity)?;
        let drops_output = self.dropped.get().is_none_or(|(places, _)| places.drops_output(layer.place));
        let x = if drops_output { pass.drop_out(Rate::Hidden, step, x)? } else { x };
        let sum = x.add(&residual)?;
        Ok(self.candle.normalize(&mut (), sum, norm)?.into())
    }

    fn normalize(&self, _: &mut Pass, _: Tensor, _: &CandleNorm) -> Result<Tensor, NnError> {
        Err(unsupported("a norm by itself"))
    }

    fn pool(
        &self,
        pass: &mut Pass,
        x: &Tensor,
        batch: &Batch,
        poolings: &[Pooling],
        skipped: usize,
    ) -> Result<Tensor, NnError> {
        pass.masks.begin();
        self.candle.pool(&mut (), x, &batch.rows, poolings, skipped)
    }

    fn truncate(&self, pass: &mut Pass, x: Tensor, width: usize) -> Result<Tensor, NnError> {
        pass.masks.begin();
        self.candle.truncate(&mut (), x, width)
    }

    fn unit(&self, pass: &mut Pass, x: Tensor) -> Result<Tensor, NnError> {
        pass.masks.begin();
        self.candle.unit(&mut (), x)
    }

    fn to_host(&self, _: &mut Pass, x: Tensor, host: &mut Vec<f32>) -> Result<(), NnError> {
        self.candle.to_host(&mut (), x, host)
    }
}
