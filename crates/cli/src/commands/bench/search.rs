//! `toller bench search`: the time of an exact search, compared with the machine's limits.

use std::io::Write;

use serde_json::{Value, json};
use toller_bench::figures::{grouped, search_figure};
use toller_bench::limits::Limits;
use toller_bench::search::{Case, Point, measure_search};
use toller_engine::Device;
use toller_topk::Scan;

use super::machine::Machine;
use super::options::{BenchOptions, ascending};
use super::output::{LATENCY_HEADER, Table, giga, latency_cells, share, timings_json};
use super::search_source::{Source, SourceArgs};
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

    #[command(flatten)]
    options: BenchOptions,
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
    let stop = interrupt::flag(ui, "stopping after this figure")?;
    let plot = args.options.plot.open()?;
    let largest = args.queries.iter().copied().max().unwrap_or(1);
    let mut machine = Machine::open(args.device, threads, ui)?;
    let source = Source::open(&args.source, largest as usize, ui)?;
    let limits = machine.limits(&source, &args.options, MIN_ROUNDS)?;

    let mut cases = cases(args, &source);
    machine.order(&mut cases);
    let bar = ui.progress("measuring", "figures", cases.len() as u64);
    let mut points = Vec::new();
    for case in cases {
        interrupt::check(&stop, "nothing was printed")?;
        let rounds = if case.queries == 1 { MIN_ROUNDS_ALONE } else { MIN_ROUNDS };
        let bytes = machine.scanned_bytes(&source, &case);
        let search = |queries: &[f32]| machine.search(&source, &case, queries);
        points.push(measure_search(case, &source.queries, bytes, &args.options.budget(rounds), search)?);
        bar.set(points.len() as u64);
    }
    drop(bar);

    let subject = format!("{}; {}", source.describe(), machine.describe());
    ui.show(
        || report(&source, &machine, &limits, &points, threads),
        |out| {
            writeln!(out, "{subject}")?;
            tables(&machine, &limits, &points, out)
        },
    )?;
    plot.draw(|| search_figure(&points, &limits, subject))
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

fn tables(machine: &Machine, limits: &Limits, points: &[Point], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{}\n", machine.say(limits))?;
    let mut table = Table::new(HEADER.split('|'));
    for point in points {
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
    let alone: Vec<&Point> = points.iter().filter(|point| point.case.queries == 1).collect();
    if !alone.is_empty() {
        writeln!(out, "\nlatency of one query at a time:\n")?;
        let mut table = Table::new(["vectors", "k", "scan"].into_iter().chain(LATENCY_HEADER));
        for point in alone {
            let sizes = [grouped(point.case.vectors), grouped(point.case.k), point.case.scan.to_string()];
            table.push(sizes.into_iter().chain(latency_cells(&point.timings)));
        }
        table.write(out)?;
    }
    Ok(())
}

fn report(source: &Source, machine: &Machine, limits: &Limits, points: &[Point], threads: usize) -> Value {
    let figure = |point: &Point| {
        json!({
            "vectors": point.case.vectors,
            "queries": point.case.queries,
            "k": point.case.k,
            "scan": point.case.scan.to_string(),
            "seconds": timings_json(&point.timings),
            "queries_per_second": point.queries_per_sec(),
            "gigabytes_per_second": point.bytes_per_sec() * 1e-9,
            "gflop_per_second": point.operations_per_sec() * 1e-9,
            "share_of_read_rate": point.bytes_per_sec() / limits.read_rate,
            "share_of_matrix_rate": point.operations_per_sec() / limits.matrix_rate,
            "share_of_floor": point.share_of_floor(limits),
            "nominated": { "mean": point.nominated.mean, "max": point.nominated.max },
        })
    };
    json!({
        "machine": machine.describe(),
        "instruction_set": toller_simd::Isa::active().to_string(),
        "threads": threads,
        "limits": {
            "read_gigabytes_per_second": limits.read_rate * 1e-9,
            "matrix_gflop_per_second": limits.matrix_rate * 1e-9,
        },
        "vectors": source.json(),
        "figures": points.iter().map(figure).collect::<Vec<_>>(),
    })
}
