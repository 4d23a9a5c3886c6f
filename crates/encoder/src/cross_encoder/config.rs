//! The classifier's part of config.json.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use toller_checkpoint::{ModelError, labels_of_adapter, required_json};
use toller_nn::{Activation, Pooling};

use crate::EncoderError;

/// The classifier's settings in config.json.
#[derive(Debug)]
pub(crate) struct ClassifierConfig {
    /// The labels' names, by number.
    pub(crate) labels: Vec<String>,
    /// The Python class that sentence-transformers applies to the logits.
    pub(super) activation_class: Option<String>,
    /// The padding token.
    pub(super) pad: Option<u32>,
    /// ModernBERT's pooling, and its head's activation and bias.
    pub(super) pooling: Pooling,
    pub(crate) activation: Activation,
    pub(crate) bias: bool,
}

#[derive(Deserialize)]
struct Raw {
    /// The names may be numbers.
    id2label: Option<BTreeMap<String, Value>>,
    num_labels: Option<usize>,
    sentence_transformers: Option<SentenceTransformers>,
    /// The same, before sentence-transformers 4.0.
    sbert_ce_default_activation_function: Option<String>,
    /// -1 for none in old files.
    pad_token_id: Option<i64>,
    classifier_pooling: Option<String>,
    classifier_activation: Option<String>,
    #[serde(default)]
    classifier_bias: bool,
}

#[derive(Deserialize)]
struct SentenceTransformers {
    activation_fn: Option<String>,
}

impl ClassifierConfig {
    pub(crate) fn read(path: &Path) -> Result<Self, EncoderError> {
        let raw: Raw = required_json(path)?;
        let problem = |problem: String| ModelError::Config { path: path.to_owned(), problem };
        let labels = match &raw.id2label {
            Some(names) => by_number(names)
                .ok_or_else(|| problem("id2label does not number its labels from 0".to_owned()))?,
            // The default of transformers.
            None => numbered(raw.num_labels.unwrap_or(2).min(u16::MAX.into())),
        };
        let adapted = path.parent().map(labels_of_adapter).transpose()?.flatten();
        let labels = match adapted.filter(|count| *count != labels.len()) {
            Some(count) => numbered(count),
            None => labels,
        };
        if labels.is_empty() {
            return Err(problem("a classifier without labels".to_owned()).into());
        }
        let pooling = match raw.classifier_pooling.as_deref() {
            None | Some("cls") => Pooling::Cls,
            Some("mean") => Pooling::Mean,
            Some(other) => {
                let what = format!("classifier_pooling {other:?}");
                return Err(ModelError::unsupported(path, what, "cls, mean").into());
            }
        };
        let activation = raw.classifier_activation.as_deref().unwrap_or("gelu");
        Ok(Self {
            labels,
            activation_class: raw
                .sentence_transformers
                .and_then(|section| section.activation_fn)
                .or(raw.sbert_ce_default_activation_function),
            pad: raw.pad_token_id.and_then(|pad| pad.try_into().ok()),
            pooling,
            activation: activation.parse().map_err(|error| problem(format!("{error}")))?,
            bias: raw.classifier_bias,
        })
    }
}

impl ClassifierConfig {
    /// The same for a new classifier with `count` labels, which have the names of transformers.
    pub(super) fn with_new_labels(self, count: usize) -> Self {
        Self { labels: numbered(count), activation_class: None, ..self }
    }
}

/// The names that transformers gives to labels without names.
fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|label| format!("LABEL_{label}")).collect()
}

/// The names in the order of their numbers, which must be 0, 1, 2, ...
fn by_number(names: &BTreeMap<String, Value>) -> Option<Vec<String>> {
    let name = |name: &Value| name.as_str().map_or_else(|| name.to_string(), str::to_owned);
    (0..names.len()).map(|number| names.get(&number.to_string()).map(name)).collect()
}
