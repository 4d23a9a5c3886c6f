//! Collections as others publish them, brought into one form, and checked against what is known of them.

mod convert;
mod examples;
mod known;
mod layout;

pub use convert::{Collection, Corpus, convert};
pub use known::{Known, known_collection, known_collections};
pub use layout::Layout;
