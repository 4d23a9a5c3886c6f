//! A query.

/// One query (topic, question) of a query set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The identifier that runs and qrels use.
    pub id: String,
    /// The text.
    pub text: String,
    /// The accepted answer strings, where the format carries them (DPR, EntityQuestions); else empty.
    pub answers: Vec<String>,
}
