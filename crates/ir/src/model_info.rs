//! The identity of a model, as stores and indexes keep it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The identity of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The name that the user gave; one model may have two names.
    pub name: String,
    /// The name of the model that encodes queries, if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_model: Option<String>,
    /// A hash of everything that determines its output: weights, tokenizer, pooling, prompts; not the maximum
    /// length, which may differ between queries and passages.
    pub fingerprint: String,
    /// The same of only the encoder of passages, if queries have another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passage_encoder: Option<String>,
}

/// A value that nobody knows.
const UNKNOWN: &str = "unknown";

/// The start of the fingerprint of an unknown model.
const UNKNOWN_MODEL: &str = "unknown:";

impl ModelInfo {
    /// A model that encodes queries and passages alike.
    #[must_use]
    pub fn new(name: impl Into<String>, fingerprint: impl Into<String>) -> Self {
        Self { name: name.into(), query_model: None, fingerprint: fingerprint.into(), passage_encoder: None }
    }

    /// The unknown model of imported vectors. `vectors` identifies them, so that other vectors of an unknown
    /// model are not taken for vectors of the same model.
    #[must_use]
    pub fn unknown(vectors: &str) -> Self {
        Self::new(UNKNOWN, format!("{UNKNOWN_MODEL}{vectors}"))
    }

    /// Whether the model is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !Self::is_unknown(&self.fingerprint)
    }

    /// Whether this is the fingerprint of an unknown model.
    #[must_use]
    pub fn is_unknown(fingerprint: &str) -> bool {
        fingerprint.starts_with(UNKNOWN_MODEL)
    }

    /// Whether this model encodes passages as `other` does: it is the same model, or only the encoder of
    /// queries is another.
    #[must_use]
    pub fn encodes_passages_as(&self, other: &Self) -> bool {
        let encoder = self.passage_encoder.as_ref();
        self.fingerprint == other.fingerprint
            || encoder.is_some() && encoder == other.passage_encoder.as_ref()
    }
}

impl fmt::Display for ModelInfo {
    /// The names, for messages.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.query_model {
            Some(queries) => write!(formatter, "{} with {queries} for queries", self.name),
            None => formatter.write_str(&self.name),
        }
    }
}
