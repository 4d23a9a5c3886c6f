//! `toller search`: queries in, a TREC run out.

mod kept;
mod report;
mod sources;
mod unfound;

use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rayon::prelude::*;
use toller_corpus::{RunWriteError, TrecRunWriter};
use toller_ir::{Query, Ranking, SearchResponse, Searcher};
use toller_pipeline::fusion::Fusion;

pub(super) use self::kept::{KEPT_RUNS, KeptRuns};
use self::report::{Nominated, Report};
pub(super) use self::sources::Sources;
pub(super) use self::unfound::Unfound;
use crate::args::run_output::RunOutputArgs;
use crate::args::sources::SourceArgs;
use crate::engine;
use crate::interrupt;
use crate::ui::Ui;

/// The most queries per search: enough to use the machine fully, few enough to show progress.
const QUERIES_PER_BLOCK: usize = 1024;

/// The most hits in memory, unless a single query has more.
const HITS_PER_BLOCK: usize = 8 << 20;

/// The most lines of a run in memory, unless a single query has more.
const LINES_AT_ONCE: usize = 1 << 18;

#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    /// Hits of --sparse and --dense to fuse
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "fusion", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Fusion")]
    depth: u32,

    /// Hits to return for each query
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,

    #[command(flatten)]
    output: RunOutputArgs,

    #[command(flatten)]
    sources: SourceArgs,
}

pub fn run(args: &SearchArgs, ui: &Ui) -> crate::Result<()> {
    let fusion = args.sources.check(false)?;
    args.output.check(&args.sources.inputs(), ui)?;
    let stop = interrupt::flag(ui, "stopping")?;
    args.output.write(ui, |run| search(args, fusion, run, &stop, ui))
}

/// Searches block by block, writes the run, and reports.
fn search(
    args: &SearchArgs,
    fusion: Option<Fusion>,
    run: &mut TrecRunWriter<&mut dyn Write>,
    stop: &AtomicBool,
    ui: &Ui,
) -> crate::Result<()> {
    let started = Instant::now();
    let engine = engine::open(ui)?;
    let mut kept = KeptRuns::none();
    let sources = Sources::open(&args.sources, fusion, args.depth as usize, &mut kept, &engine, ui)?;
    let Sources { searcher, queries, .. } = &sources;
    let prepare_secs = started.elapsed().as_secs_f64();

    let searching = Instant::now();
    let k = args.k as usize;
    let bar = ui.progress("searching", "queries", queries.len() as u64);
    let (mut hits, mut done, mut unfound) = (0, 0, Unfound::default());
    let mut nominated = Nominated::default();
    let block = block_of_queries(k, searcher.doc_count());
    let lines_at_once = (LINES_AT_ONCE / k).max(1);
    let format = run.format().clone();
    let searched =
        sources.search(k, block, stop, |block, SearchResponse { rankings, nominated: of_block, .. }| {
            nominated.add(&of_block);
            for (query, ranking) in block.iter().zip(&rankings) {
                hits += ranking.hits.len();
                unfound.note(&query.id, ranking.hits.len());
            }
            // All threads format, because formatting can take as long as searching.
            for (queries, rankings) in block.chunks(lines_at_once).zip(rankings.chunks(lines_at_once)) {
                let lines = |(query, ranking): (&Query, &Ranking)| {
                    let found = ranking.hits.iter().map(|hit| (searcher.doc_id(hit.doc), hit.score));
                    format.lines(&query.id, found)
                };
                let lines: Vec<Result<String, RunWriteError>> =
                    queries.par_iter().zip(rankings).map(lines).collect();
                lines.into_iter().try_for_each(|lines| run.write_lines(&lines?))?;
            }
            done += block.len();
            bar.set(done as u64);
            Ok(())
        });
    drop(bar);
    searched?;
    let search_secs = searching.elapsed().as_secs_f64();
    Report {
        args,
        queries: queries.len(),
        documents: searcher.doc_count(),
        hits,
        unfound: &unfound,
        prepare_secs,
        search_secs,
        nominated,
    }
    .print(ui)
}

/// The number of queries per search, for `k` hits among this many documents.
pub(super) fn block_of_queries(k: usize, documents: usize) -> usize {
    (HITS_PER_BLOCK / k.min(documents).max(1)).clamp(1, QUERIES_PER_BLOCK)
}
