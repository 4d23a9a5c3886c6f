//! The two sides of a search.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which side of a search a text, or its vector, is on. A model may treat the two differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// What is searched.
    Passage,
    /// What it is searched with.
    Query,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Passage => "passage",
            Self::Query => "query",
        })
    }
}
