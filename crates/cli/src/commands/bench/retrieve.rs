//! `toller bench retrieve`: how fast queries are searched and reranked here, all together and one alone.

use std::io::Write;
use std::slice;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toller_bench::figures::grouped;
use toller_bench::{Timings, measure};
use toller_corpus::TrecRunWriter;
use toller_ir::counted;
use toller_pipeline::SearchJob;
use toller_pipeline::rerank::{RerankReport, RetrieveJob, Retrieved};
use toller_simd::Isa;

use super::options::TimeArgs;
use super::output::{LATENCY_HEADER, Table, latency_cells, timings_json};
use crate::commands::retrieve::RetrievalArgs;
use crate::commands::search::KeptRuns;
use crate::engine;
use crate::error::{Failure, Remedied, UsageError};
use crate::interrupt;
use crate::ui::Ui;

/// clap does not fold the usage to 80 columns.
const USAGE: &str = "\
toller bench retrieve [OPTIONS] --rerank <M>... --corpus <FILE>...";

/// Measure retrieval and reranking of your own queries, by stage: all together, and one query alone.
///
/// All queries together are searched and reranked at the same time, so the times of the stages overlap. A
/// query alone goes through one stage after the other. The run is written to a temporary file.
#[derive(Debug, clap::Args)]
#[command(override_usage = USAGE)]
pub struct BenchRetrieveArgs {
    /// Measure with the first N queries
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    first: u32,

    #[command(flatten)]
    retrieval: RetrievalArgs,

    #[command(flatten)]
    time: TimeArgs,
}

/// The least number of rounds of all queries.
const MIN_ROUNDS: usize = 3;
/// The least number of queries whose latency is measured.
const MIN_QUERIES: usize = 20;

/// Measures all queries together, then each alone.
pub fn run(args: &BenchRetrieveArgs, threads: usize, ui: &Ui) -> crate::Result<()> {
    let fusion = args.retrieval.check()?;
    if args.retrieval.reranking.cache.is_some() {
        let message = "scores that --cache keeps would be read, and what is measured is computing them";
        return Err(UsageError::new(message, "leave --cache out").into());
    }
    let stop = interrupt::flag(ui, "stopping")?;
    let began = Instant::now();
    let engine = engine::open(ui)?;
    let (mut sources, reranker) = args.retrieval.open(fusion, &mut KeptRuns::none(), &engine, ui)?;
    sources.queries.truncate(args.first as usize);
    if sources.queries.is_empty() {
        return Err(Remedied::new("there are no queries to measure with", "give others").into());
    }
    let opened = began.elapsed();

    let job = args.retrieval.job(&sources, &reranker);
    let bar = ui.progress("measuring", "figures", 2);
    let together = StageTimes::measure(&args.time.budget(MIN_ROUNDS), |_| retrieve(&job, &stop))?;
    bar.set(1);
    let alone = StageTimes::measure(&args.time.budget(MIN_QUERIES), |round| {
        let query = &sources.queries[round % sources.queries.len()];
        let search = SearchJob { queries: slice::from_ref(query), ..job.search };
        retrieve(&RetrieveJob { search, ..job }, &stop)
    })?;
    drop(bar);

    let report = Report {
        args,
        documents: sources.searcher.doc_count(),
        queries: sources.queries.len(),
        threads,
        opened,
        together,
        alone,
    };
    ui.show(|| report.json(), |out| report.tables(out))
}

/// Times of both stages, and of all: with the lines of the run.
struct StageTimes {
    all: Timings,
    search: Timings,
    rerank: Timings,
    /// What was reranked in the last round.
    reranked: RerankReport,
}

impl StageTimes {
    fn measure(
        budget: &toller_bench::Budget,
        mut round: impl FnMut(usize) -> crate::Result<(Duration, RerankReport)>,
    ) -> crate::Result<Self> {
        let (mut search, mut rerank, mut last) = (Vec::new(), Vec::new(), RerankReport::default());
        let all = measure(budget, |number| {
            let began = Instant::now();
            let (searched, reranked) = round(number)?;
            let time = began.elapsed();
            // The first round warms up.
            if number > 0 {
                search.push(searched.as_secs_f64());
                rerank.push(reranked.duration.as_secs_f64());
            }
            last = reranked;
            Ok::<_, Failure>(time)
        })?;
        let timings =
            |seconds| Timings::new(seconds).ok_or_else(|| Remedied::without_remedy("no round was measured"));
        Ok(Self { all, search: timings(search)?, rerank: timings(rerank)?, reranked: last })
    }

    fn json(&self) -> Value {
        json!({
            "seconds": timings_json(&self.all),
            "search_seconds": timings_json(&self.search),
            "rerank_seconds": timings_json(&self.rerank),
        })
    }
}

/// Retrieves, and writes the run to a temporary file. Gives the time of the first stage, and what the second
/// did.
fn retrieve(job: &RetrieveJob<'_>, stop: &AtomicBool) -> crate::Result<(Duration, RerankReport)> {
    let mut file = std::io::BufWriter::new(tempfile::tempfile()?);
    let mut run = TrecRunWriter::new(&mut file, "the temporary run", "toller")?;
    let (mut searched, mut all) = (Duration::ZERO, RerankReport::default());
    let take = |Retrieved { queries, rankings, search, reranked, .. }: Retrieved<'_>| {
        run.write_rankings(queries, &rankings, job.search.searcher)?;
        searched += search;
        all.add(reranked);
        Ok::<_, Failure>(())
    };
    let retrieved = job.run(&|| interrupt::is_asked(stop), take);
    interrupt::check(stop, "nothing was printed")?;
    retrieved?;
    run.finish()?;
    Ok((searched, all))
}

/// What was measured, to be printed.
struct Report<'a> {
    args: &'a BenchRetrieveArgs,
    documents: usize,
    queries: usize,
    threads: usize,
    opened: Duration,
    together: StageTimes,
    alone: StageTimes,
}

impl Report<'_> {
    fn tables(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let Self { args, documents, queries, threads, opened, together, alone } = self;
        let RetrievalArgs { k, reranking, .. } = &args.retrieval;
        writeln!(
            out,
            "{}, k {}, reranked to depth {}; {}, {threads} threads; opened in {:.2} s\n\n\
             {} together, both stages at the same time:\n",
            counted(*documents as u64, "document"),
            grouped(*k as usize),
            reranking.depth,
            Isa::active(),
            opened.as_secs_f64(),
            counted(*queries as u64, "query"),
        )?;
        let mut table = Table::new(["stage", "s", "queries/s", "pairs/s", "tokens/s"]);
        let RerankReport { pairs, tokens, .. } = together.reranked;
        let all = *queries as u64;
        let row = |name: &str, timings: &Timings, counts: &[u64]| {
            let seconds = timings.median();
            let rates = counts.iter().map(|count| format!("{:.0}", *count as f64 / seconds));
            [name.to_owned(), format!("{seconds:.3}")].into_iter().chain(rates).collect::<Vec<_>>()
        };
        table.push(row("search", &together.search, &[all]));
        table.push(row("rerank", &together.rerank, &[all, pairs, tokens]));
        table.push(row("all", &together.all, &[all, pairs, tokens]));
        table.write(out)?;
        writeln!(out, "\na query alone, on all threads:\n")?;
        let mut table = Table::new(["stage"].into_iter().chain(LATENCY_HEADER));
        for (name, timings) in [("search", &alone.search), ("rerank", &alone.rerank), ("all", &alone.all)] {
            table.push([name.to_owned()].into_iter().chain(latency_cells(timings)));
        }
        table.write(out)
    }

    fn json(&self) -> Value {
        let Self { args, documents, queries, threads, opened, together, alone } = self;
        let RerankReport { pairs, tokens, .. } = together.reranked;
        let rate = |count: u64, timings: &Timings| count as f64 / timings.median();
        json!({
            "instruction_set": Isa::active().to_string(),
            "threads": threads,
            "documents": documents,
            "queries": queries,
            "k": args.retrieval.k,
            "depth": args.retrieval.reranking.depth,
            "open_seconds": opened.as_secs_f64(),
            "together": together.json(),
            "queries_per_second": rate(*queries as u64, &together.all),
            "pairs": pairs,
            "tokens": tokens,
            "pairs_per_second": rate(pairs, &together.rerank),
            "tokens_per_second": rate(tokens, &together.rerank),
            "alone": alone.json(),
        })
    }
}
