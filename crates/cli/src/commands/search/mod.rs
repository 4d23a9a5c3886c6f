//! `toller search`: queries in, a TREC run out.

mod ad_hoc;
mod kept;
mod report;
mod share;
mod sources;
mod unfound;

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use toller_corpus::TrecRunWriter;
use toller_ir::{Query, SearchResponse, Searcher};
use toller_pipeline::fusion::Fusion;

pub(super) use self::kept::{KEPT_RUNS, KeptRuns};
use self::report::{Found, Report};
pub(super) use self::sources::Sources;
pub(super) use self::unfound::Unfound;
use crate::args::input::CollectionArgs;
use crate::args::paths::InputPath;
use crate::args::run_output::RunOutputArgs;
use crate::args::shard::ShardArg;
use crate::args::sources::SourceArgs;
use crate::engine;
use crate::error::UsageError;
use crate::flags::first_given;
use crate::ui::Ui;

/// Hits of a query in a run unless --k says otherwise.
const K: u32 = 1000;

#[derive(Debug, clap::Args)]
#[command(mut_arg("output", |output| output.required(false)))]
pub struct SearchArgs {
    /// Words to search for, whose hits are shown here; without words, queries and output, a prompt
    #[arg(conflicts_with_all = ["queries", "query_vectors", "output", "output_format", "tag", "tab_separated", "max_passage",
        "max_passage_delimiter", "max_passage_hits", "overwrite"])]
    words: Vec<String>,

    /// Search only part I of N of the rows, counted from 1, and write a partial run to
    /// OUTPUT.part-IIIII-of-NNNNN; `toller merge` makes one run of all parts. auto: the part that a job array
    /// of Slurm, Kubernetes or AWS Batch gives to this task, or srun or torchrun to this process; auto/N: the
    /// same of N parts, where not all tasks run
    #[arg(long, value_name = "I/N|auto|auto/N", conflicts_with_all = ["words", "output_format", "tag", "tab_separated",
        "max_passage", "max_passage_delimiter", "max_passage_hits"])]
    shard: Option<ShardArg>,

    /// Hits to return for each query [default: 1000; 10 where they are shown]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    k: Option<u32>,

    #[command(flatten)]
    output: RunOutputArgs,

    #[command(flatten)]
    sources: SourceArgs,

    /// Collection, for titles and texts of the hits that are shown
    #[arg(long, value_name = "FILE", num_args = 1..)]
    corpus: Vec<InputPath>,

    #[command(flatten)]
    collection: CollectionArgs,

    /// Show what each term adds to the scores of the hits that are shown
    #[arg(long, requires = "sparse", conflicts_with = "dense")]
    explain: bool,
}

pub fn run(args: &SearchArgs, ui: &Ui) -> crate::Result<()> {
    let typed = args.is_ad_hoc();
    let fusion = args.sources.check(false, typed)?;
    if typed {
        return ad_hoc::run(args, fusion, ui);
    }
    args.check_shown()?;
    if let Some(shard) = args.shard {
        return share::run(args, shard, ui);
    }
    args.output.check(&args.sources.inputs(), ui)?;
    args.output.write(ui, |run| search(args, fusion, run, ui))?.print(ui)
}

impl SearchArgs {
    /// Refuses options that do not go together.
    pub fn check_options(&self) -> Result<(), UsageError> {
        self.sources.check_options().map(|_| ())
    }

    /// Whether queries are typed, on the command line or at a prompt.
    fn is_ad_hoc(&self) -> bool {
        let has_queries = !self.sources.queries.is_empty() || self.sources.dense.has_query_vectors();
        !self.words.is_empty() || !(has_queries || self.output.is_given())
    }

    /// Refuses flags that are for typed queries.
    fn check_shown(&self) -> Result<(), UsageError> {
        let flags = [("--corpus", !self.corpus.is_empty()), ("--explain", self.explain)];
        match first_given(flags.into_iter().chain(self.collection.flags())) {
            None => Ok(()),
            Some(flag) => Err(UsageError::new(
                format!("{flag} is for hits that are shown here, and these are written to a run"),
                format!("leave {flag} out, or give the query as words, without --queries"),
            )),
        }
    }

    /// The run that all shards make together.
    pub fn run_of_shards(&self) -> Result<&Path, UsageError> {
        share::check(self)?;
        let named = || UsageError::new("shards write files next to --output", "give --output a file");
        self.output.path().ok_or_else(named)
    }

    fn k(&self) -> usize {
        self.k.unwrap_or(K) as usize
    }
}

/// Refuses queries that the run cannot hold, before the work.
pub(super) fn check_query_ids<W: Write>(queries: &[Query], run: &TrecRunWriter<W>) -> crate::Result<()> {
    Ok(queries.iter().try_for_each(|query| run.check_ids(&query.id, std::iter::empty()))?)
}

/// Searches block by block, and writes the run.
fn search<'a>(
    args: &'a SearchArgs,
    fusion: Option<Fusion>,
    run: &mut TrecRunWriter<&mut dyn Write>,
    ui: &Ui,
) -> crate::Result<Report<'a>> {
    let started = Instant::now();
    let engine = engine::open(ui)?;
    let mut kept = KeptRuns::none();
    let sources = Sources::open(&args.sources, fusion, &mut kept, &engine, ui)?;
    let Sources { searcher, queries, .. } = &sources;
    check_query_ids(queries, run)?;
    let prepare_secs = started.elapsed().as_secs_f64();

    let searching = Instant::now();
    let bar = ui.progress("searching", "queries", queries.len() as u64);
    let mut found = Found::default();
    let take = |block: &[Query], SearchResponse { rankings, nominated, .. }| {
        run.write_rankings(block, &rankings, &**searcher)?;
        found.add(block, &rankings, &nominated);
        bar.set(found.queries as u64);
        Ok(())
    };
    let searched: crate::Result<()> = sources.job(args.k()).run(take);
    drop(bar);
    searched?;
    found.hits = run.hits();
    let search_secs = searching.elapsed().as_secs_f64();
    Ok(Report {
        args,
        output: args.output.name(),
        documents: searcher.doc_count(),
        found,
        prepare_secs,
        search_secs,
    })
}
