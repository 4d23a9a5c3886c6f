//! The passages of a collection by identifier, without the collection in memory.
//!
//! [`Texts::open`] takes the files of a collection and a directory for what it finds out about them: for each passage, a
//! hash of its identifier and where its record is (24 bytes a passage, sorted, memory-mapped). Plain JSON lines and
//! tab-separated files are read in place. What cannot be read at a place (compressed files, Parquet, TREC documents, pipes,
//! rows without identifiers) is copied into frames of 64 KiB, each compressed for itself. The directory is made by one
//! streaming pass in bounded memory, is checksummed, and made anew when the files have changed.
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
