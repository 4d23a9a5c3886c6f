//! `toller bench sparse`: how fast an inverted index is searched here.

use std::io::Write;

use serde_json::{Value, json};
use toller_bench::figures::{grouped, sparse_figure};
use toller_bench::sparse::{SparsePoint, measure_sparse};
use toller_ir::{Searcher, counted};
use toller_simd::Isa;

use super::options::{BenchOptions, ascending};
use super::output::{LATENCY_HEADER, Table, latency_cells, timings_json};
use crate::args::input::{BadLinesArgs, QueriesArgs};
use crate::args::paths::InputPath;
use crate::args::sparse::SparseArgs;
use crate::engine;
use crate::error::{Remedied, UsageError};
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
#[command(mut_arg("sparse", |sparse| sparse.required(true)))]
pub struct BenchSparseArgs {
    /// Queries: files, folders or URLs (s3://, gs://, az://), as for `toller search`; - for stdin
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    queries: Vec<InputPath>,

    /// Measure with the first N queries
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    first: u32,

    /// Hits of a query
    #[arg(long, short, value_name = "K,...", value_delimiter = ',', default_value = "10,100,1000", value_parser = clap::value_parser!(u32).range(1..))]
    k: Vec<u32>,

    /// Skip the check of the index against its checksums
    #[arg(long)]
    no_verify: bool,

    #[command(flatten)]
    sparse: SparseArgs,

    #[command(flatten)]
    input: QueriesArgs,

    #[command(flatten)]
    bad_lines: BadLinesArgs,

    #[command(flatten)]
    options: BenchOptions,
}

/// The least number of rounds of all queries.
const MIN_ROUNDS: usize = 3;
/// The least number of queries whose latency is measured.
const MIN_QUERIES: usize = 20;

/// Measures each k.
pub fn run(args: &BenchSparseArgs, threads: usize, ui: &Ui) -> crate::Result<()> {
    args.sparse.check()?;
    let plot = args.options.plot.open()?;
    let engine = engine::open(ui)?;
    let (has_impacts, skip) = (args.sparse.has_impacts(), args.bad_lines.skip_bad_lines);
    let mut queries = match args.sparse.stored_queries(&args.queries)? {
        Some(stored) => stored,
        None => args.input.read_for(has_impacts, &args.queries, skip, ui)?,
    };
    queries.truncate(args.first as usize);
    if queries.is_empty() {
        return Err(Remedied::new("there are no queries to measure with", "give others").into());
    }
    let searcher = args.sparse.open(&queries, !args.no_verify, None, &engine)?;
    let searcher =
        searcher.ok_or_else(|| UsageError::new("there is nothing to search", "give --sparse DIR"))?;

    let depths = ascending(&args.k);
    let bar = ui.progress("measuring", "figures", depths.len() as u64);
    let mut points = Vec::new();
    for k in depths {
        let (together, alone) = (args.options.time.budget(MIN_ROUNDS), args.options.time.budget(MIN_QUERIES));
        points.push(measure_sparse(&*searcher, &queries, k, &together, &alone)?);
        bar.set(points.len() as u64);
    }
    drop(bar);
    let documents = searcher.doc_count();
    let subject = format!(
        "{} for {}; {}, {threads} threads",
        counted(documents as u64, "document"),
        counted(queries.len() as u64, "query"),
        Isa::active()
    );
    ui.show(|| json(documents, threads, &points), |out| tables(&subject, &points, out))?;
    plot.draw(|| sparse_figure(&points, subject))
}

fn tables(subject: &str, points: &[SparsePoint], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{subject}\n")?;
    let mut table = Table::new(["k", "hits", "ms", "queries/s"]);
    for point in points {
        table.push([
            grouped(point.k),
            grouped(point.hits),
            format!("{:.2}", point.together.median() * 1e3),
            format!("{:.0}", point.queries_per_sec()),
        ]);
    }
    table.write(out)?;
    writeln!(out, "\nlatency of one query at a time:\n")?;
    let mut table = Table::new(["k"].into_iter().chain(LATENCY_HEADER));
    for point in points {
        table.push([grouped(point.k)].into_iter().chain(latency_cells(&point.alone)));
    }
    table.write(out)
}

fn json(documents: usize, threads: usize, points: &[SparsePoint]) -> Value {
    let figure = |point: &SparsePoint| {
        json!({
            "k": point.k,
            "queries": point.queries,
            "hits": point.hits,
            "seconds": timings_json(&point.together),
            "queries_per_second": point.queries_per_sec(),
            "query_latency": timings_json(&point.alone),
        })
    };
    json!({
        "instruction_set": Isa::active().to_string(),
        "threads": threads,
        "documents": documents,
        "figures": points.iter().map(figure).collect::<Vec<_>>(),
    })
}
