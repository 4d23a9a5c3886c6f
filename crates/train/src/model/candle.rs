//! The gradient of a batch on several devices.
//!
//! Idea: the loss needs all results of a batch, and nothing else of it (Gao et al. 2021, section 3). So
//! devices compute chunks in turn, results meet on the host, and the gradients of the results go back to
//! where they came from. Each device sums the gradients of its chunks; the sums are added on the host, in
//! the order of the devices. So a query learns from the passages of all devices, and no device talks to
//! another.

use std::panic::resume_unwind;
use std::thread;

use rayon::prelude::*;
use toller_encoder::EncoderError;
use toller_nn::candle_core::Tensor;
use toller_nn::{Candle, CandleDevice, Precision};

use super::compute::{Devices, Grade, LayOut};
use super::{Division, Model, narrow, wide};
use crate::TrainError;
use crate::network::{Gradients, OnDevice, Replica, Sums, Texts, Tower, spans};

/// Tokens whose results a device computes at a time outside of a gradient, at most: candle keeps the
/// states of all layers, whether a gradient follows or not.
const RESULT_TOKENS: usize = 4096;

/// The towers of a model on each device.
pub(super) struct Replicas {
    devices: Vec<Vec<Replica>>,
    name: String,
}

/// The results of a chunk, by role.
#[derive(Default)]
struct Results {
    rows: [Vec<f32>; 2],
    /// With the way back, if it is kept.
    graphs: [Option<Tensor>; 2],
}

impl Replicas {
    /// Copies of these towers of a model.
    ///
    /// # Errors
    /// When the type is not one to train in, or the model does not fit.
    pub(super) fn open<M: LayOut>(
        model: &M,
        towers: &[Tower],
        devices: &[CandleDevice],
        dtype: Precision,
    ) -> Result<Self, TrainError> {
        if !matches!(dtype, Precision::F32 | Precision::Bf16) {
            return Err(TrainError::Dtype(dtype));
        }
        let replica = |device: &CandleDevice, tower: usize| {
            let candle = Candle::new(device.device().clone(), dtype).map_err(EncoderError::from)?;
            let network = model.lay_out(tower, OnDevice::new(candle)).map_err(TrainError::of_recording)?;
            Ok(Replica::new(network, towers[tower].weights(), model.dropped(tower)?)?)
        };
        let of_device = |device| (0..towers.len()).map(|tower| replica(device, tower)).collect();
        let replicas = devices.iter().map(of_device).collect::<Result<Vec<Vec<Replica>>, TrainError>>()?;
        let kinds: Vec<String> = devices.iter().map(CandleDevice::kind).collect();
        Ok(Self { name: format!("{dtype} by candle on {}", kinds.join(", ")), devices: replicas })
    }

    /// The results of `count` pieces of work, which devices do in turn, in the order of the pieces.
    fn in_turn<T: Send>(
        &self,
        count: usize,
        work: impl Fn(usize, &[Replica]) -> Result<T, EncoderError> + Sync,
    ) -> Result<Vec<T>, EncoderError> {
        let own = |device: usize| (device..count).step_by(self.devices.len());
        let done = self.each(|device, towers| {
            own(device).map(|piece| work(piece, towers)).collect::<Result<Vec<T>, EncoderError>>()
        })?;
        let mut done: Vec<_> = done.into_iter().map(Vec::into_iter).collect();
        Ok((0..count).filter_map(|piece| done[piece % self.devices.len()].next()).collect())
    }

    /// What each device does at the same time, in the order of the devices.
    fn each<T: Send>(
        &self,
        work: impl Fn(usize, &[Replica]) -> Result<T, EncoderError> + Sync,
    ) -> Result<Vec<T>, EncoderError> {
        let work = &work;
        thread::scope(|scope| {
            let running: Vec<_> = self
                .devices
                .iter()
                .enumerate()
                .map(|(index, towers)| scope.spawn(move || work(index, towers)))
                .collect();
            // All are waited for, whatever fails.
            let done: Vec<_> = running
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect();
            done.into_iter().collect()
        })
    }
}

impl Devices for Replicas {
    fn count(&self) -> usize {
        self.devices.len()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn gradient(
        &self,
        model: &Model,
        division: &Division<'_>,
        grade: Grade<'_>,
        gradients: &mut [Gradients],
    ) -> Result<f64, TrainError> {
        let (count, chunks) = (self.devices.len(), division.chunks.len());
        let keeps = chunks <= count;

        let results = self.in_turn(chunks, |chunk, towers| {
            let mut results = Results::default();
            for role in 0..2 {
                let Some((texts, dropout)) = division.texts(model, chunk, role) else { continue };
                let replica = &towers[model.roles[role].tower];
                let graph = replica.forward(texts, dropout)?;
                let kept = (keeps && model.roles[role].trains).then(|| graph.clone());
                replica.download(graph, &mut results.rows[role])?;
                results.graphs[role] = kept;
            }
            Ok(results)
        })?;
        let rows = |role: usize| wide(results.iter().flat_map(move |results| &results.rows[role]).copied());
        let graded = grade([rows(0), rows(1)])?;
        let slopes = [narrow(&graded.gradients[0]), narrow(&graded.gradients[1])];
        let starts = |role: usize| {
            let lengths = results.iter().map(|results| results.rows[role].len());
            lengths
                .scan(0, |start, length| Some(std::mem::replace(start, *start + length)))
                .collect::<Vec<usize>>()
        };
        let starts = [starts(0), starts(1)];

        let sums = self.each(|device, towers| {
            let mut sums: Vec<Sums> = towers.iter().map(Replica::sums).collect();
            // A chunk goes back to the device that has its graph.
            for chunk in (device..chunks).step_by(count) {
                for role in (0..2).filter(|&role| model.roles[role].trains) {
                    let Some((texts, dropout)) = division.texts(model, chunk, role) else { continue };
                    let tower = model.roles[role].tower;
                    let graph = match &results[chunk].graphs[role] {
                        Some(graph) => graph.clone(),
                        None => towers[tower].forward(texts, dropout)?,
                    };
                    let own = &slopes[role][starts[role][chunk]..][..results[chunk].rows[role].len()];
                    towers[tower].backward(&graph, own, &mut sums[tower])?;
                }
            }
            towers
                .iter()
                .zip(sums)
                .map(|(replica, sums)| replica.on_host(sums))
                .collect::<Result<Vec<_>, _>>()
        })?;
        for (index, tower) in model.towers().iter().enumerate().filter(|(index, _)| model.trains(*index)) {
            let of_devices: Vec<_> = sums.iter().map(|towers| &towers[index]).collect();
            add(tower, &of_devices, &mut gradients[index])?;
        }
        Ok(graded.loss)
    }

    fn results(&self, tower: usize, texts: Texts<'_>) -> Result<Vec<f32>, EncoderError> {
        let spans = spans(texts.tokens, RESULT_TOKENS);
        let rows = self.in_turn(spans.len(), |span, towers| {
            let texts = Texts { tokens: &texts.tokens[spans[span].clone()], ..texts };
            let mut rows = Vec::new();
            towers[tower].download(towers[tower].forward(texts, None)?, &mut rows)?;
            Ok(rows)
        })?;
        Ok(rows.concat())
    }

    fn follow(&self, towers: &[Tower]) -> Result<(), EncoderError> {
        let copied = self.each(|_, replicas| {
            replicas.iter().zip(towers).try_for_each(|(replica, tower)| replica.follow(tower.weights()))
        });
        copied.map(|_| ())
    }
}

/// Adds the gradients of a tower's parameters, in the order of the devices. candle leaves out parameters that
/// an operation without a gradient cuts off: one that should be trained must have a gradient.
fn add(
    tower: &Tower,
    devices: &[&Vec<Option<Vec<f32>>>],
    gradients: &mut Gradients,
) -> Result<(), TrainError> {
    let parameters = tower.weights().parameters().par_iter().zip(&mut gradients.values).enumerate();
    parameters.filter(|(_, (parameter, _))| !parameter.frozen).try_for_each(|(index, (parameter, sum))| {
        let mut found = devices.iter().filter_map(|device| device[index].as_ref()).peekable();
        if found.peek().is_none() {
            let names: Vec<&str> = parameter.tensors.iter().map(|tensor| tensor.name.as_str()).collect();
            return Err(TrainError::NoGradient(names.join(", ")));
        }
        found.for_each(|values| sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value));
        Ok(())
    })
}
