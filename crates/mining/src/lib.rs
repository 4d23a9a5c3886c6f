//! Negatives for training: which documents of a ranking serve as such ([`Selection`]), and how they are written
//! ([`Format`]). Where the ranking comes from, BM25 or a dense index, makes no difference here.

mod format;
mod record;
mod select;
mod text_key;

pub use format::{Format, MissingText};
pub use record::{Mined, Negative, Positive};
pub use select::{Choice, Selection};
pub use text_key::TextKey;
