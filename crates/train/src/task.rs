//! What is trained: a dual encoder or a cross-encoder, from examples to the gradient of its results.

use rayon::prelude::*;
use toller_encoder::{CrossEncoder, DualEncoder, TextEncoder, TitleMode};
use toller_ir::Role;

use crate::TrainError;
use crate::data::Candidate;
use crate::loss::{CrossLoss, DualLoss, Groups, Similarity};
use crate::model::{Graded, Inputs};

/// What is trained, and to what end.
#[expect(clippy::large_enum_variant, reason = "a run has one")]
pub enum Task {
    /// A dual encoder.
    Dual {
        /// Encodes queries and passages.
        encoder: DualEncoder,
        /// How near a query and a passage are.
        similarity: Similarity,
        /// What is learned.
        loss: DualLoss,
        /// How a title becomes part of its passage.
        titles: TitleMode,
    },
    /// A cross-encoder.
    Cross {
        /// Scores pairs.
        encoder: CrossEncoder,
        /// What is learned.
        loss: CrossLoss,
        /// How a title becomes part of its passage; never a segment of its own.
        separator: String,
    },
}

/// A query with the passages that were chosen for a step, the positive first.
#[derive(Clone, Debug)]
pub(crate) struct Picked {
    pub(crate) query: String,
    pub(crate) candidates: Vec<Candidate>,
}

impl Task {
    /// The tokens of a batch, and which passages belong to which query.
    pub(crate) fn inputs(&self, batch: &[Picked]) -> Result<(Inputs, Groups), TrainError> {
        let mut groups = Groups { starts: vec![0], ..Groups::default() };
        for picked in batch {
            groups.starts.push(groups.starts.last().copied().unwrap_or(0) + picked.candidates.len());
            for (index, candidate) in picked.candidates.iter().enumerate() {
                groups.scores.extend(candidate.score);
                groups.labels.push(self.label_of(candidate, index == 0));
            }
        }
        let pairs: Vec<(&str, &Candidate)> = batch
            .iter()
            .flat_map(|picked| picked.candidates.iter().map(|candidate| (picked.query.as_str(), candidate)))
            .collect();
        let texts = match self {
            Self::Dual { encoder, titles, .. } => {
                let (query, passage) = (encoder.tower(Role::Query), encoder.tower(Role::Passage));
                let of_queries = batch.par_iter().map(|picked| query.tokenize(&picked.query));
                let of_passages = pairs
                    .par_iter()
                    .map(|(_, candidate)| passage.tokenize_input(&titles.text_of(&candidate.passage())));
                [of_queries.collect::<Result<_, _>>()?, of_passages.collect::<Result<_, _>>()?]
            }
            Self::Cross { encoder, separator, .. } => {
                let pair = |(query, candidate): &(&str, &Candidate)| {
                    encoder.tokenize_pair(query, &candidate.passage().joined(separator))
                };
                [pairs.par_iter().map(pair).collect::<Result<_, _>>()?, Vec::new()]
            }
        };
        Ok((Inputs { texts, first: [0, 0] }, groups))
    }

    /// Whether the grades of a query's passages are learned, not only that positives are above negatives.
    pub(crate) fn learns_grades(&self) -> bool {
        matches!(self, Self::Cross { loss: CrossLoss::RankNet | CrossLoss::Lambda, .. })
    }

    /// What the loss takes a passage for.
    pub(crate) fn label_of(&self, candidate: &Candidate, is_positive: bool) -> f64 {
        match (candidate.label, candidate.grade) {
            (Some(label), _) => label,
            (None, Some(grade)) if self.learns_grades() => grade,
            (None, Some(grade)) => grade.clamp(0.0, 1.0),
            (None, None) => f64::from(u8::from(is_positive)),
        }
    }

    /// The loss of results, and its gradient.
    pub(crate) fn grade(&self, groups: &Groups, results: [Vec<f64>; 2]) -> Result<Graded, TrainError> {
        match self {
            Self::Dual { similarity, loss, .. } => loss.grade(groups, *similarity, results),
            Self::Cross { loss, .. } => loss.grade(groups, results),
        }
    }

    /// Identifies the model before training, and everything here that decides its gradients.
    pub(crate) fn fingerprint(&self) -> String {
        match self {
            Self::Dual { encoder, similarity, loss, titles } => {
                let towers = [Role::Query, Role::Passage].map(|role| encoder.tower(role));
                let (lengths, prompts) =
                    (towers.map(TextEncoder::max_length), towers.map(TextEncoder::prompt));
                let fingerprint = encoder.fingerprint();
                format!("{fingerprint} {lengths:?} {prompts:?} {similarity:?} {loss:?} {titles:?}")
            }
            Self::Cross { encoder, loss, separator } => {
                let (fingerprint, length) = (encoder.fingerprint(), encoder.max_length());
                format!("{fingerprint} {length} {} {loss:?} {separator:?}", encoder.truncation())
            }
        }
    }
}
