//! Negatives for training: which documents of a ranking to take ([`Selection`]), and how to write them
//! ([`Format`]). The ranking may come from any searcher.

mod format;
mod record;
mod select;
mod text_key;

pub use format::{Format, MissingText};
pub use record::{Mined, Negative, Positive};
pub use select::{Choice, Selection};
pub use text_key::TextKey;
