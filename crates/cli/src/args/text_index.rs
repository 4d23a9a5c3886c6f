//! The flags of a collection whose texts are read by identifier.

use std::path::Path;

use toller_texts::TextsOptions;

use super::input::CollectionArgs;
use super::paths::CachePath;

/// Flags of how --corpus is indexed.
#[derive(Debug, clap::Args)]
pub struct TextIndexArgs {
    /// Directory of the index of texts by identifier [default: in the cache folder, or next to the collection
    /// if that cannot be written]
    #[arg(long, value_name = "DIR", requires = "corpus")]
    text_index: Option<CachePath>,

    #[command(flatten)]
    collection: CollectionArgs,
}

impl TextIndexArgs {
    /// The directory that is named for the index.
    pub fn directory(&self) -> Option<&Path> {
        self.text_index.as_deref()
    }

    /// How the collection is read and indexed.
    pub fn options(&self, skip_bad_lines: bool) -> TextsOptions {
        TextsOptions {
            reading: self.collection.options(skip_bad_lines),
            directory: self.text_index.as_ref().map(Into::into),
            cache: None,
        }
    }
}
