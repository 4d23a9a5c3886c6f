//! What was mined for one query.

use toller_ir::Passage;

/// A query with its positives and negatives.
#[derive(Clone, Debug, PartialEq)]
pub struct Mined<'a> {
    /// The query's identifier.
    pub query_id: &'a str,
    /// The query's text, where it is known.
    pub query: Option<&'a str>,
    /// The relevant documents.
    pub positives: Vec<Positive<'a>>,
    /// The negatives, best first.
    pub negatives: Vec<Negative<'a>>,
    /// Whether each positive has its own negatives, which take turns, where a format has pairs.
    pub is_dealt: bool,
}

/// A relevant document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Positive<'a> {
    /// Its identifier.
    pub id: &'a str,
    /// A reranker's score, where one is known.
    pub score: Option<f64>,
    /// Title and text, where they are known.
    pub passage: Option<&'a Passage>,
}

/// A document that was retrieved and is not relevant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Negative<'a> {
    /// Its identifier.
    pub id: &'a str,
    /// Its rank, from 1.
    pub rank: usize,
    /// Its score: the reranker's, where there is one.
    pub score: f64,
    /// Title and text, where they are known.
    pub passage: Option<&'a Passage>,
}
