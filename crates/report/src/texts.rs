//! The texts of queries and passages, for those who read a page.

use std::collections::{HashMap, HashSet};

use toller_ir::Passage;

/// Texts by identifier. A text that is not here is not shown.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// Of queries.
    pub queries: HashMap<String, String>,
    /// Of documents.
    pub passages: HashMap<String, Passage>,
}

impl Texts {
    /// The query's text.
    #[must_use]
    pub fn query(&self, id: &str) -> Option<&str> {
        self.queries.get(id).map(String::as_str)
    }

    /// The passage.
    #[must_use]
    pub fn passage(&self, id: &str) -> Option<&Passage> {
        self.passages.get(id)
    }
}

/// Identifiers of texts that are wanted.
#[derive(Clone, Debug, Default)]
pub struct Wanted<'a> {
    /// Of queries.
    pub queries: HashSet<&'a str>,
    /// Of documents.
    pub documents: HashSet<&'a str>,
}
