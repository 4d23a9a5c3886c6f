//! `toller retrieve`: queries in, a reranked run out, the stages at the same time.

mod report;
mod stages;

use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use toller_corpus::TrecRunWriter;
use toller_engine::Engine;
use toller_ir::Setting;
use toller_nn::Precision;
use toller_pipeline::fusion::Fusion;
use toller_pipeline::rerank::{Reranker, RetrieveJob, ScoreCache};

use self::report::Report;
use crate::args::cross_encoder::ScoringArgs;
use crate::args::device::ComputeArgs;
use crate::args::paths::{Inputs, ModelName, OutputPath};
use crate::args::reranking::RerankingArgs;
use crate::args::run_output::RunOutputArgs;
use crate::args::sources::{SourceArgs, check_texts};
use crate::commands::rerank::Journal;
use crate::commands::search::{KEPT_RUNS, KeptRuns, Sources, check_query_ids};
use crate::engine;
use crate::error::{Context, UsageError};
use crate::interrupt;
use crate::ui::Ui;

/// clap does not fold the usage to 80 columns.
const USAGE: &str = "\
toller retrieve [OPTIONS] --rerank <M>... --corpus <FILE>...
                       --output <RUN>";

/// The flag of the cross-encoders' maximum length; --max-length is the first stage's.
const RERANK_MAX_LENGTH: &str = "--rerank-max-length";

/// Search and rerank in one command, with both stages at the same time.
///
/// The run is that of `toller search` and then `toller rerank`. Reranking starts with the first queries while
/// the others are searched. --model and its flags are for the dense first stage, --rerank names the
/// cross-encoders. Scores are kept as they are computed: after an interruption, the same command searches
/// again but does not score again.
#[derive(Debug, clap::Args)]
#[command(override_usage = USAGE)]
pub struct RetrieveArgs {
    #[command(flatten)]
    retrieval: RetrievalArgs,

    /// Keep the first stage's run in this directory as first-stage.run, and a hybrid's as sparse.run and
    /// dense.run too
    #[arg(long, value_name = "DIR")]
    keep_stages: Option<OutputPath>,

    #[command(flatten)]
    output: RunOutputArgs,
}

/// Flags of both stages.
#[derive(Debug, clap::Args)]
pub(super) struct RetrievalArgs {
    /// Cross-encoder to rerank with; several form an ensemble
    #[arg(long, value_name = "M", num_args = 1.., required = true)]
    rerank: Vec<ModelName>,

    /// Truncate pairs to N tokens, special tokens included [default: the cross-encoder's own maximum]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rerank_max_length: Option<u32>,

    /// Number format in which the cross-encoders compute [default: that of --dtype]
    #[arg(long, value_name = "f32|f16|bf16|int8")]
    rerank_dtype: Option<Precision>,

    /// Hits to return for each query; the first stage finds this many, or --depth if that is more
    #[arg(long, short, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) k: u32,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    pub(super) reranking: RerankingArgs,

    #[command(flatten)]
    scoring: ScoringArgs,
}

pub fn run(args: &RetrieveArgs, ui: &Ui) -> crate::Result<()> {
    let fusion = args.check(ui)?;
    let stop = interrupt::flag(ui, "stopping; what is scored is kept")?;
    let journal = Journal::of(args.retrieval.reranking.cache.as_deref(), args.output.path());
    let (report, cache) = args.output.write(ui, |run| {
        let mut kept = match &args.keep_stages {
            Some(directory) => KeptRuns::in_directory(directory, &args.output)?,
            None => KeptRuns::none(),
        };
        let retrieved = retrieve(args, fusion, &journal, run, &mut kept, &stop, ui)?;
        kept.commit()?;
        Ok(retrieved)
    })?;
    report.print(ui)?;
    // Only now that the run is written: until then the journal is the only copy of the scores.
    journal.end(cache)
}

impl RetrieveArgs {
    /// Refuses options that do not go together.
    pub fn check_options(&self) -> Result<(), UsageError> {
        self.retrieval.sources.check_options().map(|_| ())
    }

    /// The files to which runs of the first stage may be written.
    fn kept(&self) -> impl Iterator<Item = OutputPath> {
        self.keep_stages.iter().flat_map(|directory| KEPT_RUNS.map(|file| directory.file(file)))
    }

    /// Refuses wrong usage before anything is read; returns how hits are fused.
    fn check(&self, ui: &Ui) -> Result<Option<Fusion>, UsageError> {
        let fusion = self.retrieval.check()?;
        let inputs = self.retrieval.inputs();
        for kept in self.kept() {
            let is_output = |output| std::path::absolute(output).ok() == std::path::absolute(&kept).ok();
            if self.output.path().is_some_and(is_output) || inputs.has_file(&kept) {
                return Err(UsageError::new(
                    format!(
                        "--keep-stages would write to {}, which is another file of this command",
                        kept.display()
                    ),
                    "name another directory",
                ));
            }
            self.output.check_replaces_run(&kept)?;
        }
        self.output.check(&inputs, ui)?;
        Ok(fusion)
    }
}

impl RetrievalArgs {
    /// Refuses wrong usage before anything is read; returns how hits are fused.
    pub(super) fn check(&self) -> Result<Option<Fusion>, UsageError> {
        if self.sources.queries.is_empty() {
            return Err(UsageError::new("reranking needs the texts of the queries", "give --queries"));
        }
        let fusion = self.sources.check(true, false)?;
        self.reranking.check()?;
        self.inputs().check()?;
        Ok(fusion)
    }

    /// What is read.
    fn inputs(&self) -> Inputs<'_> {
        let reranking = &self.reranking;
        self.sources.inputs().and_files(&reranking.corpus).and_directories(reranking.directories())
    }

    /// Both stages. The first finds enough hits to return and to rerank.
    pub(super) fn job<'a>(&self, sources: &'a Sources, reranker: &'a Reranker) -> RetrieveJob<'a> {
        let search = sources.job(self.k.max(self.reranking.depth) as usize);
        RetrieveJob { search, reranker, k: self.k as usize }
    }

    /// Opens what is searched, and the reranker.
    pub(super) fn open(
        &self,
        fusion: Option<Fusion>,
        kept: &mut KeptRuns<'_>,
        engine: &Engine,
        ui: &Ui,
    ) -> crate::Result<(Sources, Reranker)> {
        let sources = Sources::open(&self.sources, fusion, kept, engine, ui)?;
        check_texts(&sources.queries, "the reranker")?;
        let machine = self.sources.dense.model_args.compute.clone();
        let machine = ComputeArgs { dtype: self.rerank_dtype.or(machine.dtype), ..machine };
        let options = self.scoring.options(self.rerank_max_length, &machine, engine)?;
        let skip_bad_lines = self.sources.bad_lines.skip_bad_lines;
        let reranker = self.reranking.open(&self.rerank, &options, skip_bad_lines, engine);
        let reranker = reranker.with_flag(Setting::MaxLength, RERANK_MAX_LENGTH)?;
        Ok((sources, reranker))
    }
}

/// Opens everything and runs the stages; also returns the cache of the scores, which may have to be removed
/// once the run is written.
fn retrieve(
    args: &RetrieveArgs,
    fusion: Option<Fusion>,
    journal: &Journal,
    run: &mut TrecRunWriter<&mut dyn Write>,
    kept: &mut KeptRuns<'_>,
    stop: &AtomicBool,
    ui: &Ui,
) -> crate::Result<(Report, Option<ScoreCache>)> {
    let started = Instant::now();
    let engine = engine::open(ui)?;
    let (sources, mut reranker) = args.retrieval.open(fusion, kept, &engine, ui)?;
    check_query_ids(&sources.queries, run)?;
    reranker.cache = journal.open(&reranker, ui)?;
    let prepare_secs = started.elapsed().as_secs_f64();
    let retrieving = Instant::now();
    let times = stages::run(&args.retrieval.job(&sources, &reranker), run, journal, stop, ui);
    if times.is_err() {
        journal.abandon(reranker.cache.take());
    }
    let times = times?;
    let report = Report {
        queries: sources.queries.len(),
        documents: sources.searcher.doc_count(),
        depth: reranker.options().depth,
        k: args.retrieval.k,
        output: args.output.name(),
        prepare_secs,
        all_secs: retrieving.elapsed().as_secs_f64(),
        times,
    };
    Ok((report, reranker.cache))
}
