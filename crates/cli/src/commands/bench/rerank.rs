//! `toller bench rerank`: how fast a cross-encoder reranks here.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toller_bench::figures::rerank_figure;
use toller_bench::{Pass, Passes, Timings, Words, measure};
use toller_files::{FileError, Input};
use toller_nn::Precision;
use toller_pipeline::rerank::{Candidates, RerankOptions, RerankReport, Reranker};
use toller_simd::Isa;
use toller_texts::{Texts, TextsOptions};

use super::machine::MatrixLimit;
use super::options::{BenchOptions, MOST, ascending};
use super::output::{LATENCY_HEADER, Table, giga, latency_cells, share, timings_json};
use crate::args::cross_encoder::CrossEncoderArgs;
use crate::args::paths::ModelName;
use crate::engine;
use crate::error::Failure;
use crate::interrupt;
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub struct BenchRerankArgs {
    /// Cross-encoder: a directory, a Hugging Face id (org/name, org/name@revision) or a known name
    #[arg(long, value_name = "M")]
    model: ModelName,

    /// Hits of each query
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "10,100,1000", value_parser = clap::value_parser!(u32).range(1..=MOST))]
    depths: Vec<u32>,

    /// Queries of a pass
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=MOST))]
    queries: u32,

    /// Tokens of a query
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=MOST))]
    query_tokens: u32,

    /// Tokens of a passage
    #[arg(long, value_name = "N", default_value_t = 72, value_parser = clap::value_parser!(u32).range(1..=MOST))]
    passage_tokens: u32,

    #[command(flatten)]
    options: BenchOptions,

    #[command(flatten)]
    cross_encoder: CrossEncoderArgs,
}

/// The least number of passes.
const MIN_ROUNDS: usize = 3;
/// The depth at which the latency of one query is measured.
const LATENCY_DEPTH: usize = 100;
/// The least number of queries whose latency is measured.
const MIN_QUERIES: usize = 5;

/// Measures each depth, and the latency of a query.
pub fn run(args: &BenchRerankArgs, threads: usize, ui: &Ui) -> crate::Result<()> {
    args.cross_encoder.check()?;
    let plot = args.options.plot.open()?;
    let engine = engine::open(ui)?;
    let model = engine.cross_encoder(&args.model, &args.cross_encoder.options(&engine)?)?;
    let (machine, dtype) = (model.compute().device(), model.dtype());
    let budget = args.options.time.budget(MIN_ROUNDS);
    let limit = MatrixLimit::measure(model.compute(), args.cross_encoder.compute.device, &budget)?;
    let words = Words::new(|text| Ok(model.tokenizer().all_ids(text)?.len()))?;
    let depths = ascending(&args.depths);
    let deepest = depths.last().copied().unwrap_or(0).max(LATENCY_DEPTH);

    // The first signal ends this command, except while it has a folder to remove.
    let stop = interrupt::flag(ui, "stopping")?;
    let folder = tempfile::tempdir()?;
    let collection = MadeUp::write(args, &words, deepest, folder.path())?;
    let options = RerankOptions { depth: deepest, ..RerankOptions::default() };
    let reranker = Reranker::new(vec![model], Arc::new(collection.open()?), options, threads)?;
    let pass = |queries: usize, depth: usize| {
        let candidates = collection.candidates(queries, depth);
        let reranked = reranker.rerank(&candidates, &|| interrupt::is_asked(&stop), |_| {});
        interrupt::check(&stop, "nothing was printed")?;
        let RerankReport { pairs, tokens, duration, .. } = reranked?.report;
        Ok::<_, Failure>(Pass { items: pairs, tokens, duration })
    };
    let bar = ui.progress("measuring", "figures", depths.len() as u64 + 1);
    let mut points = Vec::new();
    for &depth in &depths {
        let again = || pass(args.queries as usize, depth);
        points.push((depth, Passes::measure(&budget, again)?));
        bar.set(points.len() as u64);
    }
    let latency = measure(&args.options.time.budget(MIN_QUERIES), |_| {
        Ok::<Duration, Failure>(pass(1, LATENCY_DEPTH)?.duration)
    })?;
    drop(bar);

    let report = Report { args, machine, dtype, threads, limit: &limit, points: &points, latency: &latency };
    ui.show(|| report.json(), |out| report.tables(out))?;
    plot.draw(|| rerank_figure(&points, limit.rate, report.subject()))
}

/// Made-up queries, and a collection with different made-up passages for each query.
struct MadeUp {
    queries: Vec<String>,
    ids: Vec<Vec<String>>,
    collection: Input,
}

impl MadeUp {
    fn write(args: &BenchRerankArgs, words: &Words, depth: usize, folder: &Path) -> crate::Result<Self> {
        let path = folder.join("collection.tsv");
        let (mut lines, mut ids) = (String::new(), Vec::new());
        for query in 0..args.queries as usize {
            let numbers = query * depth..(query + 1) * depth;
            for number in numbers.clone() {
                let text = words.text(args.passage_tokens as usize, number as u64);
                lines.push_str(&format!("{number}\t{text}\n"));
            }
            ids.push(numbers.map(|number| number.to_string()).collect());
        }
        std::fs::write(&path, lines).map_err(FileError::on("write", &path))?;
        let query = |seed: u32| words.text(args.query_tokens as usize, u64::MAX - u64::from(seed));
        let queries = (0..args.queries).map(query).collect();
        Ok(Self { queries, ids, collection: Input::File(path) })
    }

    fn open(&self) -> crate::Result<Texts> {
        Ok(Texts::open(std::slice::from_ref(&self.collection), &TextsOptions::default(), |_| {})?)
    }

    fn candidates(&self, queries: usize, depth: usize) -> Vec<Candidates<'_>> {
        self.queries
            .iter()
            .zip(&self.ids)
            .take(queries)
            .map(|(text, ids)| Candidates {
                query_id: text,
                query_text: Some(text),
                hits: ids.iter().take(depth).map(|id| (id.as_str(), 0.0)).collect(),
            })
            .collect()
    }
}

/// What was measured, to be printed.
struct Report<'a> {
    args: &'a BenchRerankArgs,
    /// The device.
    machine: String,
    dtype: Precision,
    threads: usize,
    limit: &'a MatrixLimit,
    points: &'a [(usize, Passes)],
    latency: &'a Timings,
}

impl Report<'_> {
    fn subject(&self) -> String {
        let Self { args, machine, dtype, threads, .. } = self;
        format!("{}, {dtype}, {machine}, {threads} threads", args.model)
    }

    fn tables(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(out, "{}", self.subject())?;
        writeln!(out, "{}\n", self.limit)?;
        let header = ["depth", "queries", "tokens a pair", "pairs/s", "tokens/s", "GFLOP/s", "of matrix"];
        let mut table = Table::new(header);
        for (depth, passes) in self.points {
            table.push([
                depth.to_string(),
                self.args.queries.to_string(),
                format!("{:.1}", passes.tokens_per_item()),
                format!("{:.1}", passes.items_per_sec()),
                format!("{:.0}", passes.tokens_per_sec()),
                giga(passes.operations_per_sec()),
                share(passes.operations_per_sec() / self.limit.rate),
            ]);
        }
        table.write(out)?;
        writeln!(
            out,
            "\nlatency of one query to depth {LATENCY_DEPTH}, all threads, tokenization included:\n"
        )?;
        let mut table = Table::new(LATENCY_HEADER);
        table.push(latency_cells(self.latency));
        table.write(out)
    }

    fn json(&self) -> Value {
        let figure = |(depth, passes): &(usize, Passes)| {
            json!({
                "depth": depth,
                "queries": self.args.queries,
                "pairs": passes.items,
                "tokens": passes.tokens,
                "seconds": timings_json(&passes.timings),
                "pairs_per_second": passes.items_per_sec(),
                "tokens_per_second": passes.tokens_per_sec(),
                "gflop_per_second": passes.operations_per_sec() * 1e-9,
                "share_of_matrix_rate": passes.operations_per_sec() / self.limit.rate,
            })
        };
        json!({
            "model": *self.args.model,
            "dtype": self.dtype.name(),
            "device": self.machine,
            "instruction_set": Isa::active().to_string(),
            "threads": self.threads,
            "limits": self.limit.json(),
            "figures": self.points.iter().map(figure).collect::<Vec<_>>(),
            "query_latency": { "depth": LATENCY_DEPTH, "seconds": timings_json(self.latency) },
        })
    }
}
