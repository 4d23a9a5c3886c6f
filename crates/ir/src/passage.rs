//! A passage of a collection.

/// One document of a collection, as its file states it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// The identifier that runs and qrels use.
    pub id: String,
    /// The title, where the format has one and it is not empty.
    pub title: Option<String>,
    /// The text.
    pub text: String,
    /// What surrounds the text, if its field was named: the paragraph of an answer.
    pub context: Option<String>,
}
