//! `toller rerank`: a run in, its best hits scored again by cross-encoders, a run out.

mod journal;
mod model_scores;
mod report;

use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::AtomicBool;

use toller_corpus::TrecRunWriter;
use toller_ir::{Run, RunEntry};
use toller_pipeline::rerank::{Candidates, RerankError, Reranked, Reranker};

pub(super) use self::journal::Journal;
use self::report::Report;
pub(super) use self::report::warn_of_missing_texts;
use crate::args::input::QueriesArgs;
use crate::args::paths::{InputPath, Inputs, OutputPath};
use crate::args::reranking::RerankerArgs;
use crate::args::run_output::RunOutputArgs;
use crate::args::runs::RunInputArgs;
use crate::engine;
use crate::error::UsageError;
use crate::interrupt::{self, Interrupted};
use crate::ui::Ui;

/// clap does not fold the usage to 80 columns.
const USAGE: &str = "\
toller rerank [OPTIONS] --run <RUN> --queries <FILE>... --model <M>...
                     --corpus <FILE>... --output <RUN>";

/// Score the best hits of a run again with cross-encoders.
///
/// The first --depth hits of each query are ordered by their new score, ties by their order in the run; the
/// others follow in their order. Scores of the new run fall strictly. Scores are kept as they are computed:
/// after an interruption, the same command goes on where it stopped.
#[derive(Debug, clap::Args)]
#[command(override_usage = USAGE)]
pub struct RerankArgs {
    /// Run to rerank (TREC, MS MARCO, Tevatron, DPR, DuReader, JSON or Parquet); - for stdin
    #[arg(long, value_name = "RUN")]
    run: InputPath,

    /// Queries of the run: files or folders of files
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    queries: Vec<InputPath>,

    /// Hits to write for each query [default: all]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    k: Option<u32>,

    /// Directory to write one run per model to, with the model's own scores
    #[arg(long, value_name = "DIR")]
    keep_model_scores: Option<OutputPath>,

    #[command(flatten)]
    output: RunOutputArgs,

    #[command(flatten)]
    queries_input: QueriesArgs,

    #[command(flatten)]
    input: RunInputArgs,

    #[command(flatten)]
    reranker: RerankerArgs,
}

pub fn run(args: &RerankArgs, ui: &Ui) -> crate::Result<()> {
    check_usage(args, ui)?;
    let stop = interrupt::flag(ui, "stopping; what is scored is kept")?;
    let journal = Journal::of(args.reranker.reranking.cache.as_deref(), args.output.path());
    let (reranked, reranker) = args.output.write(ui, |run| rerank(args, &journal, run, &stop, ui))?;
    Report { reranked: &reranked, reranker: &reranker, output: args.output.name() }.print(ui)?;
    // Only now that the run is written: until then the journal is the only copy of the scores.
    journal.end(reranker.cache)
}

fn check_usage(args: &RerankArgs, ui: &Ui) -> Result<(), UsageError> {
    args.reranker.check()?;
    let reranking = &args.reranker.reranking;
    let files = std::iter::once(&args.run).chain(&args.queries).chain(&reranking.corpus);
    let inputs = Inputs::files(files).and_directories(reranking.directories());
    for scores in args.keep_model_scores.iter().flat_map(|to| model_scores::files(to, &args.reranker.models))
    {
        inputs.check_kept_by("--keep-model-scores", &scores)?;
        args.output.check_replaces_run(&scores)?;
    }
    args.output.check(&inputs, ui)
}

/// Reads, reranks and writes. The reranker has the cache of the scores, which may have to be removed once the
/// run is written.
fn rerank(
    args: &RerankArgs,
    journal: &Journal,
    out: &mut TrecRunWriter<&mut dyn Write>,
    stop: &AtomicBool,
    ui: &Ui,
) -> crate::Result<(Reranked, Reranker)> {
    let mut run = args.input.read(&args.run, ui)?;
    run.queries.values_mut().for_each(|hits| hits.sort_by(RunEntry::best_first));
    let queries = args.queries_input.read(&args.queries, args.input.skip_bad_lines(), ui)?;
    let texts: HashMap<&str, &str> =
        queries.iter().map(|query| (query.id.as_str(), query.text.as_str())).collect();
    let candidates = candidates(&run, &texts);
    // Deeper hits are not written.
    let most = args.k.map_or(usize::MAX, |k| k.max(args.reranker.reranking.depth) as usize);
    for query in &candidates {
        out.check_ids(query.query_id, query.hits.iter().take(most).map(|(document, _)| *document))?;
    }
    let mut reranker = args.reranker.open(args.input.skip_bad_lines(), &engine::open(ui)?)?;
    reranker.cache = journal.open(&reranker, ui)?;
    let reranked = rerank_with_progress(&reranker, &candidates, stop, journal, ui);
    if reranked.is_err() {
        journal.abandon(reranker.cache.take());
    }
    let reranked = reranked?;
    for (query, ranked) in candidates.iter().zip(&reranked.queries) {
        let kept = args.k.map_or(usize::MAX, |k| k as usize);
        let hits = ranked.iter().take(kept).map(|hit| (query.hits[hit.place].0, hit.score));
        out.write_query(query.query_id, hits)?;
    }
    if let Some(directory) = &args.keep_model_scores {
        model_scores::write(directory, &args.output, &args.reranker.models, &candidates, &reranked)?;
    }
    Ok((reranked, reranker))
}

fn candidates<'a>(run: &'a Run, texts: &HashMap<&'a str, &'a str>) -> Vec<Candidates<'a>> {
    let of_query = |(id, entries): (&'a String, &'a Vec<toller_ir::RunEntry>)| Candidates {
        query_id: id,
        query_text: texts.get(id.as_str()).copied(),
        hits: entries.iter().map(|entry| (entry.doc_id.as_str(), entry.score)).collect(),
    };
    run.queries.iter().map(of_query).collect()
}

fn rerank_with_progress(
    reranker: &Reranker,
    candidates: &[Candidates<'_>],
    stop: &AtomicBool,
    journal: &Journal,
    ui: &Ui,
) -> crate::Result<Reranked> {
    let bar = ui.progress("reranking", "pairs", reranker.pair_count(candidates));
    let started = std::time::Instant::now();
    let mut known = 0;
    let reranked = reranker.rerank(candidates, &|| interrupt::is_asked(stop), |progress| {
        if progress.known_pairs > known {
            known = progress.known_pairs;
            bar.already_done(progress.pairs);
        }
        bar.set(progress.pairs);
        bar.message(format!("{:.0} tokens/s", progress.tokens as f64 / started.elapsed().as_secs_f64()));
    });
    drop(bar);
    match reranked {
        Err(RerankError::Stopped { done, all }) => {
            Err(Interrupted { resume: journal.resume(done, all) }.into())
        }
        reranked => Ok(reranked?),
    }
}
