//! Identifiers in JSON.

use serde::Deserialize;

/// An identifier, which some files have as a number.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum JsonId {
    /// As text.
    Text(String),
    /// As a number.
    Number(i64),
}

impl From<JsonId> for String {
    fn from(id: JsonId) -> Self {
        match id {
            JsonId::Text(text) => text,
            JsonId::Number(number) => number.to_string(),
        }
    }
}
