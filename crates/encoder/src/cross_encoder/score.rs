//! From the logits of a pair to its score.

use std::path::Path;

use toller_checkpoint::ModelError;
use toller_ir::named;

use super::CrossEncoderOptions;
use super::config::ClassifierConfig;
use crate::EncoderError;

named! {
    /// How the logits of a pair become a score. Each way keeps the order of the logits, except for ties: a
    /// sigmoid or softmax of f32 is 1 for every logit above 17, so the default for one label is the logit
    /// itself.
    pub enum ScoreActivation: "an activation" {
        /// The label's logit.
        Identity = "logit",
        /// The sigmoid of the label's logit.
        Sigmoid = "sigmoid",
        /// The label's share of the softmax over all labels.
        Softmax = "softmax",
        /// The default of sentence-transformers' `CrossEncoder.predict`: the activation of the model's
        /// configuration, else the sigmoid for one label and the logit for several.
        Configured = "configured",
    }
}

/// The label that counts, and how its logit becomes a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scoring {
    label: usize,
    activation: ScoreActivation,
}

impl Scoring {
    pub(super) fn new(
        classifier: &ClassifierConfig,
        options: &CrossEncoderOptions,
        config_path: &Path,
    ) -> Result<Self, EncoderError> {
        let labels = &classifier.labels;
        let label = match (options.label, labels.len()) {
            (Some(label), count) if label < count => label,
            (None, 1) => 0,
            // "not relevant" and "relevant", as RocketQA's and most two-label rerankers have them.
            (None, 2) => 1,
            (asked, _) => return Err(EncoderError::Label { asked, labels: labels.clone() }),
        };
        let activation = match options.activation {
            Some(ScoreActivation::Configured) => configured(classifier, config_path)?,
            Some(activation) => activation,
            None if labels.len() == 1 => ScoreActivation::Identity,
            None => ScoreActivation::Softmax,
        };
        Ok(Self { label, activation })
    }

    /// The label's share of the softmax over all labels.
    pub(crate) fn softmax(label: usize) -> Self {
        Self { label, activation: ScoreActivation::Softmax }
    }

    /// The score of a pair as a number from 0 to 1: the sigmoid of a score that is a logit.
    pub(super) fn share(self, logits: &[f32]) -> f32 {
        match self.activation {
            ScoreActivation::Softmax | ScoreActivation::Sigmoid => self.score(logits),
            ScoreActivation::Identity | ScoreActivation::Configured => {
                Self { activation: ScoreActivation::Sigmoid, ..self }.score(logits)
            }
        }
    }

    /// The score of a pair or a token with these logits, one for each label.
    pub(crate) fn score(self, logits: &[f32]) -> f32 {
        let logit = logits[self.label];
        let exp = |x: f32| libm::exp(f64::from(x - logit));
        match self.activation {
            ScoreActivation::Softmax => (1.0 / logits.iter().map(|&x| exp(x)).sum::<f64>()) as f32,
            ScoreActivation::Sigmoid => (1.0 / (1.0 + libm::exp(f64::from(-logit)))) as f32,
            ScoreActivation::Identity | ScoreActivation::Configured => logit,
        }
    }
}

/// The activation of sentence-transformers.
fn configured(classifier: &ClassifierConfig, config_path: &Path) -> Result<ScoreActivation, EncoderError> {
    let Some(class) = &classifier.activation_class else {
        let one = classifier.labels.len() == 1;
        return Ok(if one { ScoreActivation::Sigmoid } else { ScoreActivation::Identity });
    };
    match class.rsplit('.').next().unwrap_or_default() {
        "Sigmoid" => Ok(ScoreActivation::Sigmoid),
        "Identity" => Ok(ScoreActivation::Identity),
        "Softmax" => Ok(ScoreActivation::Softmax),
        _ => {
            let (what, supported) =
                (format!("the activation {class:?}"), "torch.nn's Sigmoid, Identity and Softmax");
            Err(ModelError::unsupported(config_path, what, supported).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ScoreActivation, Scoring};

    #[test]
    fn scores_follow_the_logits() {
        let score = |label, activation, logits: &[f32]| Scoring { label, activation }.score(logits);
        assert_eq!(score(0, ScoreActivation::Identity, &[-3.5]), -3.5);
        assert_eq!(score(0, ScoreActivation::Sigmoid, &[0.0]), 0.5);
        assert_eq!(score(0, ScoreActivation::Sigmoid, &[1e9]), 1.0);
        assert_eq!(score(0, ScoreActivation::Sigmoid, &[-1e9]), 0.0);
        assert_eq!(score(1, ScoreActivation::Softmax, &[2.0, 2.0]), 0.5);
        assert_eq!(score(1, ScoreActivation::Softmax, &[-1e9, 1e9]), 1.0);
        assert_eq!(score(0, ScoreActivation::Softmax, &[-1e9, 1e9]), 0.0);
        let share = |activation| Scoring { label: 0, activation }.share(&[0.0, -1e9]);
        assert_eq!(share(ScoreActivation::Identity), 0.5);
        assert_eq!(share(ScoreActivation::Sigmoid), 0.5);
        assert_eq!(share(ScoreActivation::Softmax), 1.0);
        let share = 1.0 / (1.0 + 1f64.exp() + (-2f64).exp());
        assert_eq!(score(2, ScoreActivation::Softmax, &[1.5, -1.5, 0.5]), share as f32);
    }
}
