//! Reranking: the best hits of a first stage, scored again by cross-encoders (Nogueira and Cho 2019).
//!
//! A [`Reranker`] takes each query's [`Candidates`]. All pairs of all queries are one stream: a thread reads
//! texts, looks up what is known already and tokenizes, threads score, and the caller's thread keeps what
//! they found. A query is tokenized once, a passage once in a window of pairs; a pair is composed of the
//! tokens of both.
//!
//! Rules of a reranked list:
//!
//! - The first `depth` hits are ordered by their new score, descending; ties keep the first stage's order.
//! - The others follow below, in their order, unless they are cut.
//! - Scores fall strictly, so that a reader that goes only by scores sees these ranks. A new score that is
//!   not below the previous score becomes the next smaller f32. The other hits keep the scores of the first
//!   stage, shifted below the new scores.

mod cache;
mod error;
mod feed;
mod options;
mod order;
mod reranker;
mod retrieve;
mod scorer;
mod searcher;
mod stream;

pub use cache::ScoreCache;
pub use error::RerankError;
pub use options::{Aggregate, Combine, PassageWindows, RerankOptions, Unavailable};
pub use reranker::{Candidates, Ranked, RerankReport, Reranked, Reranker};
pub use retrieve::{RetrieveJob, Retrieved};
pub use searcher::RerankedSearcher;

/// Says whether work is to stop. It is asked after each batch of pairs.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);
