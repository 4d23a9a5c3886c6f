//! The flags of the texts of queries and documents, and reading them.

use std::collections::{HashMap, HashSet};

use toller_files::expand;
use toller_ir::{Passage, Query, Setting};
use toller_pipeline::wanted_passages;

use super::input::{CollectionArgs, QueriesArgs};
use super::paths::InputPath;
use crate::error::Context;
use crate::ui::Ui;

/// Flags of the commands that show or write texts.
#[derive(Debug, clap::Args)]
pub struct TextsArgs {
    /// Queries, for their texts
    #[arg(long, value_name = "FILE")]
    pub queries: Option<InputPath>,

    /// Collection, for the texts of documents
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub corpus: Vec<InputPath>,

    #[command(flatten)]
    queries_input: QueriesArgs,

    #[command(flatten)]
    collection: CollectionArgs,
}

impl TextsArgs {
    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = &InputPath> {
        self.queries.iter().chain(&self.corpus)
    }

    /// Reads the queries; without a file there are none.
    pub fn read_queries(&self, skip_bad_lines: bool, ui: &Ui) -> crate::Result<Vec<Query>> {
        let read = |path| self.queries_input.read(path, skip_bad_lines, ui);
        self.queries.as_ref().map_or(Ok(Vec::new()), read)
    }

    /// Reads the collection once, and keeps what `keep` makes of the documents that are wanted; without a
    /// file there are none.
    pub fn documents<T>(
        &self,
        wanted: &HashSet<&str>,
        keep: impl Fn(Passage) -> T,
    ) -> crate::Result<HashMap<String, T>> {
        if self.corpus.is_empty() {
            return Ok(HashMap::new());
        }
        let inputs = expand(&self.corpus)?;
        wanted_passages(&inputs, &self.collection.options(), wanted, keep)
            .with_flag(Setting::Format, "--corpus-format")
    }
}
