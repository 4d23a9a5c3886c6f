//! The passages of a collection by identifier, without the collection in memory.
//!
//! [`Texts::open`] reads the files of a collection and keeps an index in a directory: for each passage, a
//! hash of its identifier and where its record is (24 bytes a passage, sorted, memory-mapped). Plain JSON
//! lines and tab-separated files are read in place. Passages that cannot be read in place (compressed files,
//! Parquet, TREC documents, pipes, rows without identifiers) are copied into frames of 64 KiB, each
//! compressed separately. One streaming pass in bounded memory builds the index. It is checksummed, and built
//! again when the files have changed.
//!
//! ```no_run
//! # fn main() -> Result<(), toller_texts::TextsError> {
//! use toller_files::Input;
//! use toller_texts::{Texts, TextsOptions};
//! let collection = [Input::parse("collection.tsv")];
//! let texts = Texts::open(&collection, &TextsOptions::default(), |_| {})?;
//! if let Some(passage) = texts.get("7067032")? {
//!     println!("{}", passage.text);
//! }
//! # Ok(())
//! # }
//! ```

mod build;
mod error;
mod frames;
mod ids;
mod manifest;
mod place;
mod read_at;
mod texts;

pub use build::TextsEvent;
pub use error::TextsError;
pub use texts::{Texts, TextsOptions};
