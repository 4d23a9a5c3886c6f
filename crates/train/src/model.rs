//! A model in training: one network or two, and the gradient of a batch in chunks.

use std::ops::Range;

use toller_encoder::{CrossEncoder, DualEncoder, EncoderError, TokenClassifier};
use toller_ir::Role;
use toller_tokenizer::Tokens;

use crate::TrainError;
use crate::dropout::Dropout;
use crate::network::{Gradients, Recorder, Span, Texts, Tower};

/// The towers of a model, and the roles that they have: queries (0) and passages (1), or pairs or texts (0).
pub struct Model {
    towers: Vec<Tower>,
    roles: [RolePlan; 2],
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

/// Bits of a sequence's number below its role.
const ROLE_SHIFT: u32 = 40;

impl Model {
    /// A dual encoder. With `untied`, towers that share their weights get weights of their own. Only the
    /// towers of `only` are trained, if given.
    ///
    /// # Errors
    /// When the architecture cannot be trained, or only one of two towers with the same weights is to be.
    pub fn dual(encoder: &DualEncoder, untied: bool, only: Option<Role>) -> Result<Self, TrainError> {
        let roles = [Role::Query, Role::Passage];
        let is_tied = encoder.shares_weights() && !untied;
        if is_tied && only.is_some() {
            return Err(TrainError::Tied);
        }
        let tower = |role: Role| {
            let network = encoder.tower(role).on(Recorder::default());
            network.map(Tower::new).map_err(TrainError::of_recording)
        };
        let mut towers = vec![tower(Role::Query)?];
        if !is_tied {
            towers.push(tower(Role::Passage)?);
        }
        let plan = |index: usize| RolePlan {
            tower: if is_tied { 0 } else { index },
            unpooled: encoder.tower(roles[index]).unpooled(),
            trains: only.is_none_or(|only| only == roles[index]),
            per_token: false,
        };
        Ok(Self { towers, roles: [plan(0), plan(1)] })
    }

    /// A cross-encoder.
    ///
    /// # Errors
    /// When the architecture cannot be trained.
    pub fn cross(encoder: &CrossEncoder) -> Result<Self, TrainError> {
        let network = encoder.on(Recorder::default()).map_err(TrainError::of_recording)?;
        Ok(Self::classifier(Tower::classifier(network), false))
    }

    /// A token classifier.
    ///
    /// # Errors
    /// When the architecture cannot be trained.
    pub fn tokens(classifier: &TokenClassifier) -> Result<Self, TrainError> {
        let network = classifier.on(Recorder::default()).map_err(TrainError::of_recording)?;
        Ok(Self::classifier(Tower::classifier(network), true))
    }

    fn classifier(tower: Tower, per_token: bool) -> Self {
        let plan = RolePlan { tower: 0, unpooled: 0, trains: true, per_token };
        Self { towers: vec![tower], roles: [plan; 2] }
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
        let chunks = self.chunks(inputs, chunks);
        let is_whole = chunks.len() == 1;
        let mut results = [Vec::new(), Vec::new()];
        let mut kept: [Vec<Span>; 2] = [Vec::new(), Vec::new()];
        for chunk in &chunks {
            for role in 0..2 {
                let spans =
                    self.forward(inputs, role, chunk[role].clone(), dropout, is_whole, &mut results[role])?;
                kept[role].extend(spans);
            }
        }
        let wide = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect();
        let graded = grade([wide(&results[0]), wide(&results[1])])?;
        let narrow = |values: &[f64]| values.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let rows = [narrow(&graded.gradients[0]), narrow(&graded.gradients[1])];
        let mut done = [0, 0];
        for chunk in &chunks {
            for role in 0..2 {
                if !self.roles[role].trains {
                    continue;
                }
                let spans = if is_whole {
                    std::mem::take(&mut kept[role])
                } else {
                    self.forward(inputs, role, chunk[role].clone(), dropout, true, &mut Vec::new())?
                };
                let texts = &inputs.texts[role];
                let plan = &self.roles[role];
                let width = rows[role].len() / plan.rows(texts).max(1);
                let own = plan.rows(&texts[chunk[role].clone()]) * width;
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
        let mut rows = Vec::new();
        self.towers[tower].forward(Texts { tokens: texts, first: 0, unpooled }, None, false, &mut rows)?;
        Ok(rows)
    }

    fn forward(
        &self,
        inputs: &Inputs,
        role: usize,
        range: Range<usize>,
        dropout: Option<Dropout>,
        records: bool,
        rows: &mut Vec<f32>,
    ) -> Result<Vec<Span>, EncoderError> {
        let RolePlan { tower, unpooled, trains, .. } = self.roles[role];
        let first = ((role as u64) << ROLE_SHIFT) + inputs.first[role] + range.start as u64;
        let texts = Texts { tokens: &inputs.texts[role][range], first, unpooled };
        self.towers[tower].forward(texts, dropout.filter(|_| trains), records && trains, rows)
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
        let most = match chunks {
            Chunks::Sequences(most) => most,
            Chunks::Bytes(most) if (0..total).map(cost).sum::<usize>() <= most => usize::MAX,
            Chunks::Bytes(most) => most / 2,
        };
        let range = |start: usize, end: usize| {
            let split = queries.len();
            [start.min(split)..end.min(split), start.max(split) - split..end.max(split) - split]
        };
        let mut found = Vec::new();
        let (mut start, mut sum) = (0, 0_usize);
        for index in 0..total {
            if index > start && sum + cost(index) > most {
                found.push(range(start, index));
                (start, sum) = (index, 0);
            }
            sum += cost(index);
        }
        found.push(range(start, total));
        found
    }
}
