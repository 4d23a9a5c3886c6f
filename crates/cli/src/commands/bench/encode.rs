//! `toller bench encode`: how fast a model encodes here, and where the time goes.

use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toller_bench::encode::{EncodePoint, measure_encode, measure_latency, scratch_spec};
use toller_bench::figures::encode_figure;
use toller_bench::limits::matrix_rate;
use toller_bench::{Pass, Timings, Words};
use toller_encoder::{Compute, DualEncoder, Role, TextInput};
use toller_engine::Encoder;
use toller_gpu::Preference;
use toller_nn::Precision;
use toller_pipeline::{EncodeJob, PipelineError};
use toller_simd::Isa;
use toller_store::StoreWriter;

use super::encode_texts::{TextArgs, Texts};
use super::machine::check_bulk_copies;
use super::options::BenchOptions;
use super::output::{Table, giga, share, timings_json, write_latency};
use crate::args::model::{self, ModelArgs};
use crate::args::paths::ModelName;
use crate::engine;
use crate::error::UsageError;
use crate::interrupt;
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub struct BenchEncodeArgs {
    /// Model: a directory, a Hugging Face id (org/name, org/name@revision) or a known name
    #[arg(long, value_name = "M")]
    model: ModelName,

    /// Choose kernels with bulk tensor copies, which GPUs of compute capability 9.0 have
    #[arg(long)]
    bulk_copies: bool,

    /// Multiply f16 layers by NVIDIA's cuBLASLt on GPUs, to compare with Toller's kernels
    #[arg(long, conflicts_with = "bulk_copies")]
    cublas: bool,

    #[command(flatten)]
    texts: TextArgs,

    #[command(flatten)]
    options: BenchOptions,

    #[command(flatten)]
    model_args: ModelArgs,
}

impl BenchEncodeArgs {
    /// What is measured instead of the usual kernels.
    fn preference(&self) -> Option<Preference> {
        match (self.bulk_copies, self.cublas) {
            (true, _) => Some(Preference::BulkCopies),
            (_, true) => Some(Preference::Library),
            _ => None,
        }
    }

    /// Refuses a choice of kernels that has no effect.
    fn check(&self, encoder: &Encoder) -> Result<(), UsageError> {
        let Some(preference) = self.preference() else { return Ok(()) };
        let flag = if self.cublas { "--cublas" } else { "--bulk-copies" };
        let Compute::Gpus(devices) = encoder.compute() else {
            let message = format!("{flag} is for GPUs, and this model runs on the CPU or through candle");
            return Err(UsageError::new(message, "add --device cuda"));
        };
        match preference {
            Preference::BulkCopies => check_bulk_copies(devices),
            Preference::Library if encoder.dtype() != Precision::F16 => {
                let message = format!("{flag} is for f16, and this model computes in {}", encoder.dtype());
                Err(UsageError::new(message, "add --dtype f16"))
            }
            Preference::Library => Ok(()),
        }
    }
}

/// The least number of passes over the texts.
const MIN_ROUNDS: usize = 3;
/// The least number of queries whose latency is measured.
const MIN_QUERIES: usize = 20;
/// Tokens of each of these queries.
const QUERY_TOKENS: usize = 16;
/// Different queries.
const QUERIES: u64 = 256;

/// Measures each kind of text, and the latency of a query.
pub fn run(args: &BenchEncodeArgs, threads: usize, ui: &Ui) -> crate::Result<()> {
    let stop = interrupt::flag(ui, "stopping after this figure")?;
    let plot = args.options.plot.open()?;
    let engine = engine::open_preferring(args.preference(), ui)?;
    let encoder = model::load(&args.model, &args.model_args, &engine, ui)?;
    args.check(&encoder)?;
    let model = encoder.model();
    let tower = model.tower(Role::Passage);
    let passes = Passes { model, threads, directory: tempfile::tempdir()?, stop: &stop };
    let estimate = |texts: &[String]| Ok(passes.run(texts)?.duration);
    let texts = args.texts.open(tower, args.options.time.seconds, estimate)?;
    let matrix_rate = matrix_rate(&args.options.time.budget(MIN_ROUNDS))?;

    let bar = ui.progress("measuring", "figures", texts.len() as u64 + 1);
    let mut points = Vec::new();
    for Texts { texts, .. } in &texts {
        let budget = args.options.time.budget(MIN_ROUNDS);
        points.push(measure_encode(tower, texts, threads, &budget, || passes.run(texts))?);
        bar.set(points.len() as u64);
        interrupt::check(&stop, "nothing was printed")?;
    }
    let queries_of = model.tower(Role::Query);
    let words = Words::new(|text| Ok(queries_of.tokenize(text)?.len()))?;
    let queries: Vec<String> = (0..QUERIES).map(|seed| words.text(QUERY_TOKENS, seed)).collect();
    let budget = args.options.time.budget(MIN_QUERIES);
    let latency = measure_latency(model.tower(Role::Query), &queries, &budget)?;
    drop(bar);

    let names: Vec<&str> = texts.iter().map(|texts| texts.name.as_str()).collect();
    let (machine, dtype) = (encoder.compute().device(), encoder.dtype());
    let report =
        Report { args, machine, dtype, threads, matrix_rate, names, points: &points, latency: &latency };
    ui.show(|| report.json(model), |out| report.tables(out))?;
    plot.draw(|| encode_figure(&points, matrix_rate, report.subject()))
}

/// Passes over texts like those of `toller encode`, into a store that is thrown away.
struct Passes<'a> {
    model: &'a DualEncoder,
    threads: usize,
    directory: tempfile::TempDir,
    stop: &'a AtomicBool,
}

impl Passes<'_> {
    fn run(&self, texts: &[String]) -> crate::Result<Pass> {
        let spec = scratch_spec(self.model, texts.len() as u64);
        let writer = StoreWriter::overwrite(&self.directory.path().join("store"), spec)?;
        let job = EncodeJob {
            encoder: self.model,
            role: Role::Passage,
            threads: self.threads,
            stop: self.stop,
            drops_current_shard: false,
        };
        let rows = texts.iter().enumerate();
        let rows =
            rows.map(|(row, text)| Ok::<_, PipelineError>((row.to_string(), TextInput::Plain(text.clone()))));
        // The time until the last vector is there: syncing a small store is not encoding.
        let started = Instant::now();
        let mut duration = Duration::ZERO;
        let report = toller_pipeline::encode(&job, rows, writer, |_| duration = started.elapsed())?;
        Ok(Pass { items: report.rows, tokens: report.tokens, duration })
    }
}

/// What was measured, to be printed.
struct Report<'a> {
    args: &'a BenchEncodeArgs,
    /// The device.
    machine: String,
    dtype: Precision,
    threads: usize,
    matrix_rate: f64,
    /// What the texts of each point are.
    names: Vec<&'a str>,
    points: &'a [EncodePoint],
    latency: &'a Timings,
}

impl Report<'_> {
    fn subject(&self) -> String {
        format!("{}, {}, {}, {} threads", self.args.model, self.dtype, self.machine, self.threads)
    }

    fn tables(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(out, "{}", self.subject())?;
        writeln!(out, "limit: f32 matrix products {} GFLOP/s\n", giga(self.matrix_rate))?;
        let header = "texts|tokens each|texts/s|tokens/s|GFLOP/s|of matrix|tokenize alone, tokens/s|from ids, tokens/s";
        let mut table = Table::new(header.split('|'));
        for (name, point) in self.names.iter().zip(self.points) {
            table.push([
                (*name).to_owned(),
                format!("{:.1}", point.passes.tokens_per_item()),
                format!("{:.1}", point.passes.items_per_sec()),
                format!("{:.0}", point.passes.tokens_per_sec()),
                giga(point.passes.operations_per_sec()),
                share(point.passes.operations_per_sec() / self.matrix_rate),
                format!("{:.0}", point.tokenized_per_sec()),
                point.from_ids_per_sec().map(|rate| format!("{rate:.0}")).unwrap_or_default(),
            ]);
        }
        table.write(out)?;

        writeln!(
            out,
            "\nwhere the threads' time goes, in %; in brackets the share of the matrix rate meanwhile:\n"
        )?;
        let shares: Vec<_> = self.points.iter().map(EncodePoint::shares).collect();
        let parts = shares.first().map(|shares| shares.iter().map(|share| share.name).collect::<Vec<_>>());
        let mut table = Table::new(["texts"].into_iter().chain(parts.unwrap_or_default()));
        for (name, shares) in self.names.iter().zip(&shares) {
            let cells = shares.iter().map(|part| {
                let rate =
                    part.operations_per_sec.map(|rate| format!(" ({})", share(rate / self.matrix_rate)));
                format!("{:.1}{}", part.of_time * 100.0, rate.unwrap_or_default())
            });
            table.push([(*name).to_owned()].into_iter().chain(cells));
        }
        table.write(out)?;

        write_latency(out, &format!("of {QUERY_TOKENS} tokens"), self.latency)
    }

    fn json(&self, model: &DualEncoder) -> Value {
        let figure = |(name, point): (&&str, &EncodePoint)| {
            let shares = point.shares();
            let tokenization = shares.iter().find(|share| share.name == "tokenization");
            let part = |share: &toller_bench::encode::Share| {
                json!({
                    "name": share.name,
                    "share_of_time": share.of_time,
                    "gflop_per_second": share.operations_per_sec.map(|rate| rate * 1e-9),
                    "share_of_matrix_rate": share.operations_per_sec.map(|rate| rate / self.matrix_rate),
                })
            };
            json!({
                "texts": name,
                "passages": point.passes.items,
                "tokens": point.passes.tokens,
                "tokens_per_passage": point.passes.tokens_per_item(),
                "seconds": timings_json(&point.passes.timings),
                "passages_per_second": point.passes.items_per_sec(),
                "tokens_per_second": point.passes.tokens_per_sec(),
                "gflop_per_second": point.passes.operations_per_sec() * 1e-9,
                "share_of_matrix_rate": point.passes.operations_per_sec() / self.matrix_rate,
                "tokenize_alone_tokens_per_second": point.tokenized_per_sec(),
                "from_ids_tokens_per_second": point.from_ids_per_sec(),
                "tokenization_share": tokenization.map(|share| share.of_time),
                "shares": shares.iter().map(part).collect::<Vec<_>>(),
            })
        };
        json!({
            "model": *self.args.model,
            "model_fingerprint": model.fingerprint(),
            "dtype": self.dtype.name(),
            "device": self.machine,
            "instruction_set": Isa::active().to_string(),
            "threads": self.threads,
            "limits": { "matrix_gflop_per_second": self.matrix_rate * 1e-9 },
            "figures": self.names.iter().zip(self.points).map(figure).collect::<Vec<_>>(),
            "query_latency": { "tokens": QUERY_TOKENS, "seconds": timings_json(self.latency) },
        })
    }
}
