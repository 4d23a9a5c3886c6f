//! Documents that searches leave out, by the identifier of the query.

use std::collections::{HashMap, HashSet};

use toller_ir::{DocOrd, DocSet, Filter, Query, Searcher};

use crate::ordinals::ordinals_of;

/// Documents that may not be hits; the hits are the best k of the others.
#[derive(Clone, Debug, Default)]
pub struct QueryFilter {
    allowed: Option<DocSet>,
    /// Ascending.
    excluded: HashMap<String, Vec<DocOrd>>,
}

/// Documents by their identifiers, as a user names them.
#[derive(Clone, Debug, Default)]
pub struct DocumentLists {
    /// The only documents that may be hits; `None` for all.
    pub allowed: Option<HashSet<String>>,
    /// Pairs of a query and a document that may not be its hit.
    pub excluded: Vec<(String, String)>,
}

impl DocumentLists {
    /// Leaves out for each query the document that has its identifier: the query itself, if queries are
    /// passages of the collection.
    #[must_use]
    pub fn without_queries(queries: &[Query]) -> Self {
        let own = queries.iter().map(|query| (query.id.clone(), query.id.clone()));
        Self { allowed: None, excluded: own.collect() }
    }

    /// Whether nothing is left out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.allowed.is_none() && self.excluded.is_empty()
    }

    /// The identifiers, each once.
    #[must_use]
    pub fn named(&self) -> HashSet<&str> {
        let excluded = self.excluded.iter().map(|(_, doc)| doc);
        excluded.chain(self.allowed.iter().flatten()).map(String::as_str).collect()
    }

    /// The filter by the ordinals of `collection`, and the identifiers that `collection` does not have, in
    /// order.
    #[must_use]
    pub fn in_collection(&self, collection: &dyn Searcher) -> (QueryFilter, Vec<&str>) {
        let ordinals = match self.is_empty() {
            true => HashMap::new(),
            false => ordinals_of(collection, &self.named()),
        };
        let filter = self.by(|id| ordinals.get(id).copied());
        let mut missing: Vec<&str> =
            self.named().into_iter().filter(|id| !ordinals.contains_key(id)).collect();
        missing.sort_unstable();
        (filter, missing)
    }

    /// The filter by the ordinals that `ordinal` has for identifiers. Identifiers without an ordinal filter
    /// nothing.
    #[must_use]
    pub fn by(&self, ordinal: impl Fn(&str) -> Option<DocOrd>) -> QueryFilter {
        let ordinal = |id: &String| ordinal(id);
        let mut filter = QueryFilter {
            allowed: self.allowed.as_ref().map(|ids| ids.iter().filter_map(ordinal).collect()),
            excluded: HashMap::new(),
        };
        for (query, doc) in &self.excluded {
            filter.excluded.entry(query.clone()).or_default().extend(ordinal(doc));
        }
        for docs in filter.excluded.values_mut() {
            docs.sort_unstable();
            docs.dedup();
        }
        filter
    }
}

impl QueryFilter {
    /// Leaves out what `other` excludes, too.
    pub fn exclude(&mut self, other: Self) {
        for (query, docs) in other.excluded {
            let of_query = self.excluded.entry(query).or_default();
            of_query.extend(docs);
            of_query.sort_unstable();
            of_query.dedup();
        }
    }

    /// Whether no document may be a hit.
    #[must_use]
    pub fn allows_nothing(&self) -> bool {
        self.allowed.as_ref().is_some_and(DocSet::is_empty)
    }

    /// Calls `search` with the filter of a request for `queries`.
    pub fn with<T>(&self, queries: &[Query], search: impl FnOnce(Filter<'_>) -> T) -> T {
        let of_query = |query: &Query| self.excluded.get(&query.id).cloned().unwrap_or_default();
        let excluded: Vec<Vec<DocOrd>> = match self.excluded.is_empty() {
            true => Vec::new(),
            false => queries.iter().map(of_query).collect(),
        };
        search(Filter { allowed: self.allowed.as_ref(), excluded: &excluded })
    }
}
