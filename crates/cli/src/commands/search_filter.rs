//! `--exclude` and `--allow`: which documents a search leaves out.

use std::collections::{HashMap, HashSet};
use std::io::BufRead;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toller_compute::{DocSet, Filter};
use toller_files::{Input, InputReader};
use toller_index::FlatIndex;
use toller_ir::DocOrd;

use crate::error::Remedied;
use crate::ui::Ui;

/// Flags of what is left out.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Filter")]
pub struct FilterArgs {
    /// Leave out these hits: lines of a query's identifier and a document's
    #[arg(long, value_name = "FILE")]
    exclude: Option<PathBuf>,

    /// Search only these documents: one identifier a line
    #[arg(long, value_name = "FILE")]
    allow: Option<PathBuf>,
}

/// The flags' files, as ordinals of an index.
#[derive(Default)]
pub struct SearchFilter {
    allowed: Option<DocSet>,
    /// Empty, or one list a query.
    excluded: Vec<Vec<DocOrd>>,
}

impl FilterArgs {
    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.exclude.iter().chain(&self.allow)
    }

    /// Reads the files and finds their documents in `index`. What they name and is not there is told, and harmless.
    pub fn read<'a>(
        &self,
        index: &FlatIndex,
        queries: impl Iterator<Item = &'a str>,
        ui: &Ui,
    ) -> anyhow::Result<SearchFilter> {
        let excluded = self.exclude.as_deref().map(pairs).transpose()?.unwrap_or_default();
        let allowed: Option<HashSet<String>> = self.allow.as_deref().map(ids).transpose()?;
        if self.exclude.is_none() && self.allow.is_none() {
            return Ok(SearchFilter::default());
        }
        let named = excluded.iter().map(|(_, doc)| doc).chain(allowed.iter().flatten());
        let named: HashSet<&str> = named.map(String::as_str).collect();
        let mut ordinals: HashMap<&str, DocOrd> = HashMap::with_capacity(named.len());
        for ordinal in 0..index.doc_count() as u32 {
            if let Some(&id) = named.get(index.doc_id(DocOrd(ordinal))) {
                ordinals.insert(id, DocOrd(ordinal));
            }
        }
        if ordinals.len() < named.len() {
            let missing = named.len() - ordinals.len();
            let example = named.iter().filter(|id| !ordinals.contains_key(*id)).min().copied().unwrap_or("");
            ui.warning(format!(
                "{missing} of {} identifiers of --exclude and --allow are not in the store, for one {example:?}",
                named.len()
            ));
        }

        let mut filter = SearchFilter {
            allowed: allowed
                .as_ref()
                .map(|ids| ids.iter().filter_map(|id| ordinals.get(id.as_str()).copied()).collect()),
            excluded: Vec::new(),
        };
        if self.exclude.is_some() {
            let mut of_query: HashMap<&str, Vec<DocOrd>> = HashMap::new();
            for (query, doc) in &excluded {
                of_query.entry(query).or_default().extend(ordinals.get(doc.as_str()));
            }
            of_query.values_mut().for_each(|docs| docs.sort_unstable());
            filter.excluded = queries.map(|id| of_query.get(id).cloned().unwrap_or_default()).collect();
        }
        Ok(filter)
    }
}

impl SearchFilter {
    /// The filter of some of the queries.
    pub fn of(&self, queries: Range<usize>) -> Filter<'_> {
        Filter { allowed: self.allowed.as_ref(), excluded: self.excluded.get(queries).unwrap_or_default() }
    }
}

/// Lines of two identifiers, separated by a tab or, where there is none, by blanks.
fn pairs(path: &Path) -> anyhow::Result<Vec<(String, String)>> {
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
fn ids(path: &Path) -> anyhow::Result<HashSet<String>> {
    let mut ids = HashSet::new();
    each_line(path, |_, line| {
        ids.insert(line.to_owned());
        Ok(())
    })?;
    Ok(ids)
}

/// Calls `take` with the number, from one, and the text of each line that is not empty.
fn each_line(path: &Path, mut take: impl FnMut(usize, &str) -> Result<(), Remedied>) -> anyhow::Result<()> {
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
