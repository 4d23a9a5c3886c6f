//! The flags of what is searched, and for which queries.

use toller_ir::{Query, has_impacts};
use toller_pipeline::fusion::{Collections, Fusion};
use toller_store::content_of;

use super::dense::DenseArgs;
use super::filter::FilterArgs;
use super::fusion::HybridArgs;
use super::input::{BadLinesArgs, QueriesArgs};
use super::paths::{InputPath, Inputs};
use super::sparse::SparseArgs;
use crate::error::UsageError;
use crate::ui::Ui;

/// Flags of what is searched, and for which queries.
#[derive(Debug, clap::Args)]
#[command(mut_arg("fusion_depth", |depth| depth.requires("fusion")))]
pub struct SourceArgs {
    /// Fuse hits of collections that do not have the same documents
    #[arg(long, requires = "fusion")]
    different_collections: bool,

    /// Queries: files, folders or URLs (s3://, gs://, az://) of TSV, CSV, JSONL, TREC topics, DPR,
    /// EntityQuestions or DuReader; - for stdin. For an index of impacts, also a store of them
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub queries: Vec<InputPath>,

    #[command(flatten)]
    input: QueriesArgs,

    #[command(flatten)]
    pub bad_lines: BadLinesArgs,

    #[command(flatten)]
    pub dense: DenseArgs,

    #[command(flatten)]
    pub sparse: SparseArgs,

    #[command(flatten)]
    pub hybrid: HybridArgs,

    #[command(flatten)]
    pub filter: FilterArgs,
}

impl SourceArgs {
    /// Refuses wrong usage before anything is read; returns how hits are fused, if two things are searched.
    /// With `texts_wanted`, --queries are given even if vectors are searched for; `typed` queries need no
    /// file.
    pub fn check(&self, texts_wanted: bool, typed: bool) -> Result<Option<Fusion>, UsageError> {
        let fusion = self.check_options()?;
        if texts_wanted || fusion.is_some() {
            self.sparse.check_reads_texts(
                "search it by itself, and fuse or rerank the run with `toller fuse` or `toller rerank`",
            )?;
        }
        let has_queries = typed || !self.queries.is_empty();
        let others_compute = texts_wanted || self.sparse.has_model();
        self.dense.check(has_queries, self.sparse.sparse.is_some(), texts_wanted, others_compute)?;
        if let (true, Some(flag)) = (self.queries.is_empty(), self.input.first_given()) {
            let message = format!("{flag} is for --queries, which is not given");
            return Err(UsageError::new(message, "leave it out"));
        }
        if self.queries.is_empty() && !typed && self.bad_lines.skip_bad_lines {
            let message = "--skip-bad-lines is for --queries, which is not given";
            return Err(UsageError::new(message, "leave it out"));
        }
        Ok(fusion)
    }

    /// Refuses options that do not go together, whatever the machine and the files are; returns how hits are
    /// fused, if two things are searched.
    pub fn check_options(&self) -> Result<Option<Fusion>, UsageError> {
        let fusion = self.fusion()?;
        self.sparse.check()?;
        self.dense.store_args.feedback()?;
        Ok(fusion)
    }

    fn fusion(&self) -> Result<Option<Fusion>, UsageError> {
        let both = self.sparse.sparse.is_some() && !self.dense.dense.is_empty();
        match self.hybrid.fusion {
            Some(method) if both => Ok(Some(self.hybrid.args.fusion(method, 2)?)),
            Some(_) => {
                Err(UsageError::new("--fusion needs two things to search", "give --sparse and --dense"))
            }
            None if both => Err(UsageError::new(
                "--sparse and --dense are searched together, and their hits are fused",
                "say how, as in --fusion interpolate --alpha 0.5 or --fusion rrf",
            )),
            None if self.hybrid.args.is_given() => {
                Err(UsageError::new("fusion options need --fusion", "give --fusion"))
            }
            None => Ok(None),
        }
    }

    pub fn collections(&self) -> Collections {
        if self.different_collections { Collections::MayDiffer } else { Collections::Same }
    }

    /// What is read.
    pub fn inputs(&self) -> Inputs<'_> {
        let stored = self.queries.iter().filter(|path| content_of(path).is_ok());
        let directories = self.dense.stores().chain(&self.sparse.sparse).chain(stored);
        Inputs::files(self.queries.iter().chain(self.filter.files()))
            .and_directories(directories.map(|path| &**path))
    }

    /// Reads the queries, if they are given by their texts.
    pub fn read_queries(&self, ui: &Ui) -> crate::Result<Option<Vec<Query>>> {
        if self.queries.is_empty() {
            return Ok(None);
        }
        let skip = self.bad_lines.skip_bad_lines;
        let queries = match self.sparse.stored_queries(&self.queries)? {
            Some(stored) => {
                let skips = skip.then_some("--skip-bad-lines");
                if let Some(flag) = self.input.first_given().or(skips) {
                    let message = format!("{flag} is for files of queries, and they are read from a store");
                    return Err(UsageError::new(message, format!("leave {flag} out")).into());
                }
                stored
            }
            None => self.input.read_for(self.sparse.has_impacts(), &self.queries, skip, ui)?,
        };
        if !self.dense.dense.is_empty() && !self.dense.has_query_vectors() {
            check_texts(&queries, "the model of --dense")?;
        }
        Ok(Some(queries))
    }
}

/// Refuses queries that are given by the impacts of their terms where `reader` reads texts.
pub fn check_texts(queries: &[Query], reader: &str) -> Result<(), UsageError> {
    match queries.iter().find(|query| has_impacts(&query.text)) {
        None => Ok(()),
        Some(query) => Err(UsageError::new(
            format!(
                "query {:?} has the impacts of its terms in place of a text, and {reader} reads texts",
                query.id
            ),
            "give the texts of the queries",
        )),
    }
}
