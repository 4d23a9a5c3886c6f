//! What is searched, and for which queries: the flags, and opening it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use toller_corpus::read_queries;
use toller_engine::{Engine, HybridOptions};
use toller_files::Input;
use toller_ir::{Query, SearchRequest, SearchResponse, Searcher};
use toller_pipeline::QueryFilter;
use toller_pipeline::fusion::{Collections, Fusion, Method};

use super::dense::DenseArgs;
use super::filter::FilterArgs;
use super::kept::{AnySearcher, DENSE_RUN, FIRST_STAGE_RUN, KeptRuns, SPARSE_RUN};
use super::sparse::SparseArgs;
use crate::error::UsageError;
use crate::fusion_args::{self, FusionArgs};
use crate::input::InputArgs;
use crate::interrupt::Interrupted;
use crate::model::ModelArgs;
use crate::ui::Ui;

/// Flags of what is searched, and for which queries.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct SourceArgs {
    #[command(flatten)]
    pub(super) dense: DenseArgs,

    #[command(flatten)]
    pub(super) sparse: SparseArgs,

    /// How the hits of --sparse and of --dense are fused: a method of `toller fuse`; --alpha is the weight of the dense scores
    #[arg(long, value_name = "NAME", value_parser = fusion_args::method, help_heading = "Fusion")]
    fusion: Option<&'static Method>,

    /// Fuse hits of collections that do not have the same documents
    #[arg(long, requires = "fusion", help_heading = "Fusion")]
    different_collections: bool,

    #[command(flatten)]
    fusion_args: FusionArgs,

    /// Queries: TSV, JSONL, TREC topics, DPR, EntityQuestions, DuReader; - for stdin
    #[arg(long, value_name = "FILE")]
    pub(in crate::commands) queries: Option<PathBuf>,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    input: InputArgs,
}

impl SourceArgs {
    /// What can be refused before anything is read; how hits are fused, where two things are searched. With `texts_wanted`
    /// --queries are given, whether their texts are searched for or not.
    pub(in crate::commands) fn check(&self, texts_wanted: bool) -> Result<Option<Fusion>, UsageError> {
        let fusion = self.fusion()?;
        self.sparse.check()?;
        self.dense.check(self.queries.as_ref(), self.sparse.sparse.is_some(), texts_wanted)?;
        if self.queries.is_none() && self.input.is_given() {
            return Err(UsageError::new(
                "--format and --skip-bad-lines say how --queries is read, which is not given",
                "leave them out",
            ));
        }
        if self.files().filter(|file| file.as_os_str() == "-").count() > 1 {
            return Err(UsageError::new(
                "of --queries, --exclude, --allow and --judged more than one would read stdin",
                "give files to all but one",
            ));
        }
        Ok(fusion)
    }

    fn fusion(&self) -> Result<Option<Fusion>, UsageError> {
        let both = self.sparse.sparse.is_some() && !self.dense.dense.is_empty();
        match self.fusion {
            Some(method) if both => Ok(Some(self.fusion_args.fusion(method, 2)?)),
            Some(_) => {
                Err(UsageError::new("--fusion needs two things to search", "give --sparse and --dense"))
            }
            None if both => Err(UsageError::new(
                "--sparse and --dense are searched together, and their hits are fused",
                "say how, as in --fusion interpolate --alpha 0.5 or --fusion rrf",
            )),
            None if self.fusion_args.is_given() => {
                Err(UsageError::new("flags of a fusion are given, and none is asked for", "give --fusion"))
            }
            None => Ok(None),
        }
    }

    fn collections(&self) -> Collections {
        if self.different_collections { Collections::MayDiffer } else { Collections::Same }
    }

    /// How the model computes.
    pub(in crate::commands) fn machine(&self) -> &ModelArgs {
        &self.dense.model_args
    }

    /// Whether lines that cannot be read are skipped.
    pub(in crate::commands) fn skips_bad_lines(&self) -> bool {
        self.input.skip_bad_lines
    }

    /// The files that are read.
    pub(in crate::commands) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.queries.iter().chain(self.filter.files())
    }

    /// The directories that are read.
    pub(in crate::commands) fn directories(&self) -> impl Iterator<Item = &PathBuf> {
        self.dense.stores().chain(&self.sparse.sparse)
    }
}

/// The searcher that was asked for, its queries, and what it leaves out.
pub(in crate::commands) struct Sources {
    pub(in crate::commands) searcher: AnySearcher,
    pub(in crate::commands) queries: Vec<Query>,
    filter: QueryFilter,
}

impl Sources {
    /// Reads what is cheap to read first: queries and filters, then what is searched. Of each of two searchers the first
    /// `depth` hits are fused. `kept` takes what is found: by each of two, and in the end.
    pub(in crate::commands) fn open(
        args: &SourceArgs,
        fusion: Option<Fusion>,
        depth: usize,
        kept: &mut KeptRuns<'_>,
        engine: &Engine,
        ui: &Ui,
    ) -> crate::Result<Self> {
        let queries = args.queries.as_ref().map(|_| read(args, ui)).transpose()?;
        let lists = args.filter.read()?;
        let queries = queries.map(|queries| lists.judged(queries, ui)).transpose()?;
        let (mut searchers, mut filter): (Vec<(&str, AnySearcher)>, _) = (Vec::new(), QueryFilter::default());
        if let Some(searcher) = args.sparse.open(!args.dense.no_verify, engine)? {
            filter = lists.in_collection(&*searcher, "the index", ui);
            searchers.push((SPARSE_RUN, searcher));
        }
        let mut ids = Vec::new();
        if !args.dense.dense.is_empty() {
            let searcher = args.dense.open(engine, ui)?;
            filter = lists.in_collection(&*searcher, "the store", ui);
            ids.extend_from_slice(searcher.query_ids());
            searchers.push((DENSE_RUN, searcher));
        }
        let queries = match queries {
            Some(queries) => queries,
            None => lists.judged(ids.into_iter().map(query_of_id).collect(), ui)?,
        };
        let searcher = match fusion {
            // Sparse, then dense: so a weight of the second is that of Mr. TyDi's paper.
            Some(fusion) => {
                let searchers = searchers.into_iter().map(|(file, searcher)| kept.keep(file, searcher));
                let searchers = searchers.collect::<Result<_, _>>()?;
                let hybrid = engine
                    .hybrid(searchers, HybridOptions { fusion, depth, collections: args.collections() })?;
                filter = lists.documents.in_collection(&*hybrid).0;
                hybrid
            }
            // Without a fusion there is one.
            None => searchers.swap_remove(0).1,
        };
        Ok(Self { searcher: kept.keep(FIRST_STAGE_RUN, searcher)?, queries, filter })
    }

    /// Searches `block` queries at a time and hands on what is found, in the order of the queries.
    pub(in crate::commands) fn search(
        &self,
        k: usize,
        block: usize,
        stop: &AtomicBool,
        mut take: impl FnMut(&[Query], SearchResponse) -> crate::Result<()>,
    ) -> crate::Result<()> {
        for queries in self.queries.chunks(block) {
            if stop.load(Ordering::Relaxed) {
                return Err(Interrupted { resume: "no run was written".to_owned() }.into());
            }
            let excluded = self.filter.excluded(queries);
            let filter = self.filter.of(&excluded);
            take(queries, self.searcher.search(&SearchRequest { queries, k, filter })?)?;
        }
        Ok(())
    }
}

/// A query that is known by its vector.
fn query_of_id(id: String) -> Query {
    Query { id, ..Query::default() }
}

fn read(args: &SourceArgs, ui: &Ui) -> crate::Result<Vec<Query>> {
    let inputs: Vec<Input> = args.queries.iter().map(Input::parse).collect();
    let (queries, skipped) = read_queries(&inputs, &args.input.options()?)?;
    if skipped.total() > 0 {
        ui.warning(skipped.to_string());
    }
    Ok(queries)
}
