//! The flags that say how input is read. A format's flag names what is read: `--format` is the output's.

use toller_corpus::{
    CollectionFormat, ColumnNames, QueriesOfFile, QueryFormat, ReadOptions, read_queries_by_file,
};
use toller_engine::query_files;
use toller_ir::{Query, Setting};
use toller_store::content_of;

use super::choice::by_name;
use super::paths::InputPath;
use crate::error::{Context, Failure, UsageError};
use crate::flags::first_given;
use crate::ui::Ui;

/// The flag of bad lines.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct BadLinesArgs {
    /// Count and report bad lines instead of stopping at the first
    #[arg(long)]
    pub skip_bad_lines: bool,
}

/// Flags of the names of fields and columns.
#[derive(Debug, clap::Args)]
pub struct ColumnArgs {
    /// Column, field or TREC element of the identifiers [default: id, _id, docid, ...]
    #[arg(long, value_name = "NAME")]
    id_column: Option<String>,

    /// Column, field or TREC element of the titles [default: title]
    #[arg(long, value_name = "NAME")]
    title_column: Option<String>,

    /// Column, field or TREC element of the texts [default: text, contents, ...]
    #[arg(long, value_name = "NAME")]
    text_column: Option<String>,
}

impl ColumnArgs {
    /// The names.
    pub fn names(&self) -> ColumnNames {
        let Self { id_column, title_column, text_column } = self;
        ColumnNames {
            id: id_column.clone(),
            title: title_column.clone(),
            text: text_column.clone(),
            ..ColumnNames::default()
        }
    }
}

/// Flags of a collection that is read alongside other input.
#[derive(Debug, clap::Args)]
pub struct CollectionArgs {
    /// Format of the collection [default: detected from the content]
    #[arg(long, value_name = "NAME", value_parser = by_name::<CollectionFormat>(CollectionFormat::NAMES))]
    corpus_format: Option<CollectionFormat>,

    #[command(flatten)]
    columns: ColumnArgs,
}

impl CollectionArgs {
    /// Whether a format is named.
    pub fn has_format(&self) -> bool {
        self.corpus_format.is_some()
    }

    /// How to read it.
    pub fn options(&self, skip_bad_lines: bool) -> ReadOptions<CollectionFormat> {
        ReadOptions {
            format: self.corpus_format,
            skip_bad_lines,
            columns: self.columns.names(),
            ..ReadOptions::default()
        }
    }

    /// The flags, and which of them are given.
    pub fn flags(&self) -> [(&'static str, bool); 4] {
        let ColumnArgs { id_column, title_column, text_column } = &self.columns;
        [
            (CORPUS_FORMAT, self.has_format()),
            ("--id-column", id_column.is_some()),
            ("--title-column", title_column.is_some()),
            ("--text-column", text_column.is_some()),
        ]
    }

    /// The names of fields and columns.
    pub fn columns(&self) -> ColumnNames {
        self.columns.names()
    }
}

/// Flags of queries.
#[derive(Debug, clap::Args)]
pub struct QueriesArgs {
    /// Format of the queries [default: detected from the content]
    #[arg(long, value_name = "NAME", value_parser = by_name::<QueryFormat>(QueryFormat::NAMES))]
    queries_format: Option<QueryFormat>,

    /// Column, field or TREC element of the queries' identifiers [default: qid, id, _id, ...]
    #[arg(long, value_name = "NAME")]
    query_id_column: Option<String>,

    /// Column, field or TREC element of the queries' texts; several elements as title+desc [default: text,
    /// query, ...]
    #[arg(long, value_name = "NAME")]
    query_text_column: Option<String>,
}

impl QueriesArgs {
    /// The first of these flags that is given.
    pub fn first_given(&self) -> Option<&'static str> {
        first_given([
            (QUERIES_FORMAT, self.queries_format.is_some()),
            (QUERY_ID_COLUMN, self.query_id_column.is_some()),
            (QUERY_TEXT_COLUMN, self.query_text_column.is_some()),
        ])
    }

    /// How to read them.
    pub fn options(&self, skip_bad_lines: bool) -> ReadOptions<QueryFormat> {
        let Self { queries_format, query_id_column, query_text_column } = self;
        let (id, text) = (query_id_column.clone(), query_text_column.clone());
        let columns = ColumnNames { id, text, ..ColumnNames::default() };
        ReadOptions { format: *queries_format, skip_bad_lines, columns, ..ReadOptions::default() }
    }

    /// Reads the queries of files and folders.
    pub fn read(&self, paths: &[InputPath], skip_bad_lines: bool, ui: &Ui) -> crate::Result<Vec<Query>> {
        Ok(self.read_by_file(paths, skip_bad_lines, ui)?.0)
    }

    /// Reads the queries of files and folders for an inverted index: for one of impacts, their vectors, where
    /// they have them.
    pub fn read_for(
        &self,
        has_impacts: bool,
        paths: &[InputPath],
        skip_bad_lines: bool,
        ui: &Ui,
    ) -> crate::Result<Vec<Query>> {
        let mut options = self.options(skip_bad_lines);
        options.columns.vector = has_impacts.then(|| ColumnNames::VECTOR.to_owned());
        Ok(read(paths, &options, ui)?.0)
    }

    /// Reads the queries of files and folders, and which of them are whose.
    pub fn read_by_file(
        &self,
        paths: &[InputPath],
        skip_bad_lines: bool,
        ui: &Ui,
    ) -> crate::Result<(Vec<Query>, Vec<QueriesOfFile>)> {
        read(paths, &self.options(skip_bad_lines), ui)
    }
}

fn read(
    paths: &[InputPath],
    options: &ReadOptions<QueryFormat>,
    ui: &Ui,
) -> crate::Result<(Vec<Query>, Vec<QueriesOfFile>)> {
    if let Some(store) = paths.iter().find(|path| path.is_dir() && content_of(path).is_ok()) {
        let message = format!("{} is a store, and queries are read as texts", store.display());
        let remedy = "give the file of the queries; `toller search` takes a store of vectors as --query-vectors, \
                      and one of impacts as --queries for an index of impacts";
        return Err(UsageError::new(message, remedy).into());
    }
    let (queries, files, skipped) = with_query_flags(read_queries_by_file(&query_files(paths)?, options))?;
    ui.skipped("", &skipped);
    Ok((queries, files))
}

/// Names the flags of queries in the error of reading them.
pub fn with_query_flags<T>(read: Result<T, impl Into<Failure>>) -> crate::Result<T> {
    read.with_flag(Setting::Format, QUERIES_FORMAT)
        .with_flag(Setting::IdColumn, QUERY_ID_COLUMN)
        .with_flag(Setting::TextColumn, QUERY_TEXT_COLUMN)
}

/// The flag of the format of a collection.
pub const CORPUS_FORMAT: &str = "--corpus-format";

/// The flag of the format of queries.
const QUERIES_FORMAT: &str = "--queries-format";

/// The flag of the column of queries' identifiers.
pub const QUERY_ID_COLUMN: &str = "--query-id-column";

/// The flag of the column of queries' texts.
const QUERY_TEXT_COLUMN: &str = "--query-text-column";
