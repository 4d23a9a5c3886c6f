//! Losses of dual encoders.

use rayon::prelude::*;
use toller_ir::named;

use super::Groups;
use super::softmax::{cross_entropy, divergence};
use crate::TrainError;
use crate::model::Graded;

named! {
    /// How near a query and a passage are.
    pub enum Similarity: "a similarity" {
        /// The inner product.
        Dot = "dot",
        /// The cosine.
        Cosine = "cosine",
    }
}

/// What a dual encoder learns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DualLoss {
    /// Softmax cross entropy of the positive among candidates (Karpukhin et al. 2020, equation 2).
    Contrastive {
        /// What the similarities are divided by.
        temperature: f64,
        /// Whether the candidates of the other queries are negatives too.
        in_batch: bool,
        /// Whether the query is also found among all queries by its positive: the mean of both losses.
        symmetric: bool,
    },
    /// The squared error of the margins between positive and negatives, against a teacher's (Hofstätter et
    /// al. 2020, equation 4).
    MarginMse,
    /// KL divergence from the softmax over a query's candidates of a teacher.
    Divergence {
        /// What the similarities are divided by, not the teacher's scores.
        temperature: f64,
    },
}

named! {
    /// The name of a [`DualLoss`].
    #[derive(Default)]
    pub enum DualLossName: "a loss of dual encoders" {
        /// [`DualLoss::Contrastive`].
        #[default]
        Contrastive = "contrastive",
        /// [`DualLoss::MarginMse`].
        MarginMse = "margin-mse",
        /// [`DualLoss::Divergence`].
        Kl = "kl",
    }
}

/// What a dual encoder learns, as far as it is given.
#[derive(Clone, Copy, Debug, Default)]
pub struct DualObjective {
    /// The loss.
    pub loss: DualLossName,
    /// How near a query and a passage are; by default the model's own similarity.
    pub similarity: Option<Similarity>,
    /// What similarities are divided by: by default 0.05 for cosines, else 1.
    pub temperature: Option<f64>,
    /// Whether passages of other queries are not negatives.
    pub no_in_batch: bool,
    /// Whether queries are found by their passages, too.
    pub symmetric: bool,
}

impl DualObjective {
    /// The similarity and the loss for a model whose own similarity is `own`.
    ///
    /// # Errors
    /// [`TrainError::OutOfRange`] and [`TrainError::NoEffect`].
    pub fn complete(&self, own: Similarity) -> Result<(Similarity, DualLoss), TrainError> {
        if let Some((setting, reason)) = self.without_effect() {
            return Err(TrainError::NoEffect { setting, reason });
        }
        let similarity = self.similarity.unwrap_or(own);
        let own = if similarity == Similarity::Cosine { 0.05 } else { 1.0 };
        let temperature = self.temperature.unwrap_or(own);
        if !(temperature > 0.0 && temperature.is_finite()) {
            let range = "a number above 0";
            return Err(TrainError::OutOfRange { setting: "temperature", value: temperature, range });
        }
        let (in_batch, symmetric) = (!self.no_in_batch, self.symmetric);
        let loss = match self.loss {
            DualLossName::Contrastive => DualLoss::Contrastive { temperature, in_batch, symmetric },
            DualLossName::MarginMse => DualLoss::MarginMse,
            DualLossName::Kl => DualLoss::Divergence { temperature },
        };
        Ok((similarity, loss))
    }

    /// A setting that the others leave without effect, and why.
    fn without_effect(&self) -> Option<(&'static str, &'static str)> {
        let is_contrastive = self.loss == DualLossName::Contrastive;
        let reason = "it is for the contrastive loss";
        match self {
            Self { symmetric: true, .. } if !is_contrastive => Some(("symmetric", reason)),
            Self { no_in_batch: true, .. } if !is_contrastive => Some(("no_in_batch", reason)),
            Self { symmetric: true, no_in_batch: true, .. } => {
                Some(("symmetric", "it needs the passages of other queries as negatives"))
            }
            Self { loss: DualLossName::MarginMse, temperature: Some(_), .. } => {
                Some(("temperature", "margins are not divided by it"))
            }
            _ => None,
        }
    }
}

/// Rows of vectors, each scaled to unit length for cosines.
struct Vectors {
    rows: Vec<f64>,
    lengths: Option<Vec<f64>>,
    dim: usize,
}

impl Vectors {
    fn new(mut rows: Vec<f64>, dim: usize, similarity: Similarity) -> Self {
        let lengths = (similarity == Similarity::Cosine).then(|| {
            let scale = |row: &mut [f64]| {
                let length = row.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-12);
                row.iter_mut().for_each(|x| *x /= length);
                length
            };
            rows.chunks_exact_mut(dim).map(scale).collect()
        });
        Self { rows, lengths, dim }
    }

    fn row(&self, index: usize) -> &[f64] {
        &self.rows[index * self.dim..][..self.dim]
    }

    fn count(&self) -> usize {
        self.rows.len() / self.dim
    }

    /// The gradient of the vectors as they were given: row i is the sum over j of `weight(i, j)` times row j
    /// of `others`, in the order of j.
    fn gradient(&self, others: &Self, weight: impl Fn(usize, usize) -> f64 + Sync) -> Vec<f64> {
        let mut out = vec![0.0; self.rows.len()];
        out.par_chunks_exact_mut(self.dim).enumerate().for_each(|(index, out)| {
            for other in 0..others.count() {
                let weight = weight(index, other);
                if weight != 0.0 {
                    out.iter_mut().zip(others.row(other)).for_each(|(out, x)| *out += weight * x);
                }
            }
            if let Some(lengths) = &self.lengths {
                let unit = self.row(index);
                let along: f64 = out.iter().zip(unit).map(|(g, u)| g * u).sum();
                out.iter_mut().zip(unit).for_each(|(g, u)| *g = (*g - along * u) / lengths[index]);
            }
        });
        out
    }
}

impl DualLoss {
    /// The mean loss over the queries of a batch, and its gradient.
    ///
    /// # Errors
    /// When a query has no negative, or there is no teacher where one is needed.
    pub fn grade(
        &self,
        groups: &Groups,
        similarity: Similarity,
        [queries, passages]: [Vec<f64>; 2],
    ) -> Result<Graded, TrainError> {
        let (count, candidates) = (groups.len(), groups.starts.last().copied().unwrap_or(0));
        if let Some(query) = groups.ranges().position(|own| self.candidates(&own, candidates).len() < 2) {
            return Err(TrainError::NoNegative { query });
        }
        if !matches!(self, Self::Contrastive { .. }) && groups.scores.len() != candidates {
            return Err(TrainError::NoScores);
        }
        let dim = queries.len() / count;
        let (queries, passages) =
            (Vectors::new(queries, dim, similarity), Vectors::new(passages, dim, similarity));
        let factor = match *self {
            Self::Contrastive { temperature, .. } | Self::Divergence { temperature } => 1.0 / temperature,
            Self::MarginMse => 1.0,
        };
        // `[queries, candidates]`: the scaled similarities, then their gradient.
        let mut scores = vec![0.0; count * candidates];
        scores.par_chunks_exact_mut(candidates).enumerate().for_each(|(query, scores)| {
            let query = queries.row(query);
            for (index, score) in scores.iter_mut().enumerate() {
                let product: f64 = query.iter().zip(passages.row(index)).map(|(q, p)| q * p).sum();
                *score = factor * product;
            }
        });
        let mut backward = self.symmetric_part(groups, &scores);
        let rows = scores.par_chunks_exact_mut(candidates).zip(groups.ranges().collect::<Vec<_>>());
        let losses: Vec<f64> = rows.map(|(scores, own)| self.of_query(scores, own, groups)).collect();
        let mut loss = losses.iter().sum::<f64>() / count as f64;
        if let Some((other, gradient)) = &mut backward {
            loss = 0.5 * (loss + *other / count as f64);
            scores.iter_mut().zip(gradient).for_each(|(score, other)| *score = 0.5 * (*score + *other));
        }
        let scale = factor / count as f64;
        let weight = |query: usize, passage: usize| scale * scores[query * candidates + passage];
        let of_queries = queries.gradient(&passages, weight);
        let of_passages = passages.gradient(&queries, |passage, query| weight(query, passage));
        Ok(Graded { loss, gradients: [of_queries, of_passages] })
    }

    /// The candidates of a query.
    fn candidates(&self, own: &std::ops::Range<usize>, all: usize) -> std::ops::Range<usize> {
        match self {
            Self::Contrastive { in_batch: true, .. } => 0..all,
            _ => own.clone(),
        }
    }

    /// The loss of a query; its scores become the gradient.
    fn of_query(&self, scores: &mut [f64], own: std::ops::Range<usize>, groups: &Groups) -> f64 {
        let used = self.candidates(&own, scores.len());
        scores[..used.start].fill(0.0);
        scores[used.end..].fill(0.0);
        let positive = own.start - used.start;
        let scores = &mut scores[used];
        match self {
            Self::Contrastive { .. } => cross_entropy(scores, positive),
            Self::Divergence { .. } => divergence(scores, &groups.scores[own]),
            Self::MarginMse => {
                let wanted = &groups.scores[own];
                let negatives = (scores.len() - 1) as f64;
                let (mut loss, mut of_positive) = (0.0, 0.0);
                for index in 1..scores.len() {
                    let error = (scores[0] - scores[index]) - (wanted[0] - wanted[index]);
                    loss += error * error / negatives;
                    of_positive += 2.0 * error / negatives;
                    scores[index] = -2.0 * error / negatives;
                }
                scores[0] = of_positive;
                loss
            }
        }
    }

    /// The summed loss of finding each query by its positive among all queries, and the gradient of the
    /// scores.
    fn symmetric_part(&self, groups: &Groups, scores: &[f64]) -> Option<(f64, Vec<f64>)> {
        let Self::Contrastive { symmetric: true, .. } = self else { return None };
        let (count, candidates) = (groups.len(), scores.len() / groups.len());
        let mut gradient = vec![0.0; scores.len()];
        let mut loss = 0.0;
        for (query, own) in groups.ranges().enumerate() {
            let mut column: Vec<f64> = (0..count).map(|row| scores[row * candidates + own.start]).collect();
            loss += cross_entropy(&mut column, query);
            column.iter().enumerate().for_each(|(row, g)| gradient[row * candidates + own.start] += g);
        }
        Some((loss, gradient))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::Groups;
    use super::{DualLoss, Similarity};
    use crate::TrainError;

    const LOSSES: [DualLoss; 6] = [
        DualLoss::Contrastive { temperature: 0.3, in_batch: true, symmetric: false },
        DualLoss::Contrastive { temperature: 0.3, in_batch: true, symmetric: true },
        DualLoss::Contrastive { temperature: 1.0, in_batch: false, symmetric: false },
        DualLoss::MarginMse,
        DualLoss::Divergence { temperature: 1.0 },
        DualLoss::Divergence { temperature: 0.2 },
    ];

    fn groups() -> Groups {
        let scores = vec![3.0, 1.0, -0.5, 2.0, 2.5, 0.1, -1.0];
        Groups { starts: vec![0, 3, 5, 7], scores, labels: Vec::new() }
    }

    fn numbers(count: usize, seed: u64) -> Vec<f64> {
        (0..count as u64)
            .map(|i| (crate::dropout::mix(seed + i) >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
            .collect()
    }

    #[test]
    fn gradients_are_central_differences() {
        let (queries, passages) = (numbers(3 * 5, 1), numbers(7 * 5, 99));
        for loss in LOSSES {
            for similarity in [Similarity::Dot, Similarity::Cosine] {
                let grade = |inputs| loss.grade(&groups(), similarity, inputs).unwrap();
                let graded = grade([queries.clone(), passages.clone()]);
                for role in 0..2 {
                    for index in 0..graded.gradients[role].len() {
                        let at = |step: f64| {
                            let mut inputs = [queries.clone(), passages.clone()];
                            inputs[role][index] += step;
                            grade(inputs).loss
                        };
                        let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                        let error = (slope - graded.gradients[role][index]).abs();
                        assert!(error < 1e-8, "{loss:?} {similarity:?} {role} {index}: {error:e}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_query_without_negatives_is_an_error() {
        let one = Groups { starts: vec![0, 1], ..Groups::default() };
        let vectors = || [vec![1.0, 2.0], vec![0.5, 1.0]];
        let grade = |loss: DualLoss, groups: &Groups, inputs| loss.grade(groups, Similarity::Dot, inputs);
        assert!(matches!(grade(LOSSES[0], &one, vectors()), Err(TrainError::NoNegative { query: 0 })));
        let two = Groups { starts: vec![0, 2, 3], ..Groups::default() };
        let inputs = || [vec![1.0; 2], vec![1.0; 3]];
        assert!(matches!(grade(LOSSES[2], &two, inputs()), Err(TrainError::NoNegative { query: 1 })));
        let paired = Groups { starts: vec![0, 2, 4], ..Groups::default() };
        let inputs = [vec![1.0; 2], vec![1.0; 4]];
        assert!(matches!(grade(LOSSES[3], &paired, inputs), Err(TrainError::NoScores)));
    }
}
