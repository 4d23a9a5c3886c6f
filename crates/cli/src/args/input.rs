//! The flags that say how input is read.

use std::str::FromStr;

use toller_corpus::{CollectionFormat, ColumnNames, QueryFormat, ReadOptions, read_queries};
use toller_files::Input;
use toller_ir::{Query, Setting, UnknownName};

use super::paths::InputPath;
use crate::error::{Context, UsageError};
use crate::ui::Ui;

/// Flags of the commands that read collections or queries.
#[derive(Debug, clap::Args)]
pub struct InputArgs {
    /// Format of the input [default: detected from the content]
    #[arg(long, value_name = "NAME")]
    format: Option<String>,

    /// Count and report bad lines instead of stopping at the first
    #[arg(long)]
    pub skip_bad_lines: bool,
}

impl InputArgs {
    /// Whether any of the flags is given.
    pub fn is_given(&self) -> bool {
        self.format.is_some() || self.skip_bad_lines
    }

    /// How to read a file of the kind whose formats are `F`.
    pub fn options<F: FromStr<Err = UnknownName>>(&self) -> Result<ReadOptions<F>, UsageError> {
        let format = self.format.as_deref().map(str::parse).transpose();
        let format = format.map_err(|error| UsageError::of_flag("--format", &error))?;
        Ok(ReadOptions { format, skip_bad_lines: self.skip_bad_lines, ..ReadOptions::default() })
    }
}

/// Flags of the names of fields and columns.
#[derive(Debug, clap::Args)]
pub struct ColumnArgs {
    /// Column or field of the identifiers, in JSONL, TSV, CSV and Parquet [default: id, _id, docid, ...]
    #[arg(long, value_name = "NAME", help_heading = "Columns")]
    id_column: Option<String>,

    /// Column or field of the titles [default: title]
    #[arg(long, value_name = "NAME", help_heading = "Columns")]
    title_column: Option<String>,

    /// Column or field of the texts [default: text, contents, ...]
    #[arg(long, value_name = "NAME", help_heading = "Columns")]
    text_column: Option<String>,
}

impl ColumnArgs {
    /// The names.
    pub fn names(&self) -> ColumnNames {
        let Self { id_column, title_column, text_column } = self;
        ColumnNames { id: id_column.clone(), title: title_column.clone(), text: text_column.clone() }
    }
}

/// Flags of a collection that is read alongside other input.
#[derive(Debug, clap::Args)]
pub struct CollectionArgs {
    /// Format of the collection [default: detected from the content]
    #[arg(long, value_name = "NAME")]
    corpus_format: Option<CollectionFormat>,

    #[command(flatten)]
    columns: ColumnArgs,
}

impl CollectionArgs {
    /// How to read it.
    pub fn options(&self) -> ReadOptions<CollectionFormat> {
        ReadOptions { format: self.corpus_format, columns: self.columns.names(), ..ReadOptions::default() }
    }
}

/// Flags of queries that are read alongside other input.
#[derive(Debug, clap::Args)]
pub struct QueriesArgs {
    /// Format of the queries [default: detected from the content]
    #[arg(long, value_name = "FORMAT")]
    queries_format: Option<QueryFormat>,
}

impl QueriesArgs {
    /// Reads the queries of a file.
    pub fn read(&self, path: &InputPath, skip_bad_lines: bool, ui: &Ui) -> crate::Result<Vec<Query>> {
        self.read_all(&[path.input()], skip_bad_lines, ui)
    }

    /// Reads the queries of several files as one set.
    pub fn read_all(&self, files: &[Input], skip_bad_lines: bool, ui: &Ui) -> crate::Result<Vec<Query>> {
        let options = ReadOptions { format: self.queries_format, skip_bad_lines, ..ReadOptions::default() };
        let (queries, skipped) =
            read_queries(files, &options).with_flag(Setting::Format, "--queries-format")?;
        ui.skipped("", &skipped);
        Ok(queries)
    }
}
