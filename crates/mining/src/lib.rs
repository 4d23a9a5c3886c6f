//! Negatives for training: the pool of several runs ([`pool`]), which of its documents to take
//! ([`Selection`], [`ScoreRule`]), and how to write them ([`Format`]). The runs may come from any searcher.

mod check;
mod format;
mod pool;
mod record;
mod score_rule;
mod select;
mod text_key;

pub use check::{Inputs, MiningError};
pub use format::{Format, MissingText};
pub use pool::{Pooled, pool};
pub use record::{Mined, Negative, Positive};
pub use score_rule::ScoreRule;
pub use select::{Choice, Count, Selection};
pub use text_key::TextKey;
