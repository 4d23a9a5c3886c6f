//! The flags that say how input is read.

use std::str::FromStr;

use toller_corpus::{CollectionFormat, ReadOptions, UnknownFormatName};

use crate::error::UsageError;

/// Flags of the commands that read collections or queries.
#[derive(Debug, clap::Args)]
pub struct InputArgs {
    /// Format of the input, where it cannot be told
    #[arg(long, value_name = "NAME")]
    format: Option<String>,

    /// Count and report bad lines instead of stopping at the first
    #[arg(long)]
    skip_bad_lines: bool,
}

impl InputArgs {
    /// Whether anything was said.
    pub fn is_given(&self) -> bool {
        self.format.is_some() || self.skip_bad_lines
    }

    /// How to read a file of the kind whose formats are `F`.
    pub fn options<F: FromStr<Err = UnknownFormatName>>(&self) -> Result<ReadOptions<F>, UsageError> {
        let unknown = |error: UnknownFormatName| {
            UsageError::new(format!("--format: {error}"), error.hint().unwrap_or_default())
        };
        let format = self.format.as_deref().map(str::parse).transpose().map_err(unknown)?;
        Ok(ReadOptions { format, skip_bad_lines: self.skip_bad_lines, ..ReadOptions::default() })
    }
}

/// Flags of a collection that is read beside other input.
#[derive(Debug, clap::Args)]
pub struct CollectionArgs {
    /// Format of the collection [default: told from the content]
    #[arg(long, value_name = "NAME")]
    corpus_format: Option<CollectionFormat>,
}

impl CollectionArgs {
    /// How to read it.
    pub fn options(&self) -> ReadOptions<CollectionFormat> {
        ReadOptions { format: self.corpus_format, ..ReadOptions::default() }
    }
}
