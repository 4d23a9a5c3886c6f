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
//! - Scores fall strictly, so that whoever reads the list by scores alone sees these ranks: a new score that
//!   is not below the one before it becomes the next smaller f32; those of the others are the first stage's,
//!   moved to lie below the new ones.

mod cache;
mod error;
mod feed;
mod options;
mod order;
mod reranker;
mod scorer;
mod searcher;
mod stream;

pub use cache::ScoreCache;
pub use error::RerankError;
pub use options::{Aggregate, Combine, PassageWindows, RerankOptions, Unavailable};
pub use reranker::{Candidates, Ranked, RerankProgress, RerankReport, Reranked, Reranker};
pub use searcher::RerankedSearcher;
