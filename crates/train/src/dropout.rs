//! Dropout (Srivastava et al. 2014) that can be replayed.
//!
//! Whether an element is dropped is a function of the seed, the step, the sequence's number in the batch, the
//! operation and the element's place in the sequence. So neither threads nor the division of a batch into
//! chunks changes a mask, and no mask is stored.

use std::path::Path;

use serde::Deserialize;
use toller_checkpoint::{ModelError, ModelType, required_json};
use toller_ir::SplitMix64;
use toller_nn::Place;
use toller_simd::product::Floats;
use toller_simd::{Kernel, Simd};

/// The probabilities of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Of a state.
    pub hidden: f32,
    /// Of an attention weight.
    pub attention: f32,
    /// Of a feature before a classifier.
    pub classifier: f32,
}

/// The fields of config.json: BERT's, then DistilBERT's for the same.
#[derive(Deserialize)]
struct Config {
    model_type: Option<String>,
    hidden_dropout_prob: Option<f32>,
    attention_probs_dropout_prob: Option<f32>,
    classifier_dropout: Option<f32>,
    dropout: Option<f32>,
    attention_dropout: Option<f32>,
    seq_classif_dropout: Option<f32>,
}

impl Rates {
    /// The same for all.
    #[must_use]
    pub fn all(rate: f32) -> Self {
        Self { hidden: rate, attention: rate, classifier: rate }
    }

    /// Those that a model was trained with, by the config.json in its folder.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of_model(folder: &Path) -> Result<Self, ModelError> {
        let config: Config = required_json(&folder.join("config.json"))?;
        let is_distilbert = config.model_type.as_deref() == Some(ModelType::DistilBert.name());
        let (hidden, attention, classifier) = if is_distilbert {
            (config.dropout, config.attention_dropout, config.seq_classif_dropout)
        } else {
            (config.hidden_dropout_prob, config.attention_probs_dropout_prob, config.classifier_dropout)
        };
        let hidden = hidden.unwrap_or(0.0);
        Ok(Self { hidden, attention: attention.unwrap_or(0.0), classifier: classifier.unwrap_or(hidden) })
    }
}

/// Where a network has dropout, as in transformers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    /// Whether the network ends with a classifier: what goes into its last layer is dropped.
    pub(crate) classifies: bool,
    /// Whether also what goes into the other layers of the classifier is.
    pub(crate) in_head: bool,
    /// Whether what comes out of the output layer of an attention is.
    pub(crate) after_attention: bool,
}

impl Places {
    /// Those of a network by the config.json in its folder.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn of_model(folder: &Path, classifies: bool) -> Result<Self, ModelError> {
        let config: Config = required_json(&folder.join("config.json"))?;
        let is = |model_type: ModelType| config.model_type.as_deref() == Some(model_type.name());
        let drops_in_head =
            [ModelType::Roberta, ModelType::XlmRoberta, ModelType::Camembert, ModelType::Electra];
        Ok(Self {
            classifies,
            in_head: classifies && drops_in_head.into_iter().any(is),
            after_attention: !is(ModelType::DistilBert),
        })
    }

    /// Whether what goes into a linear layer is dropped.
    pub(crate) fn drops_input(self, place: Place, is_last: bool) -> bool {
        self.classifies && is_last || self.in_head && place == Place::Head
    }

    /// Whether what comes out of a linear layer before a residual is dropped.
    pub(crate) fn drops_output(self, place: Place) -> bool {
        self.after_attention || place != Place::Inner
    }
}

/// The masks of a step.
#[derive(Clone, Copy, Debug)]
pub struct Dropout {
    pub(crate) rates: Rates,
    key: u64,
}

/// The masks of one operation over one sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mask {
    key: u64,
    /// Of 2^32: draws below it are dropped.
    threshold: u32,
    scale: f32,
}

impl Dropout {
    /// The masks of a step of a run.
    #[must_use]
    pub fn new(rates: Rates, seed: u64, step: u64) -> Self {
        Self { rates, key: mix(mix(seed).wrapping_add(step)) }
    }

    /// The mask of an operation over a sequence; `None` where nothing is dropped.
    pub(crate) fn mask(&self, rate: f32, sequence: u64, operation: usize) -> Option<Mask> {
        let key = mix(mix(self.key.wrapping_add(sequence)).wrapping_add(operation as u64));
        let threshold = (f64::from(rate) * 4_294_967_296.0) as u32;
        (threshold > 0).then_some(Mask { key, threshold, scale: (1.0 / (1.0 - f64::from(rate))) as f32 })
    }
}

impl Mask {
    /// Multiplies elements by 0 or 1 / (1 - rate). The first element is number `first` of the sequence.
    #[inline(always)]
    pub(crate) fn apply(&self, first: usize, values: &mut [f32]) {
        for (index, value) in values.iter_mut().enumerate() {
            let draw = (mix(self.key.wrapping_add((first + index) as u64)) >> 32) as u32;
            *value = if draw < self.threshold { 0.0 } else { *value * self.scale };
        }
    }
}

/// [`Mask::apply`] from the first element, with the instruction set of this machine.
pub(crate) struct Apply<'a> {
    pub(crate) mask: Mask,
    pub(crate) values: &'a mut [f32],
}

impl Kernel for Apply<'_> {
    type Output = ();
    type Product = Floats;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        self.mask.apply(0, self.values);
    }
}

/// A number that follows from `x` alone, and looks as if it did not.
#[inline(always)]
pub(crate) fn mix(x: u64) -> u64 {
    SplitMix64::after(0, x).draw()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Dropout, Rates};

    #[test]
    fn rates_have_the_names_of_their_architecture() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let mut config = json!({
            "hidden_dropout_prob": 0.5, "attention_probs_dropout_prob": 0.25, "classifier_dropout": 0.125,
            "dropout": 0.0625, "attention_dropout": 0.03125, "seq_classif_dropout": 0.0
        });
        let mut of = |model_type: &str| {
            config["model_type"] = json!(model_type);
            std::fs::write(folder.path().join("config.json"), config.to_string())?;
            Ok::<_, Box<dyn std::error::Error>>(Rates::of_model(folder.path())?)
        };
        assert_eq!(of("bert")?, Rates { hidden: 0.5, attention: 0.25, classifier: 0.125 });
        assert_eq!(of("distilbert")?, Rates { hidden: 0.0625, attention: 0.03125, classifier: 0.0 });
        Ok(())
    }

    #[test]
    fn masks_are_even_and_replayed_from_any_element() {
        let mask = |step, sequence, operation| {
            Dropout::new(Rates::default(), 7, step).mask(0.1, sequence, operation).map(|mask| {
                let mut values = vec![1.0; 100_000];
                mask.apply(0, &mut values);
                let mut later = [1.0; 9];
                mask.apply(41, &mut later);
                assert_eq!(later, values[41..50]);
                values
            })
        };
        let first = mask(1, 2, 3).unwrap_or_default();
        let dropped = first.iter().filter(|&&value| value == 0.0).count();
        assert!((9_600..10_400).contains(&dropped), "{dropped} of 100,000 at a rate of .1");
        assert!(first.iter().all(|&value| value == 0.0 || value == 1.0 / 0.9));
        for other in [mask(2, 2, 3), mask(1, 3, 3), mask(1, 2, 4)] {
            let other = other.unwrap_or_default();
            let both = first.iter().zip(&other).filter(|(a, b)| **a == 0.0 && **b == 0.0).count();
            assert!((800..1_200).contains(&both), "{both} dropped twice at a rate of .01");
        }
        assert!(Dropout::new(Rates::default(), 7, 1).mask(0.0, 0, 0).is_none());
    }
}
