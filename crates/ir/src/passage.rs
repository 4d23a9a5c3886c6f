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

impl Passage {
    /// Title, separator and text as one text; without a title, only the text.
    #[must_use]
    pub fn joined(&self, separator: &str) -> String {
        match self.title.as_deref() {
            Some(title) if !title.is_empty() => format!("{title}{separator}{}", self.text),
            _ => self.text.clone(),
        }
    }
}
