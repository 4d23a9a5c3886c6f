//! `--exclude`, `--allow` and `--judged`: which documents and which queries a search leaves out.

use std::collections::HashSet;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use toller_corpus::{ReadOptions, read_qrels};
use toller_files::{Input, InputReader};
use toller_ir::{Qrels, Query, Searcher};
use toller_pipeline::{DocumentLists, QueryFilter};

use super::paths::InputPath;
use crate::error::Remedied;
use crate::ui::Ui;

/// Flags of what is left out.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Filter")]
pub struct FilterArgs {
    /// Leave out these hits: each line has a query's identifier and a document's
    #[arg(long, value_name = "FILE")]
    exclude: Option<InputPath>,

    /// Search only these documents: one identifier a line
    #[arg(long, value_name = "FILE")]
    allow: Option<InputPath>,

    /// Search only for queries that are judged in this file (TREC, BEIR TSV, or pairs of ids)
    #[arg(long, value_name = "QRELS")]
    judged: Option<InputPath>,
}

/// The content of the flags' files.
pub struct FilterLists {
    pub documents: DocumentLists,
    judged: Option<Judged>,
}

impl FilterArgs {
    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = &InputPath> {
        self.exclude.iter().chain(&self.allow).chain(&self.judged)
    }

    /// Reads the files.
    pub fn read(&self) -> crate::Result<FilterLists> {
        let documents = DocumentLists {
            excluded: self.exclude.as_deref().map(pairs).transpose()?.unwrap_or_default(),
            allowed: self.allow.as_deref().map(ids).transpose()?,
        };
        Ok(FilterLists { documents, judged: self.judged.as_deref().map(Judged::read).transpose()? })
    }
}

/// The judgments whose queries are searched for.
struct Judged {
    file: PathBuf,
    qrels: Qrels,
}

impl Judged {
    fn read(file: &Path) -> Result<Self, Remedied> {
        match read_qrels(&Input::parse(file), &ReadOptions::default()) {
            Ok((qrels, _)) => Ok(Self { file: file.to_owned(), qrels }),
            Err(error) => Err(Remedied::new(
                error.to_string(),
                "give --judged relevance judgments: TREC qrels, BEIR's TSV, or lines of a query's and a document's id",
            )),
        }
    }
}

impl FilterLists {
    /// The queries that are searched for; an error if none is left.
    pub fn judged(&self, mut queries: Vec<Query>, ui: &Ui) -> Result<Vec<Query>, Remedied> {
        let Some(Judged { file, qrels }) = &self.judged else { return Ok(queries) };
        let all = queries.len();
        queries.retain(|query| qrels.query(&query.id).is_some());
        if queries.is_empty() && all > 0 {
            return Err(Remedied::new(
                format!("none of the {all} queries is judged in {}", file.display()),
                "give --judged the judgments of these queries; their identifiers must be the same",
            ));
        }
        ui.status(format!("{} of {all} queries are judged in {}", queries.len(), file.display()));
        Ok(queries)
    }

    /// The filter by the documents of a collection, called `place`. Documents that are not there are
    /// reported, and harmless.
    pub fn in_collection(&self, collection: &dyn Searcher, place: &str, ui: &Ui) -> QueryFilter {
        let (filter, missing) = self.documents.in_collection(collection);
        if let Some(example) = missing.first() {
            ui.warning(format!(
                "{} of {} identifiers of --exclude and --allow are not in {place}, for example {example:?}",
                missing.len(),
                self.documents.named().len()
            ));
        }
        filter
    }
}

/// Lines of two identifiers, separated by a tab or, where there is none, by blanks.
fn pairs(path: &Path) -> crate::Result<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    each_line(path, |number, line| {
        let mut columns: Vec<&str> =
            if line.contains('\t') { line.split('\t').collect() } else { line.split_whitespace().collect() };
        columns.iter_mut().for_each(|column| *column = column.trim());
        match columns[..] {
            [query, doc] if !query.is_empty() && !doc.is_empty() => {
                pairs.push((query.to_owned(), doc.to_owned()));
                Ok(())
            }
            _ => Err(Remedied::new(
                format!(
                    "{}:{number}: expected a query's identifier and a document's, found {} columns",
                    path.display(),
                    columns.len()
                ),
                "write one pair a line, separated by a tab",
            )),
        }
    })?;
    Ok(pairs)
}

/// Lines of one identifier.
fn ids(path: &Path) -> crate::Result<HashSet<String>> {
    let mut ids = HashSet::new();
    each_line(path, |_, line| {
        ids.insert(line.to_owned());
        Ok(())
    })?;
    Ok(ids)
}

/// Calls `take` with the number, from one, and the text of each line that is not empty.
fn each_line(path: &Path, mut take: impl FnMut(usize, &str) -> Result<(), Remedied>) -> crate::Result<()> {
    let input = Input::parse(path);
    let mut reader = InputReader::open(&input)?;
    let mut line = String::new();
    for number in 1.. {
        line.clear();
        match reader.read_line(&mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                return Err(Remedied::new(
                    format!("{}:{number}: not UTF-8: {error}", path.display()),
                    "convert the file to UTF-8",
                )
                .into());
            }
            Err(error) => return Err(reader.error(error).into()),
        }
        let text = line.trim_start_matches('\u{feff}').trim();
        if !text.is_empty() {
            take(number, text)?;
        }
    }
    Ok(())
}
