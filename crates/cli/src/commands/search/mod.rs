//! `toller search`: queries in, a TREC run out.

mod dense;
mod filter;
mod report;
mod sources;
mod sparse;

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use toller_corpus::TrecRunWriter;
use toller_pipeline::fusion::{Fusion, Method};

use self::dense::DenseArgs;
use self::filter::FilterArgs;
use self::report::Report;
use self::sources::Sources;
pub(super) use self::sparse::{SparseArgs, open_index};
use crate::error::{SearchFailed, UsageError};
use crate::fusion_args::{self, FusionArgs};
use crate::input::InputArgs;
use crate::interrupt::{self, Interrupted};
use crate::run_output::RunOutputArgs;
use crate::ui::Ui;

/// Queries that are searched at a time, at most: enough to use the machine fully, few enough to see
/// progress.
const QUERIES_PER_BLOCK: usize = 1024;

/// Hits that are held at a time, unless a single query has more.
const HITS_PER_BLOCK: usize = 8 << 20;

/// Arguments of `toller search`.
#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    #[command(flatten)]
    dense: DenseArgs,

    #[command(flatten)]
    sparse: SparseArgs,

    /// How the hits of --sparse and of --dense are fused: a method of `toller fuse`; --alpha is the weight of the dense scores
    #[arg(long, value_name = "NAME", value_parser = fusion_args::method, help_heading = "Fusion")]
    fusion: Option<&'static Method>,

    /// Hits of each that are fused
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "fusion", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Fusion")]
    depth: u32,

    /// Fuse hits of collections that do not have the same documents
    #[arg(long, requires = "fusion", help_heading = "Fusion")]
    different_collections: bool,

    #[command(flatten)]
    fusion_args: FusionArgs,

    /// Queries: TSV, JSONL, TREC topics, DPR, EntityQuestions, DuReader; - for stdin
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    /// Hits to return for each query
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,

    #[command(flatten)]
    output: RunOutputArgs,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    input: InputArgs,
}

/// Searches.
pub fn run(args: &SearchArgs, ui: &Ui) -> anyhow::Result<()> {
    let fusion = check_usage(args, ui)?;
    let stop = interrupt::flag(ui, "stopping")?;
    args.output.write(ui, |run| search(args, fusion, run, &stop, ui))
}

impl SearchArgs {
    /// How hits are fused, where two things are searched.
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
}

/// What can be refused before anything is read; how hits are fused.
fn check_usage(args: &SearchArgs, ui: &Ui) -> Result<Option<Fusion>, UsageError> {
    let fusion = args.fusion()?;
    args.sparse.check()?;
    args.dense.check(args.queries.as_ref(), args.sparse.sparse.is_some())?;
    if args.queries.is_none() && args.input.is_given() {
        return Err(UsageError::new(
            "--format and --skip-bad-lines say how --queries is read, which is not given",
            "leave them out",
        ));
    }
    let files = || args.queries.iter().chain(args.filter.files());
    if files().filter(|file| file.as_os_str() == "-").count() > 1 {
        return Err(UsageError::new(
            "of --queries, --exclude and --allow more than one would read stdin",
            "give files to all but one",
        ));
    }
    args.output.check(files(), args.dense.stores().chain(&args.sparse.sparse), ui)?;
    Ok(fusion)
}

/// Searches block by block, writes the run, and reports.
fn search(
    args: &SearchArgs,
    fusion: Option<Fusion>,
    run: &mut TrecRunWriter<&mut dyn Write>,
    stop: &AtomicBool,
    ui: &Ui,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let Sources { searcher, queries, nominated } = Sources::open(args, fusion, ui)?;
    let prepare_secs = started.elapsed().as_secs_f64();

    let searching = Instant::now();
    let k = args.k as usize;
    let block = (HITS_PER_BLOCK / k.min(searcher.doc_count()).max(1)).clamp(1, QUERIES_PER_BLOCK);
    let bar = ui.progress("searching", "queries", queries.len() as u64);
    let (mut hits, mut done) = (0, 0);
    for block in queries.chunks(block) {
        if stop.load(Ordering::Relaxed) {
            bar.finish();
            return Err(Interrupted { resume: "no run was written".to_owned() }.into());
        }
        let rankings = searcher.search(block, k).map_err(SearchFailed)?;
        for (query, ranking) in block.iter().zip(rankings) {
            let found = ranking.hits.iter().map(|hit| (searcher.doc_id(hit.doc), hit.score));
            run.write_query(&query.id, found)?;
            hits += ranking.hits.len();
        }
        done += block.len();
        bar.set(done as u64);
    }
    bar.finish();
    let search_secs = searching.elapsed().as_secs_f64();
    Report {
        args,
        queries: queries.len(),
        documents: searcher.doc_count(),
        hits,
        prepare_secs,
        search_secs,
        nominated,
    }
    .tell(ui)
}
