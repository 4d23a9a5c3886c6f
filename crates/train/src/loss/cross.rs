//! Losses of cross-encoders.

use toller_ir::{counted, named};

use super::Groups;
use super::ranking::{PairWeights, pairs};
use super::softmax::cross_entropy;
use crate::TrainError;
use crate::model::Graded;

named! {
    /// What a cross-encoder learns.
    pub enum CrossLoss: "a loss of cross-encoders" {
        /// Binary cross entropy of each pair's one logit.
        Binary = "binary",
        /// Softmax cross entropy over each pair's two labels, "not relevant" and "relevant".
        TwoLabels = "two-labels",
        /// Softmax cross entropy of the positive among a query's candidates, by their one logit (Gao et al.
        /// 2021: localized contrastive estimation).
        Listwise = "listwise",
        /// -log2 sigmoid of the difference of two candidates' logits, the mean over all pairs with different
        /// labels (Burges et al. 2005: RankNet).
        RankNet = "ranknet",
        /// As RankNet, with each pair weighted by what its order changes in nDCG (Wang et al. 2018:
        /// NDCG-Loss2++).
        Lambda = "lambda",
    }
}

impl CrossLoss {
    /// The loss that a model with this many labels has by default.
    #[must_use]
    pub fn for_labels(labels: usize) -> Self {
        if labels == 2 { Self::TwoLabels } else { Self::Binary }
    }

    /// The labels of a new classifier for this loss.
    #[must_use]
    pub fn new_labels(loss: Option<Self>) -> usize {
        if loss == Some(Self::TwoLabels) { 2 } else { 1 }
    }

    /// Checks that a model with this many labels can have the loss.
    ///
    /// # Errors
    /// When it has more or fewer labels.
    pub fn check(self, labels: usize) -> Result<(), TrainError> {
        let needed = if self == Self::TwoLabels { 2 } else { 1 };
        if labels == needed {
            return Ok(());
        }
        let needed = counted(needed, "label");
        Err(TrainError::Mismatch(format!("a loss over {needed}, and a model that has {labels}")))
    }

    /// The mean loss over what is compared (pairs of texts, queries, or pairs of candidates), and its
    /// gradient.
    ///
    /// # Errors
    /// When a query has no negative among candidates that are compared, or a label is outside of what the
    /// loss takes.
    pub fn grade(self, groups: &Groups, [mut logits, _]: [Vec<f64>; 2]) -> Result<Graded, TrainError> {
        let mut loss = 0.0;
        let count = match self {
            Self::Listwise => {
                if let Some(query) = groups.ranges().position(|own| own.len() < 2) {
                    return Err(TrainError::NoNegative { query });
                }
                groups.ranges().for_each(|own| loss += cross_entropy(&mut logits[own], 0));
                groups.len()
            }
            Self::RankNet | Self::Lambda => {
                let weights = if self == Self::Lambda { PairWeights::Ndcg } else { PairWeights::Equal };
                let mut all = 0;
                for (query, own) in groups.ranges().enumerate() {
                    let (of_query, count) = pairs(&mut logits[own.clone()], &groups.labels[own], weights);
                    if count == 0 {
                        return Err(TrainError::NoNegative { query });
                    }
                    (loss, all) = (loss + of_query, all + count);
                }
                all
            }
            Self::Binary | Self::TwoLabels => {
                if let Some(label) = groups.labels.iter().find(|label| !(0.0..=1.0).contains(*label)) {
                    return Err(TrainError::Mismatch(format!(
                        "an example has the label {label}, and this loss takes labels from 0 to 1"
                    )));
                }
                let pairs = groups.labels.len();
                let labels = logits.len() / pairs.max(1);
                for (logits, &label) in logits.chunks_exact_mut(labels.max(1)).zip(&groups.labels) {
                    loss +=
                        if self == Self::Binary { binary(&mut logits[0], label) } else { two(logits, label) };
                }
                pairs
            }
        };
        logits.iter_mut().for_each(|gradient| *gradient /= count as f64);
        Ok(Graded { loss: loss / count as f64, gradients: [logits, Vec::new()] })
    }
}

/// -(label log sigmoid(x) + (1 - label) log(1 - sigmoid(x))); the logit becomes the gradient.
fn binary(logit: &mut f64, label: f64) -> f64 {
    let x = *logit;
    let loss = x.max(0.0) - x * label + libm::log1p(libm::exp(-x.abs()));
    *logit = 1.0 / (1.0 + libm::exp(-x)) - label;
    loss
}

/// Cross entropy with the share `label` for the second of two labels; the logits become the gradient.
fn two(logits: &mut [f64], label: f64) -> f64 {
    let mut difference = logits[1] - logits[0];
    let loss = binary(&mut difference, label);
    (logits[0], logits[1]) = (-difference, difference);
    loss
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::Groups;
    use super::CrossLoss;
    use crate::TrainError;

    #[test]
    fn gradients_are_central_differences() {
        let groups =
            Groups { starts: vec![0, 3, 5], scores: Vec::new(), labels: vec![1.0, 0.0, 0.0, 0.75, 0.0] };
        for (loss, labels) in [
            (CrossLoss::Binary, 1),
            (CrossLoss::TwoLabels, 2),
            (CrossLoss::Listwise, 1),
            (CrossLoss::RankNet, 1),
            (CrossLoss::Lambda, 1),
        ] {
            assert!(loss.check(labels).is_ok() && loss.check(3 - labels).is_err());
            let logits: Vec<f64> = (0..5 * labels).map(|i| (i as f64 * 1.7).sin() * 3.0).collect();
            let grade = |logits| loss.grade(&groups, [logits, Vec::new()]).unwrap();
            let graded = grade(logits.clone());
            for index in 0..logits.len() {
                let at = |step: f64| {
                    let mut logits = logits.clone();
                    logits[index] += step;
                    grade(logits).loss
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((slope - graded.gradients[0][index]).abs() < 1e-9, "{loss:?} {index}");
            }
        }
    }

    #[test]
    fn queries_without_negatives_are_an_error() {
        let groups = Groups { starts: vec![0, 1, 2], scores: Vec::new(), labels: vec![1.0; 2] };
        for loss in [CrossLoss::Listwise, CrossLoss::RankNet, CrossLoss::Lambda] {
            let graded = loss.grade(&groups, [vec![0.5, 1.0], Vec::new()]);
            assert!(matches!(graded, Err(TrainError::NoNegative { query: 0 })));
        }
        let graded = CrossLoss::Binary.grade(&groups, [vec![0.5, 1.0], Vec::new()]);
        assert!(graded.is_ok_and(|graded| graded.loss > 0.0), "labelled pairs are learned from one by one");
    }

    #[test]
    fn labels_beyond_those_of_the_loss_are_an_error() {
        for (loss, labels) in [(CrossLoss::Binary, 1), (CrossLoss::TwoLabels, 2)] {
            for label in [4.5, -0.5] {
                let groups = Groups { starts: vec![0, 1, 2], scores: Vec::new(), labels: vec![0.0, label] };
                let graded = loss.grade(&groups, [vec![0.5; 2 * labels], Vec::new()]);
                let message = graded.err().map(|error| error.to_string()).unwrap_or_default();
                assert!(message.contains(&format!("the label {label}, and")), "{loss:?}: {message:?}");
            }
        }
    }
}
