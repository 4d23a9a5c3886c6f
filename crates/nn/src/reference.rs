//! The transformer in f64, slow and obviously right: what other backends are compared with.

use crate::attention::{Attention, reference::attend};
use crate::backend::{Backend, Closing, Prefix, Stream, Work};
use crate::cpu::{check_gated, check_linear, check_width};
use crate::embed::{self, HostBatch, Table};
use crate::linear::reference::Linear;
use crate::norm::reference::Norm;
use crate::unit::SHORTEST;
use crate::{
    Activation, AttentionParameters, LinearParameters, Matrix, NnError, NormParameters, NormPlacement, Place,
    Pooling, Sequences, norm, prefix,
};

/// Every step one operation after the other, nothing fused, in f64.
#[derive(Clone, Copy, Debug)]
pub struct Reference;

/// A matrix of states in f64.
#[derive(Debug)]
pub struct ReferenceStates {
    pub(crate) values: Vec<f64>,
    width: usize,
}

fn in_f64(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&x| f64::from(x)).collect()
}

fn normalized(x: &ReferenceStates, norm: &Norm) -> Result<ReferenceStates, NnError> {
    check_width("a norm", x.width, norm.weight.len())?;
    Ok(ReferenceStates { values: norm.forward(&x.values), width: x.width })
}

/// A sum and its norm, as the next half of a layer takes them.
fn place_norm(
    sum: ReferenceStates,
    norm: &Norm,
    placement: NormPlacement,
) -> Result<Stream<ReferenceStates>, NnError> {
    let normed = normalized(&sum, norm)?;
    Ok(Stream::placed(sum, normed, placement))
}

impl Backend for Reference {
    type Batch = HostBatch;
    type States = ReferenceStates;
    type Scratch = ();
    type Table = Table;
    type Linear = Linear;
    type Gated = [Linear; 2];
    type Norm = Norm;
    type Attention = Attention;

    fn work(&self) -> Work {
        Work { batch_tokens: 1, least_tokens: 1, sessions: rayon::current_num_threads(), uses_threads: true }
    }

    fn scratch(&self) {}

    fn table(&self, table: Matrix<'_>) -> Result<Table, NnError> {
        Table::new(table)
    }

    fn linear(&self, layer: LinearParameters<'_>, _: Place) -> Result<Linear, NnError> {
        check_linear(&layer)?;
        let (weight, bias) = (in_f64(layer.weight.values), layer.bias.map(in_f64));
        Ok(Linear { weight, bias, inputs: layer.inputs() })
    }

    fn gated(
        &self,
        activated: LinearParameters<'_>,
        linear: LinearParameters<'_>,
    ) -> Result<[Linear; 2], NnError> {
        check_gated(&activated, &linear)?;
        Ok([self.linear(activated, Place::Inner)?, self.linear(linear, Place::Inner)?])
    }

    fn norm(&self, parameters: NormParameters<'_>) -> Result<Norm, NnError> {
        norm::check(&parameters)?;
        let NormParameters { weight, bias, epsilon, centers } = parameters;
        let bias = bias.map_or_else(|| vec![0.0; weight.len()], in_f64);
        Ok(Norm { weight: in_f64(weight), bias, epsilon: f64::from(epsilon), centers })
    }

    fn attention(&self, attention: AttentionParameters<'_>) -> Result<Attention, NnError> {
        Attention::new(attention)
    }

    fn batch(&self, rows: Vec<Vec<u32>>, sequences: Sequences) -> Result<HostBatch, NnError> {
        Ok(HostBatch { rows, sequences })
    }

    fn embed(
        &self,
        (): &mut (),
        batch: &HostBatch,
        tables: &[Table],
        norm: &Norm,
        placement: NormPlacement,
    ) -> Result<Stream<ReferenceStates>, NnError> {
        let width = embed::width(tables, &batch.rows)?;
        let mut values = vec![0.0; batch.sequences.tokens() * width];
        for (table, rows) in tables.iter().zip(&batch.rows) {
            for (&row, sum) in rows.iter().zip(values.chunks_exact_mut(width)) {
                sum.iter_mut().zip(table.row(row)?).for_each(|(sum, &x)| *sum += f64::from(x));
            }
        }
        place_norm(ReferenceStates { values, width }, norm, placement)
    }

    fn project(
        &self,
        (): &mut (),
        x: &ReferenceStates,
        layer: &Linear,
        activation: Activation,
    ) -> Result<ReferenceStates, NnError> {
        check_width("a linear layer", x.width, layer.inputs)?;
        let values = layer.forward(&x.values, activation);
        Ok(ReferenceStates { values, width: layer.weight.len() / layer.inputs })
    }

    fn gate(
        &self,
        (): &mut (),
        x: &ReferenceStates,
        [activated, linear]: &[Linear; 2],
        activation: Activation,
    ) -> Result<ReferenceStates, NnError> {
        let mut out = self.project(&mut (), x, activated, activation)?;
        let linear = self.project(&mut (), x, linear, Activation::Identity)?;
        out.values.iter_mut().zip(linear.values).for_each(|(out, x)| *out *= x);
        Ok(out)
    }

    fn put_prefix(
        &self,
        (): &mut (),
        mut qkv: ReferenceStates,
        batch: &HostBatch,
        attention: &Attention,
        prefix: Prefix<'_, Table>,
    ) -> Result<ReferenceStates, NnError> {
        prefix::put((&mut qkv.values, qkv.width), &batch.sequences, attention, &prefix)?;
        Ok(qkv)
    }

    fn attend(
        &self,
        (): &mut (),
        qkv: ReferenceStates,
        batch: &HostBatch,
        attention: &Attention,
        head_norms: Option<&[Norm; 2]>,
    ) -> Result<ReferenceStates, NnError> {
        check_width("attention", qkv.width, attention.input_width())?;
        for norm in head_norms.into_iter().flatten() {
            check_width("a norm of heads", attention.head_size, norm.weight.len())?;
        }
        let values = attend(&qkv.values, &batch.sequences, attention, head_norms);
        Ok(ReferenceStates { values, width: attention.output_width() })
    }

    fn close(
        &self,
        (): &mut (),
        x: ReferenceStates,
        Closing { layer, inner_norm, norm, placement }: Closing<'_, Linear, Norm>,
        residual: ReferenceStates,
    ) -> Result<Stream<ReferenceStates>, NnError> {
        let mut sum = self.project(&mut (), &x, layer, Activation::Identity)?;
        if let Some(norm) = inner_norm {
            sum = normalized(&sum, norm)?;
        }
        check_width("a residual", residual.width, sum.width)?;
        sum.values.iter_mut().zip(residual.values).for_each(|(sum, x)| *sum += x);
        match norm {
            Some(norm) => place_norm(sum, norm, placement),
            None => Ok(sum.into()),
        }
    }

    fn normalize(&self, (): &mut (), x: ReferenceStates, norm: &Norm) -> Result<ReferenceStates, NnError> {
        normalized(&x, norm)
    }

    fn pool(
        &self,
        (): &mut (),
        x: &ReferenceStates,
        batch: &HostBatch,
        poolings: &[Pooling],
        skipped: usize,
    ) -> Result<ReferenceStates, NnError> {
        let mut values = Vec::new();
        for tokens in batch.sequences.ranges() {
            let start = (tokens.start + skipped).min(tokens.end);
            for pooling in poolings {
                for column in 0..x.width {
                    let column: Vec<f64> =
                        (start..tokens.end).map(|token| x.values[token * x.width + column]).collect();
                    values.push(pooling.reference(&column, skipped));
                }
            }
        }
        Ok(ReferenceStates { values, width: poolings.len() * x.width })
    }

    fn truncate(&self, (): &mut (), x: ReferenceStates, width: usize) -> Result<ReferenceStates, NnError> {
        let rows = x.values.chunks_exact(x.width.max(1));
        Ok(ReferenceStates { values: rows.flat_map(|row| row[..width].to_vec()).collect(), width })
    }

    fn unit(&self, (): &mut (), mut x: ReferenceStates) -> Result<ReferenceStates, NnError> {
        for row in x.values.chunks_exact_mut(x.width.max(1)) {
            let length = row.iter().map(|x| x * x).sum::<f64>().sqrt().max(SHORTEST);
            row.iter_mut().for_each(|x| *x /= length);
        }
        Ok(x)
    }

    fn to_host(&self, (): &mut (), x: ReferenceStates, host: &mut Vec<f32>) -> Result<(), NnError> {
        host.extend(x.values.iter().map(|&x| x as f32));
        Ok(())
    }
}
