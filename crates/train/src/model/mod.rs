//! A model in training: one network or two, and the gradient of a batch in chunks.

#[cfg(feature = "candle")]
mod candle;
mod compute;

use std::fmt;
use std::ops::Range;

use toller_encoder::{CrossEncoder, DualEncoder, EncoderError, TokenClassifier};
use toller_ir::Role;
use toller_tokenizer::Tokens;

pub use self::compute::Compute;
use self::compute::{Devices, LayOut};
use crate::TrainError;
use crate::dropout::Dropout;
use crate::network::{Gradients, Recorder, Span, Texts, Tower};

/// The towers of a model, and the roles that they have: queries (0) and passages (1), or pairs or texts (0).
pub struct Model {
    towers: Vec<Tower>,
    roles: [RolePlan; 2],
    /// Where gradients and results are computed; `None` for here.
    devices: Option<Box<dyn Devices>>,
}

#[derive(Clone, Copy, Debug)]
struct RolePlan {
    tower: usize,
    /// Tokens at the start of each text that are not pooled.
    unpooled: usize,
    trains: bool,
    /// Whether each token has a row of the result, not each text.
    per_token: bool,
}

impl RolePlan {
    fn of_classifier(per_token: bool) -> Self {
        Self { tower: 0, unpooled: 0, trains: true, per_token }
    }

    /// The rows of the result for texts.
    fn rows(&self, texts: &[Tokens]) -> usize {
        if self.per_token { texts.iter().map(Tokens::len).sum() } else { texts.len() }
    }
}

/// How a batch is divided. The gradient is the same, bit for bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunks {
    /// By what the backward pass keeps in memory, in bytes, about. A batch that needs more is divided into
    /// chunks of half as much: its second forward pass takes the same time in chunks of any size.
    Bytes(usize),
    /// By sequences.
    Sequences(usize),
}

impl fmt::Display for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "chunks of {bytes} bytes"),
            Self::Sequences(count) => write!(f, "chunks of {count} sequences"),
        }
    }
}

/// A batch of tokenized texts of each role.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// Queries (0) and passages (1), or pairs or texts (0).
    pub texts: [Vec<Tokens>; 2],
    /// The number of the first text of each role in the step.
    pub first: [u64; 2],
}

/// The loss of a batch, and its gradient with respect to the results of the networks, by role.
#[derive(Clone, Debug)]
pub struct Graded {
    /// The loss.
    pub loss: f64,
    /// The gradient: rows as in the results.
    pub gradients: [Vec<f64>; 2],
}

/// A batch in chunks.
pub(crate) struct Division<'a> {
    inputs: &'a Inputs,
    dropout: Option<Dropout>,
    /// The texts of each role.
    chunks: Vec<[Range<usize>; 2]>,
}

impl<'a> Division<'a> {
    /// The texts of a role in a chunk, and what is dropped; `None` if there are none.
    fn texts(&self, model: &Model, chunk: usize, role: usize) -> Option<(Texts<'a>, Option<Dropout>)> {
        let RolePlan { unpooled, trains, .. } = model.roles[role];
        let range = self.chunks[chunk][role].clone();
        let first = ((role as u64) << ROLE_SHIFT) + self.inputs.first[role] + range.start as u64;
        let tokens = &self.inputs.texts[role][range];
        let texts = Texts { tokens, first, unpooled };
        (!tokens.is_empty()).then_some((texts, self.dropout.filter(|_| trains)))
    }
}

fn wide(values: impl IntoIterator<Item = f32>) -> Vec<f64> {
    values.into_iter().map(f64::from).collect()
}

fn narrow(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}

/// What a GPU computes at a time, compared with the CPU: few texts would not fill it.
const DEVICE_SHARE: usize = 4;

/// Where a batch is cut.
#[derive(Clone, Copy)]
enum Cut {
    /// Before a chunk costs more than this.
    Most(usize),
    /// Into this many parts of about the same cost.
    Pieces(usize),
}

/// Bits of a sequence's number below its role.
const ROLE_SHIFT: u32 = 40;

impl Model {
    /// A dual encoder. With `untied`, towers that share their weights get weights of their own. Only the
    /// towers of `only` are trained, if given.
    ///
    /// # Errors
    /// When the architecture cannot be trained, or not on these devices, or only one of two towers with the
    /// same weights is to be.
    pub fn dual(
        encoder: &DualEncoder,
        untied: bool,
        only: Option<Role>,
        compute: &Compute,
    ) -> Result<Self, TrainError> {
        let roles = [Role::Query, Role::Passage];
        let is_tied = encoder.shares_weights() && !untied;
        if is_tied && only.is_some() {
            return Err(TrainError::Tied);
        }
        if roles.iter().any(|role| encoder.tower(*role).has_norm()) {
            return Err(TrainError::Untrainable("a norm after the pooling cannot be trained yet".to_owned()));
        }
        let plan = |index: usize| RolePlan {
            tower: if is_tied { 0 } else { index },
            unpooled: encoder.tower(roles[index]).unpooled(),
            trains: only.is_none_or(|only| only == roles[index]),
            per_token: false,
        };
        Self::new(encoder, if is_tied { 1 } else { 2 }, [plan(0), plan(1)], compute)
    }

    /// A cross-encoder.
    ///
    /// # Errors
    /// When the architecture cannot be trained, or not on these devices.
    pub fn cross(encoder: &CrossEncoder, compute: &Compute) -> Result<Self, TrainError> {
        Self::new(encoder, 1, [RolePlan::of_classifier(false); 2], compute)
    }

    /// A token classifier.
    ///
    /// # Errors
    /// As for [`Self::cross`].
    pub fn tokens(classifier: &TokenClassifier, compute: &Compute) -> Result<Self, TrainError> {
        Self::new(classifier, 1, [RolePlan::of_classifier(true); 2], compute)
    }

    fn new<M: LayOut>(
        model: &M,
        towers: usize,
        roles: [RolePlan; 2],
        compute: &Compute,
    ) -> Result<Self, TrainError> {
        let tower = |index: usize| {
            let network = model.lay_out(index, Recorder::default()).map_err(TrainError::of_recording)?;
            Ok(Tower::new(network, model.dropped(index)?))
        };
        let mut all = (0..towers).map(tower).collect::<Result<Vec<Tower>, TrainError>>()?;
        let devices = compute.open(model, &all)?;
        if devices.is_some() {
            all = all.into_iter().map(Tower::without_passes).collect();
        }
        let mut model = Self { towers: all, roles, devices };
        let trained: Vec<bool> = (0..towers).map(|tower| model.trains(tower)).collect();
        model
            .towers
            .iter_mut()
            .zip(trained)
            .filter(|(_, is_trained)| !is_trained)
            .for_each(|(tower, _)| tower.freeze());
        Ok(model)
    }

    /// Where gradients come from, if not from the CPU: their bits depend on it.
    #[must_use]
    pub fn devices(&self) -> Option<&str> {
        self.devices.as_ref().map(|devices| devices.name())
    }

    /// Lets the devices have the parameters, after a change.
    pub(crate) fn follow(&self) -> Result<(), TrainError> {
        Ok(self.devices.as_ref().map_or(Ok(()), |devices| devices.follow(&self.towers))?)
    }

    /// The towers.
    #[must_use]
    pub fn towers(&self) -> &[Tower] {
        &self.towers
    }

    /// Whether a tower is trained.
    #[must_use]
    pub fn trains(&self, tower: usize) -> bool {
        self.roles.iter().any(|role| role.tower == tower && role.trains)
    }

    /// The towers, to change their parameters.
    pub fn towers_mut(&mut self) -> &mut [Tower] {
        &mut self.towers
    }

    /// Zeros for the parameters of each tower.
    #[must_use]
    pub fn zeros(&self) -> Vec<Gradients> {
        self.towers.iter().map(|tower| Gradients::zeros(tower.weights())).collect()
    }

    /// Adds the gradient of a batch to `gradients`, and returns the loss. `grade` computes the loss from all
    /// results. A batch of several chunks takes one more forward pass: all results are computed, then chunk
    /// by chunk their tapes and the way back (Gao et al. 2021: GradCache).
    ///
    /// # Errors
    /// When the loss has an error, or a token has no embedding.
    pub fn gradient(
        &self,
        inputs: &Inputs,
        dropout: Option<Dropout>,
        chunks: Chunks,
        grade: impl FnOnce([Vec<f64>; 2]) -> Result<Graded, TrainError>,
        gradients: &mut [Gradients],
    ) -> Result<f64, TrainError> {
        let division = Division { inputs, dropout, chunks: self.chunks(inputs, chunks) };
        if let Some(devices) = &self.devices {
            return devices.gradient(self, &division, Box::new(grade), gradients);
        }
        let is_whole = division.chunks.len() == 1;
        let mut results = [Vec::new(), Vec::new()];
        let mut kept: [Vec<Span>; 2] = [Vec::new(), Vec::new()];
        for chunk in 0..division.chunks.len() {
            for role in 0..2 {
                kept[role].extend(self.forward(&division, chunk, role, is_whole, &mut results[role])?);
            }
        }
        let [queries, passages] = results;
        let graded = grade([wide(queries), wide(passages)])?;
        let rows = [narrow(&graded.gradients[0]), narrow(&graded.gradients[1])];
        let mut done = [0, 0];
        for (chunk, ranges) in division.chunks.iter().enumerate() {
            for role in 0..2 {
                if !self.roles[role].trains {
                    continue;
                }
                let spans = if is_whole {
                    std::mem::take(&mut kept[role])
                } else {
                    self.forward(&division, chunk, role, true, &mut Vec::new())?
                };
                let texts = &inputs.texts[role];
                let plan = &self.roles[role];
                let width = rows[role].len() / plan.rows(texts).max(1);
                let own = plan.rows(&texts[ranges[role].clone()]) * width;
                let own = &rows[role][done[role]..][..own];
                done[role] += own.len();
                let tower = self.roles[role].tower;
                self.towers[tower].backward(spans, own, &mut gradients[tower]);
            }
        }
        Ok(graded.loss)
    }

    /// The results for texts of a role, as they are outside training.
    ///
    /// # Errors
    /// When a token has no embedding.
    pub fn results(&self, role: usize, texts: &[Tokens]) -> Result<Vec<f32>, EncoderError> {
        let RolePlan { tower, unpooled, .. } = self.roles[role];
        let texts = Texts { tokens: texts, first: 0, unpooled };
        if let Some(devices) = &self.devices {
            return devices.results(tower, texts);
        }
        let mut rows = Vec::new();
        self.towers[tower].forward(texts, None, false, &mut rows)?;
        Ok(rows)
    }

    /// Refuses a model that has diverged by this step. The loss says nothing of the weights after its step.
    pub(crate) fn check_weights(&self, step: u64) -> Result<(), TrainError> {
        if self.towers.iter().all(|tower| tower.weights().are_finite()) {
            return Ok(());
        }
        Err(TrainError::NotFinite { what: "weights", step })
    }

    fn forward(
        &self,
        division: &Division<'_>,
        chunk: usize,
        role: usize,
        records: bool,
        rows: &mut Vec<f32>,
    ) -> Result<Vec<Span>, EncoderError> {
        let Some((texts, dropout)) = division.texts(self, chunk, role) else { return Ok(Vec::new()) };
        let RolePlan { tower, trains, .. } = self.roles[role];
        self.towers[tower].forward(texts, dropout, records && trains, rows)
    }

    /// The texts of each role in each chunk: queries first, then passages, so that the sums of gradients have
    /// one order.
    pub(crate) fn chunks(&self, inputs: &Inputs, chunks: Chunks) -> Vec<[Range<usize>; 2]> {
        let [queries, passages] = &inputs.texts;
        let bytes = |role: usize| self.towers[self.roles[role].tower].weights().tape_bytes();
        let cost = |index: usize| match chunks {
            Chunks::Sequences(_) => 1,
            Chunks::Bytes(_) => match index.checked_sub(queries.len()) {
                None => queries[index].len() * bytes(0),
                Some(index) => passages[index].len() * bytes(1),
            },
        };
        let total = queries.len() + passages.len();
        let sum = (0..total).map(cost).sum::<usize>();
        let cut = match (chunks, &self.devices) {
            (Chunks::Sequences(most), _) => Cut::Most(most),
            (Chunks::Bytes(most), None) if sum <= most => Cut::Most(usize::MAX),
            (Chunks::Bytes(most), None) => Cut::Most(most / 2),
            // Each device has its own memory, and as many chunks as the others.
            (Chunks::Bytes(most), Some(devices)) => {
                let (most, devices) = (most * DEVICE_SHARE, devices.count());
                let is_whole = sum <= most * devices;
                let least = if is_whole { devices } else { sum.div_ceil(most / 2) };
                Cut::Pieces(least.next_multiple_of(devices))
            }
        };
        let range = |start: usize, end: usize| {
            let split = queries.len();
            [start.min(split)..end.min(split), start.max(split) - split..end.max(split) - split]
        };
        let mut found = Vec::new();
        // What is before the chunk, and in it so far.
        let (mut start, mut before, mut own) = (0, 0, 0_usize);
        for index in 0..total {
            let is_full = match cut {
                Cut::Most(most) => own + cost(index) > most,
                Cut::Pieces(pieces) => (before + own) * pieces / sum > before * pieces / sum,
            };
            if index > start && is_full {
                found.push(range(start, index));
                (start, before, own) = (index, before + own, 0);
            }
            own += cost(index);
        }
        found.push(range(start, total));
        found
    }
}
