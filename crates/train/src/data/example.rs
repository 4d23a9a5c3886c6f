//! A query with its passages.

/// A query with passages that answer it and passages that do not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Example {
    /// The query.
    pub query: String,
    /// At least one.
    pub positives: Vec<Candidate>,
    /// Best first, where they were retrieved.
    pub negatives: Vec<Candidate>,
}

/// A passage of an example.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// Its identifier in the collection, where it has one.
    pub id: Option<String>,
    /// Its title, where it has one.
    pub title: Option<String>,
    /// Its text; `None` for that of the collection.
    pub text: Option<String>,
    /// A teacher's score.
    pub score: Option<f64>,
    /// The label of a pair that is one, from 0 to 1.
    pub label: Option<f64>,
}

impl Candidate {
    /// A text without a title.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }
}
