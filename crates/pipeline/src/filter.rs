//! Documents that searches leave out, by the identifier of the query.

use std::collections::HashMap;

use toller_ir::{DocOrd, Query};
use toller_topk::DocSet;

/// Documents that may not be hits; the hits are the best k of the others.
#[derive(Clone, Debug, Default)]
pub struct QueryFilter {
    allowed: Option<DocSet>,
    /// Ascending.
    excluded: HashMap<String, Vec<DocOrd>>,
}

impl QueryFilter {
    /// Only `allowed` documents are searched (all where `None`), and of these not those that are `excluded` for a query, by
    /// its identifier.
    #[must_use]
    pub fn new(allowed: Option<DocSet>, mut excluded: HashMap<String, Vec<DocOrd>>) -> Self {
        for docs in excluded.values_mut() {
            docs.sort_unstable();
            docs.dedup();
        }
        Self { allowed, excluded }
    }

    /// The only documents that may be hits; `None` for all.
    #[must_use]
    pub fn allowed(&self) -> Option<&DocSet> {
        self.allowed.as_ref()
    }

    /// The documents that may not be hits of a query, ascending.
    #[must_use]
    pub fn excluded(&self, query: &Query) -> &[DocOrd] {
        self.excluded.get(&query.id).map_or(&[], Vec::as_slice)
    }

    /// The same for each of several queries; empty where nothing is excluded at all.
    #[must_use]
    pub fn excluded_of(&self, queries: &[Query]) -> Vec<Vec<DocOrd>> {
        if self.excluded.is_empty() {
            return Vec::new();
        }
        queries.iter().map(|query| self.excluded(query).to_vec()).collect()
    }
}
