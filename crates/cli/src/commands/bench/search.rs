//! `toller bench search`: the time of an exact search, compared with the machine's limits.

use std::fs::File;
use std::io::Write;

use serde_json::{Value, json};
use toller_bench::figures::{grouped, search_figure};
use toller_bench::limits::Limits;
use toller_bench::search::{Case, Point, measure_search};
use toller_engine::Device;
use toller_files::FileError;
use toller_gpu::KernelTime;
use toller_topk::Scan;

use super::machine::{Capability, DeviceLimits, Machine, capability};
use super::options::{BenchOptions, ascending};
use super::output::{
    KERNEL_HEADER, LATENCY_HEADER, Table, giga, kernel_cells, kernels_json, latency_cells, share,
    timings_json,
};
use super::search_source::{Source, SourceArgs};
use crate::args::number::above_0;
use crate::args::paths::OutputPath;
use crate::args::replacing::has_first_line;
use crate::error::UsageError;
use crate::interrupt;
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub struct BenchSearchArgs {
    #[command(flatten)]
    source: SourceArgs,

    /// Queries of a batch
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,8,32,256,1024", value_parser = clap::value_parser!(u32).range(1..))]
    queries: Vec<u32>,

    /// Hits of a query
    #[arg(long, value_name = "K,...", value_delimiter = ',', default_value = "10,100,1000", value_parser = clap::value_parser!(u32).range(1..))]
    k: Vec<u32>,

    /// How to scan the vectors; every way gives the same hits
    #[arg(long, value_name = "auto|f32|f16|int8,...", value_delimiter = ',', default_value = "auto")]
    scan: Vec<Scan>,

    /// Where to search
    #[arg(long, value_name = "auto|cpu|cuda[:N]|cuda:all", default_value_t = Device::Cpu)]
    device: Device,

    /// Choose kernels as for GPUs of at most this compute capability
    #[arg(long, value_name = "MAJOR.MINOR", value_parser = capability)]
    capability: Option<Capability>,

    /// Search as on GPUs with at most this much memory each, in GB; vectors that do not fit are copied for
    /// every search
    #[arg(long, value_name = "GB", value_parser = above_0)]
    memory: Option<f64>,

    /// Measure each kernel in one more search, in which every launch is waited for
    #[arg(long)]
    kernel_times: bool,

    /// Compare the hits of three queries of each batch with those of the CPU
    #[arg(long)]
    check_hits: bool,

    /// Append each figure to this file as soon as it is measured, as a line of JSON
    #[arg(long, value_name = "FILE")]
    log: Option<OutputPath>,

    #[command(flatten)]
    options: BenchOptions,
}

/// A figure: a measured search, and the times of its kernels if they were asked for.
struct Figure {
    point: Point,
    kernels: Vec<KernelTime>,
}

/// The least number of rounds of a batch.
const MIN_ROUNDS: usize = 3;
/// The least number of rounds of a single query, whose percentiles are printed.
const MIN_ROUNDS_ALONE: usize = 20;

/// The columns of the table.
const HEADER: &str =
    "vectors|queries|k|scan|ms|queries/s|GB/s|GFLOP/s|of reads|of matrix|of floor|nominated|at most";

/// Measures every combination of sizes.
pub fn run(args: &BenchSearchArgs, threads: usize, ui: &Ui) -> crate::Result<()> {
    // Without a log nothing of the work is kept, and the first signal ends it.
    let stop = args.log.as_ref().map(|_| interrupt::flag(ui, "stopping after this figure")).transpose()?;
    let plot = args.options.plot.open()?;
    let largest = args.queries.iter().copied().max().unwrap_or(1);
    let limits = DeviceLimits {
        capability: args.capability,
        memory: args.memory.map(|gigabytes| (gigabytes * 1e9) as u64),
    };
    let mut machine = Machine::open(args.device, limits, threads, ui)?;
    if (args.kernel_times || args.check_hits || limits.is_any()) && !machine.has_kernels() {
        let message = "--kernel-times, --check-hits, --capability and --memory are for GPUs, and this search runs \
                       on the CPU";
        return Err(UsageError::new(message, "add --device cuda").into());
    }
    let mut log = args.log.as_ref().map(|path| Log::open(path, &args.source)).transpose()?;
    let source = Source::open(&args.source, largest as usize, ui)?;
    let limits = machine.limits(&source, &args.options, MIN_ROUNDS)?;

    let mut cases = cases(args, &source);
    machine.order(&mut cases);
    let bar = ui.progress("measuring", "figures", cases.len() as u64);
    let mut figures: Vec<Figure> = Vec::new();
    for case in cases {
        if let Some(stop) = &stop {
            interrupt::check(stop, "nothing was printed")?;
        }
        let rounds = if case.queries == 1 { MIN_ROUNDS_ALONE } else { MIN_ROUNDS };
        let bytes = machine.scanned_bytes(&source, &case)?;
        let search = |queries: &[f32]| machine.search(&source, &case, queries);
        let mut point =
            measure_search(case, &source.queries, bytes, &args.options.time.budget(rounds), search)?;
        point.uploaded = machine.uploaded_bytes(&source) as f64;
        let batch = source.queries.batch(0, case.queries);
        if args.check_hits {
            machine.check_hits(&source, &case, batch)?;
        }
        let kernels =
            if args.kernel_times { machine.kernel_times(&source, &case, batch)? } else { Vec::new() };
        let figure = Figure { point, kernels };
        if let Some(log) = &mut log {
            log.append(&figure_json(&figure, &limits))?;
        }
        figures.push(figure);
        bar.set(figures.len() as u64);
    }
    drop(bar);

    let subject = format!("{}; {}", source.describe(), machine.describe());
    ui.show(
        || report(&source, &machine, &limits, &figures, threads),
        |out| {
            writeln!(out, "{subject}")?;
            tables(&machine, &limits, &figures, out)
        },
    )?;
    let points: Vec<Point> = figures.into_iter().map(|figure| figure.point).collect();
    plot.draw(|| search_figure(&points, &limits, subject))
}

/// A file of figures, a line each. It is not a result of the command but a record of its work so far, so it
/// is not replaced as a whole.
struct Log<'a> {
    path: &'a OutputPath,
    file: File,
}

impl<'a> Log<'a> {
    /// Opens the file. It is new, empty or a log, so that no other file is damaged.
    fn open(path: &'a OutputPath, source: &SourceArgs) -> crate::Result<Self> {
        path.check_file("--log", "figures are")?;
        source.inputs().check_kept_by("--log", path)?;
        path.check_replaces("a log of this command", |file| has_first_line(file, is_figure))?;
        let file =
            File::options().append(true).create(true).open(path).map_err(FileError::on("open", path))?;
        Ok(Self { path, file })
    }

    fn append(&mut self, figure: &Value) -> Result<(), FileError> {
        // One call, so that the file has whole lines only.
        self.file.write_all(format!("{figure}\n").as_bytes()).map_err(FileError::on("write", self.path))
    }
}

/// Whether a line is one of [`figure_json`].
fn is_figure(line: &str) -> bool {
    let figure: Value = serde_json::from_str(line).unwrap_or_default();
    ["vectors", "queries", "k", "scan", "share_of_floor"].iter().all(|key| figure.get(key).is_some())
}

/// All combinations, the smallest first.
fn cases(args: &BenchSearchArgs, source: &Source) -> Vec<Case> {
    let (batches, depths) = (ascending(&args.queries), ascending(&args.k));
    let scans = &args.scan;
    let mut cases = Vec::new();
    for &vectors in &source.counts {
        for &queries in &batches {
            for &k in &depths {
                cases.extend(scans.iter().map(|&scan| Case { vectors, queries, k, scan }));
            }
        }
    }
    cases
}

fn tables(
    machine: &Machine,
    limits: &Limits,
    figures: &[Figure],
    out: &mut dyn Write,
) -> std::io::Result<()> {
    writeln!(out, "{}\n", machine.say(limits))?;
    let mut table = Table::new(HEADER.split('|'));
    for Figure { point, .. } in figures {
        let Case { vectors, queries, k, scan } = point.case;
        table.push([
            grouped(vectors),
            grouped(queries),
            grouped(k),
            scan.to_string(),
            format!("{:.2}", point.timings.median() * 1e3),
            format!("{:.0}", point.queries_per_sec()),
            giga(point.bytes_per_sec()),
            giga(point.operations_per_sec()),
            share(point.bytes_per_sec() / limits.read_rate),
            share(point.operations_per_sec() / limits.matrix_rate),
            share(point.share_of_floor(limits)),
            format!("{:.1}", point.nominated.mean),
            grouped(point.nominated.max),
        ]);
    }
    table.write(out)?;
    let points = figures.iter().map(|figure| &figure.point);
    let alone: Vec<&Point> = points.filter(|point| point.case.queries == 1).collect();
    if !alone.is_empty() {
        writeln!(out, "\nlatency of one query at a time:\n")?;
        let mut table = Table::new(["vectors", "k", "scan"].into_iter().chain(LATENCY_HEADER));
        for point in alone {
            let sizes = [grouped(point.case.vectors), grouped(point.case.k), point.case.scan.to_string()];
            table.push(sizes.into_iter().chain(latency_cells(&point.timings)));
        }
        table.write(out)?;
    }
    kernel_table(figures, out)
}

/// The time of each kernel, where it was measured.
fn kernel_table(figures: &[Figure], out: &mut dyn Write) -> std::io::Result<()> {
    if figures.iter().all(|figure| figure.kernels.is_empty()) {
        return Ok(());
    }
    writeln!(out, "\nkernels of one search:\n")?;
    let mut table = Table::new(["vectors", "queries", "k", "scan"].into_iter().chain(KERNEL_HEADER));
    for Figure { point, kernels } in figures {
        let Case { vectors, queries, k, scan } = point.case;
        for time in kernels {
            let case = [grouped(vectors), grouped(queries), grouped(k), scan.to_string()];
            table.push(case.into_iter().chain(kernel_cells(time)));
        }
    }
    table.write(out)
}

fn figure_json(figure: &Figure, limits: &Limits) -> Value {
    let Figure { point, kernels } = figure;
    json!({
        "vectors": point.case.vectors,
        "queries": point.case.queries,
        "k": point.case.k,
        "scan": point.case.scan.to_string(),
        "seconds": timings_json(&point.timings),
        "queries_per_second": point.queries_per_sec(),
        "gigabytes_per_second": point.bytes_per_sec() * 1e-9,
        "gflop_per_second": point.operations_per_sec() * 1e-9,
        "uploaded_bytes": point.uploaded,
        "share_of_read_rate": point.bytes_per_sec() / limits.read_rate,
        "share_of_matrix_rate": point.operations_per_sec() / limits.matrix_rate,
        "share_of_floor": point.share_of_floor(limits),
        "nominated": { "mean": point.nominated.mean, "max": point.nominated.max },
        "kernels": kernels_json(kernels),
    })
}

fn report(source: &Source, machine: &Machine, limits: &Limits, figures: &[Figure], threads: usize) -> Value {
    json!({
        "machine": machine.describe(),
        "instruction_set": toller_simd::Isa::active().to_string(),
        "threads": threads,
        "limits": {
            "read_gigabytes_per_second": limits.read_rate * 1e-9,
            "upload_gigabytes_per_second": limits.upload_rate.is_finite().then_some(limits.upload_rate * 1e-9),
            "matrix_gflop_per_second": limits.matrix_rate * 1e-9,
        },
        "vectors": source.json(),
        "figures": figures.iter().map(|figure| figure_json(figure, limits)).collect::<Vec<_>>(),
    })
}
