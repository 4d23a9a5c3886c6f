//! Lines of JSONL files.

use serde::Serialize;

/// A document of a collection.
#[derive(Serialize)]
pub(crate) struct DocumentLine<'a> {
    #[serde(rename = "_id")]
    pub(crate) id: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) title: &'a str,
    pub(crate) text: &'a str,
}

/// A query.
#[derive(Serialize)]
pub(crate) struct QueryLine<'a> {
    #[serde(rename = "_id")]
    pub(crate) id: &'a str,
    pub(crate) text: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(crate) answers: &'a [String],
}
