//! `--exclude`, `--allow`, `--judged` and `--remove-query`: which documents and which queries a search leaves
//! out.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use toller_corpus::{ReadOptions, read_qrels};
use toller_files::Input;
use toller_ir::{Qrels, Query, Searcher, counted};
use toller_pipeline::{DocumentLists, QueryFilter};

use super::id_lines::{ids, pairs};
use super::paths::InputPath;
use crate::error::Remedied;
use crate::ui::Ui;

/// Flags of what is left out.
#[derive(Debug, clap::Args)]
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

    #[command(flatten)]
    own: RemoveQueryArgs,
}

/// The flag of queries that are passages of the collection.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct RemoveQueryArgs {
    /// Leave out hits with the identifier of their query, which are the query itself (ArguAna, Quora)
    #[arg(long)]
    pub remove_query: bool,
}

/// The content of the flags' files.
pub struct FilterLists {
    pub documents: DocumentLists,
    judged: Option<Judged>,
    own: RemoveQueryArgs,
}

impl FilterArgs {
    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = &InputPath> {
        self.exclude.iter().chain(&self.allow).chain(&self.judged)
    }

    /// The flag that is given and names queries by their identifiers.
    pub fn by_query(&self) -> Option<&'static str> {
        let flags = [
            ("--exclude", self.exclude.is_some()),
            ("--judged", self.judged.is_some()),
            ("--remove-query", self.own.remove_query),
        ];
        flags.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    /// Reads the files.
    pub fn read(&self) -> crate::Result<FilterLists> {
        let documents = DocumentLists {
            excluded: match &self.exclude {
                Some(file) => pairs(file, "a query's identifier and a document's")?,
                None => Vec::new(),
            },
            allowed: self.allow.as_deref().map(ids).transpose()?,
        };
        let judged = self.judged.as_deref().map(Judged::read).transpose()?;
        Ok(FilterLists { documents, judged, own: self.own })
    }
}

/// The judgments whose queries are searched for.
struct Judged {
    file: PathBuf,
    qrels: Qrels,
}

impl Judged {
    fn read(file: &Path) -> Result<Self, Remedied> {
        const REMEDY: &str = "give --judged relevance judgments: TREC qrels, BEIR's TSV, or lines of a query's and a document's id";
        let read = read_qrels(&Input::parse(file), &ReadOptions::default());
        let (qrels, _) = read.map_err(|error| Remedied::of(&error).with_remedy(REMEDY))?;
        Ok(Self { file: file.to_owned(), qrels })
    }
}

impl FilterLists {
    /// The queries that are searched for; an error if none is left. It is reported if --exclude has none of
    /// them. That it has others is usual: it may be for all queries of a collection.
    pub fn queries(&self, queries: Vec<Query>, ui: &Ui) -> Result<Vec<Query>, Remedied> {
        let queries = self.judged(queries, ui)?;
        let excluded: HashSet<&str> =
            self.documents.excluded.iter().map(|(query, _)| query.as_str()).collect();
        if !excluded.is_empty() && !queries.iter().any(|query| excluded.contains(query.id.as_str())) {
            let all = counted(excluded.len(), "query");
            ui.warning(format!("none of the {all} of --exclude is searched for: nothing is left out"));
        }
        Ok(queries)
    }

    fn judged(&self, mut queries: Vec<Query>, ui: &Ui) -> Result<Vec<Query>, Remedied> {
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

    /// The filter of `queries` by the documents of a collection, called `place`. Documents of the files that
    /// are not there are reported, and harmless.
    pub fn in_collection(
        &self,
        queries: &[Query],
        collection: &dyn Searcher,
        place: &str,
        ui: &Ui,
    ) -> QueryFilter {
        let (mut filter, missing) = self.documents.in_collection(collection);
        if self.own.remove_query {
            filter.exclude(DocumentLists::without_queries(queries).in_collection(collection).0);
        }
        if filter.allows_nothing() {
            ui.warning(match self.documents.allowed.as_ref().map_or(0, HashSet::len) {
                0 => "the list of --allow is empty: no query gets a hit".to_owned(),
                all => format!("none of the {all} documents of --allow is in {place}: no query gets a hit"),
            });
        } else if let Some(example) = missing.first() {
            ui.warning(format!(
                "{} of {} identifiers of --exclude and --allow are not in {place}, for example {example:?}",
                missing.len(),
                self.documents.named().len()
            ));
        }
        filter
    }
}
