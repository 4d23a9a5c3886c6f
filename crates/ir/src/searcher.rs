//! The interface of everything that retrieves.

use std::borrow::Cow;

use crate::{AnyError, DocOrd, Hit, Query};

/// The hits of one query, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranking {
    /// At most k hits, in the order of [`Hit`].
    pub hits: Vec<Hit>,
}

/// Any error of a search, with the typed error of the searcher inside.
pub type SearchError = AnyError;

/// Something that retrieves documents for queries: dense, sparse, hybrid, reranked.
pub trait Searcher {
    /// The k best documents for each query, one [`Ranking`] a query, in the order of `queries`.
    ///
    /// # Errors
    /// Whatever the searcher cannot do as asked; never a shortened or approximate answer.
    fn search(&self, queries: &[Query], k: usize) -> Result<Vec<Ranking>, SearchError>;

    /// The identifier of a document that this searcher returned; owned where it is kept packed.
    fn doc_id(&self, doc: DocOrd) -> Cow<'_, str>;

    /// The number of documents that can be retrieved.
    fn doc_count(&self) -> usize;
}
