//! The flags of the texts of queries and documents, and reading them.

use std::collections::{HashMap, HashSet};

use toller_corpus::{CollectionFormat, QueriesOfFile, ReadOptions};
use toller_engine::collection_files;
use toller_files::Input;
use toller_ir::{Passage, Query, Setting};
use toller_pipeline::wanted_passages;
use toller_report::{Texts, Wanted};

use super::input::{CORPUS_FORMAT, CollectionArgs, QueriesArgs};
use super::paths::InputPath;
use crate::error::{Context, Remedied};
use crate::ui::Ui;

/// Flags of the commands that show or write texts.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("queries_format", |format| format.requires("queries")),
    mut_arg("query_id_column", |column| column.requires("queries")),
    mut_arg("query_text_column", |column| column.requires("queries")),
    mut_arg("corpus_format", |format| format.requires("corpus")),
    mut_arg("id_column", |column| column.requires("corpus")),
    mut_arg("title_column", |column| column.requires("corpus")),
    mut_arg("text_column", |column| column.requires("corpus"))
)]
pub struct TextsArgs {
    /// Queries, for their texts: files or folders of files; may be given several times
    #[arg(long, value_name = "FILE")]
    pub queries: Vec<InputPath>,

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
        if self.queries.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.read_queries_by_file(skip_bad_lines, ui)?.0)
    }

    /// Reads the queries, and which of them are whose.
    pub fn read_queries_by_file(
        &self,
        skip_bad_lines: bool,
        ui: &Ui,
    ) -> crate::Result<(Vec<Query>, Vec<QueriesOfFile>)> {
        self.queries_input.read_by_file(&self.queries, skip_bad_lines, ui)
    }

    /// Reads the collection once, and keeps what `keep` makes of the documents that are wanted; without a
    /// file there are none.
    pub fn documents<T>(
        &self,
        wanted: &HashSet<&str>,
        skip_bad_lines: bool,
        ui: &Ui,
        keep: impl Fn(Passage) -> T,
    ) -> crate::Result<HashMap<String, T>> {
        let Some((inputs, options)) = self.collection(skip_bad_lines)? else { return Ok(HashMap::new()) };
        let bar = ui.progress("reading", "passages", 0);
        let (documents, skipped) = wanted_passages(&inputs, &options, wanted, &|read| bar.set(read), keep)
            .with_flag(Setting::Format, CORPUS_FORMAT)?;
        drop(bar);
        ui.skipped("", &skipped);
        Ok(documents)
    }

    /// The files of the collection, and how they are read; `None` without files.
    pub fn collection(
        &self,
        skip_bad_lines: bool,
    ) -> crate::Result<Option<(Vec<Input>, ReadOptions<CollectionFormat>)>> {
        if self.corpus.is_empty() {
            return Ok(None);
        }
        Ok(Some((collection_files(&self.corpus)?, self.collection.options(skip_bad_lines))))
    }

    /// Reads the texts that are wanted, and reports how many are missing.
    pub fn read(&self, wanted: &Wanted<'_>, skip_bad_lines: bool, ui: &Ui) -> crate::Result<Texts> {
        self.read_unless(wanted, skip_bad_lines, ui, |missing| {
            ui.warning(missing);
            Ok(())
        })
    }

    /// The same, where queries without texts are of no use. `remedy` says what to do about them.
    pub fn read_all_queries(
        &self,
        wanted: &Wanted<'_>,
        skip_bad_lines: bool,
        remedy: &'static str,
        ui: &Ui,
    ) -> crate::Result<Texts> {
        self.read_unless(wanted, skip_bad_lines, ui, |missing| Err(Remedied::new(missing, remedy)))
    }

    /// Reads the texts that are wanted, unless `judge` refuses that queries are missing.
    fn read_unless(
        &self,
        wanted: &Wanted<'_>,
        skip_bad_lines: bool,
        ui: &Ui,
        judge: impl FnOnce(String) -> Result<(), Remedied>,
    ) -> crate::Result<Texts> {
        let read = self.read_queries(skip_bad_lines, ui)?.into_iter();
        let queries: HashMap<String, String> = read
            .filter(|query| wanted.queries.contains(query.id.as_str()))
            .map(|query| (query.id, query.text))
            .collect();
        if !self.queries.is_empty()
            && let Some(missing) = first_missing(&wanted.queries, &queries)
        {
            let (count, all) = (wanted.queries.len() - queries.len(), wanted.queries.len());
            judge(format!("{count} of {all} queries are not in --queries, for example {missing:?}"))?;
        }
        let passages = self.documents(&wanted.documents, skip_bad_lines, ui, |passage| passage)?;
        if !self.corpus.is_empty()
            && let Some(missing) = first_missing(&wanted.documents, &passages)
        {
            let (count, all) = (wanted.documents.len() - passages.len(), wanted.documents.len());
            ui.warning(format!(
                "{count} of {all} documents are not in the collection, for example {missing:?}"
            ));
        }
        Ok(Texts { queries, passages })
    }
}

/// The first of the wanted identifiers, in the order of their bytes, that was not found.
fn first_missing<'a, T>(wanted: &HashSet<&'a str>, found: &HashMap<String, T>) -> Option<&'a str> {
    wanted.iter().filter(|id| !found.contains_key(**id)).min().copied()
}
