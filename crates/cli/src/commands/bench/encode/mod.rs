//! `toller bench encode`: how fast a model encodes here, where the time goes, and what the model takes.

mod report;
mod texts;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use toller_bench::encode::{measure_encode, measure_latency, scratch_spec};
use toller_bench::figures::encode_figure;
use toller_bench::{Budget, Pass, Words};
use toller_encoder::{Compute, DualEncoder, Role, TextInput};
use toller_engine::{Encoder, Engine};
use toller_gpu::Devices;
use toller_nn::Precision;
use toller_pipeline::{EncodeJob, PipelineError};
use toller_store::StoreWriter;

use self::report::{Latency, Needs, Report};
use self::texts::{TextArgs, Texts};
use super::machine::{Capability, MatrixLimit, capability};
use super::options::{BenchOptions, MOST, ascending};
use crate::args::model::{self, ModelArgs};
use crate::args::paths::ModelName;
use crate::engine;
use crate::error::{Failure, UsageError};
use crate::interrupt;
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub struct BenchEncodeArgs {
    /// Model: a directory, a Hugging Face id (org/name, org/name@revision) or a known name
    #[arg(long, value_name = "M")]
    model: ModelName,

    /// Choose kernels as for GPUs of at most this compute capability
    #[arg(long, value_name = "MAJOR.MINOR", value_parser = capability)]
    capability: Option<Capability>,

    /// Multiply f16 layers by NVIDIA's cuBLASLt on GPUs, to compare with Toller's kernels
    #[arg(long)]
    cublas: bool,

    #[command(flatten)]
    texts: TextArgs,

    /// Queries of a batch whose latency is measured
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,10,50,200", value_parser = clap::value_parser!(u32).range(1..=MOST))]
    batches: Vec<u32>,

    #[command(flatten)]
    options: BenchOptions,

    #[command(flatten)]
    model_args: ModelArgs,
}

impl BenchEncodeArgs {
    /// An engine whose devices have the kernels that are to be measured.
    fn engine(&self, ui: &Ui) -> crate::Result<Engine> {
        let (capability, uses_library) = (self.capability, self.cublas);
        let adjust = move |devices: &Devices| {
            capability.iter().for_each(|&most| devices.limit_capability(most));
            if uses_library {
                devices.use_library();
            }
        };
        engine::open_adjusting(adjust, ui)
    }

    /// Refuses a choice of kernels that has no effect.
    fn check(&self, encoder: &Encoder) -> Result<(), UsageError> {
        let flags = [(self.capability.is_some(), "--capability"), (self.cublas, "--cublas")];
        let Some((_, flag)) = flags.into_iter().find(|(is_given, _)| *is_given) else { return Ok(()) };
        let Compute::Gpus(_) = encoder.compute() else {
            let message = format!("{flag} is for GPUs, and this model runs on the CPU or through candle");
            return Err(UsageError::new(message, "add --device cuda"));
        };
        if self.cublas && encoder.dtype() != Precision::F16 {
            let message = format!("--cublas is for f16, and this model computes in {}", encoder.dtype());
            return Err(UsageError::new(message, "add --dtype f16"));
        }
        Ok(())
    }
}

/// The least number of passes over the texts.
const MIN_ROUNDS: usize = 3;
/// The least number of queries whose latency is measured.
const MIN_QUERIES: usize = 20;
/// Tokens of each of these queries.
const QUERY_TOKENS: usize = 16;
/// Different queries, at least.
const QUERIES: usize = 256;

/// Measures what the model takes, each kind of text, and the latency of queries.
pub fn run(args: &BenchEncodeArgs, threads: usize, ui: &Ui) -> crate::Result<()> {
    let plot = args.options.plot.open()?;
    let engine = args.engine(ui)?;
    let encoder = model::load(&args.model, &args.model_args, &engine, ui)?;
    args.check(&encoder)?;
    let model = encoder.model();
    let tower = model.tower(Role::Passage);
    let queries_of = model.tower(Role::Query);
    let words = Words::new(|text| Ok(queries_of.tokenize(text)?.len()))?;
    // One is always measured.
    let batches: BTreeSet<usize> = ascending(&args.batches).into_iter().chain([1]).collect();
    let most = batches.last().copied().unwrap_or(1).max(QUERIES);
    let queries: Vec<String> = (0..most as u64).map(|seed| words.text(QUERY_TOKENS, seed)).collect();
    // Before the benchmark itself takes memory.
    measure_latency(queries_of, &queries, 1, &Budget::rounds(1))?;
    let needs = Needs::of(&encoder)?;
    // The first signal ends this command, except while it has a folder to remove.
    let stop = interrupt::flag(ui, "stopping")?;
    let passes = Passes { model, threads, directory: tempfile::tempdir()?, stop: &stop };
    let estimate = |texts: &[String]| Ok(passes.run(texts)?.duration);
    let texts = args.texts.open(tower, args.options.time.seconds, estimate)?;
    let budget = args.options.time.budget(MIN_ROUNDS);

    let bar = ui.progress("measuring", "figures", (texts.len() + batches.len()) as u64);
    let mut points = Vec::new();
    for Texts { texts, .. } in &texts {
        let compute = (encoder.compute(), threads);
        points.push(measure_encode(tower, texts, compute, &budget, || passes.run(texts))?);
        bar.set(points.len() as u64);
    }
    drop(passes);
    let measured = interrupt::at_once(|| {
        let limit = MatrixLimit::measure(encoder.compute(), args.model_args.compute.device, &budget)?;
        let mut latencies = Vec::new();
        for batch in batches {
            let budget = args.options.time.budget(if batch == 1 { MIN_QUERIES } else { MIN_ROUNDS });
            let timings = measure_latency(queries_of, &queries, batch, &budget)?;
            latencies.push(Latency { batch, timings });
            bar.set((points.len() + latencies.len()) as u64);
        }
        Ok::<_, Failure>((limit, latencies))
    });
    let (limit, latencies) = measured??;
    drop(bar);

    let names: Vec<&str> = texts.iter().map(|texts| texts.name.as_str()).collect();
    let report = Report {
        model: &args.model,
        encoder: &encoder,
        threads,
        limit: &limit,
        needs,
        names,
        points: &points,
        latencies: &latencies,
    };
    ui.show(|| report.json(), |out| report.tables(out))?;
    plot.draw(|| encode_figure(&points, limit.rate, report.subject()))
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
            drops_current_shard: true,
        };
        let rows = texts.iter().enumerate();
        let rows =
            rows.map(|(row, text)| Ok::<_, PipelineError>((row.to_string(), TextInput::Plain(text.clone()))));
        // The time until the last vector is there: syncing a small store is not encoding.
        let started = Instant::now();
        let mut duration = Duration::ZERO;
        let encoded = toller_pipeline::encode(&job, rows, writer, |_| duration = started.elapsed());
        interrupt::check(self.stop, "nothing was printed")?;
        let report = encoded?;
        Ok(Pass { items: report.rows, tokens: report.tokens, duration })
    }
}
