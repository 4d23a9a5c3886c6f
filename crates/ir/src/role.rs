//! The two sides of a search.

use serde::{Deserialize, Serialize};

crate::named! {
    /// Which side of a search a text, or its vector, is on. A model may treat the two differently.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Role: "a side of a search" {
        /// What is searched.
        Passage = "passage",
        /// What it is searched with.
        Query = "query",
    }
}
