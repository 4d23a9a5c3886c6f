//! The exact top-k inner product against faiss-cpu's `IndexFlatIP` and torch's `matmul` + `topk`, on the
//! same f32 vectors, with the same number of threads, in turn in one run.
//!
//! `cargo bench --bench ip_topk -- [--vectors N] [--dim D] [--batches 1,8,...] [--depths 10,...] [--rounds R]
//! [--threads T] [--searches f32,codes,...] [--alone]` after `scripts/peers`; with `--alone` without the
//! peers.
//!
//! A search is `f32`, `int8` (which rounds the vectors as it goes), `auto` (which chooses between the two),
//! or `codes`: int8 over a collection that has codes, as a store that was encoded with `--codes int8`.
//!
//! Floors: bytes of the vectors (or codes) / the measured read rate, and 2 * queries * vectors * dim
//! operations / the measured f32 matrix rate (the crate `gemm`), or four times that rate for int8, since VNNI
//! multiplies four bytes where an FMA multiplies one number; the larger of the two is the floor of a search.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

#[path = "support/peer.rs"]
mod peer;

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Parser;
use peer::Peer;
use toller_bench::limits::{Limits, matrix_rate, read_rate};
use toller_bench::{Budget, Timings, unit_vectors};
use toller_ir::DocOrd;
use toller_simd::Isa;
use toller_topk::{Codes, Collection, IpTopkOptions, Scan, Segment, Vectors, ip_topk, quantize};

/// Rest before every timed search, ours and theirs: OpenMP's threads go on spinning after their work, and
/// would take a core from whoever comes next.
const REST: Duration = Duration::from_millis(300);

/// Measures the exact top-k against faiss and torch.
#[derive(Parser)]
struct Options {
    #[arg(long, default_value_t = 200_000)]
    vectors: usize,

    #[arg(long, default_value_t = 384)]
    dim: usize,

    #[arg(long, value_delimiter = ',', default_value = "1,8,32,256,1024")]
    batches: Vec<usize>,

    #[arg(long, value_delimiter = ',', default_value = "10,100,1000")]
    depths: Vec<usize>,

    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,

    /// Threads that search [default: all]
    #[arg(long)]
    threads: Option<usize>,

    #[arg(long, value_delimiter = ',', default_value = "f32,int8,codes,auto", value_parser = search)]
    searches: Vec<Search>,

    /// Leave the peers out
    #[arg(long)]
    alone: bool,
}

/// A way to search.
#[derive(Clone, Copy)]
struct Search {
    name: &'static str,
    scan: Scan,
    /// Whether the collection has codes.
    codes: bool,
}

const SEARCHES: [Search; 5] = [
    Search { name: "f32", scan: Scan::F32, codes: false },
    Search { name: "f16", scan: Scan::F16, codes: false },
    Search { name: "int8", scan: Scan::Int8, codes: false },
    Search { name: "codes", scan: Scan::Int8, codes: true },
    Search { name: "auto", scan: Scan::Auto, codes: false },
];

impl Search {
    /// Bytes of a number, and how many f32 multiply-adds take as long as one of its.
    fn costs(self) -> (f64, f64) {
        match (self.scan, self.codes) {
            (Scan::F32 | Scan::F16, _) => (4.0, 1.0),
            (Scan::Int8 | Scan::Auto, false) => (4.0, 0.25),
            (Scan::Int8 | Scan::Auto, true) => (1.0, 0.25),
        }
    }
}

fn search(name: &str) -> Result<Search, String> {
    SEARCHES.into_iter().find(|search| search.name == name).ok_or_else(|| format!("no search {name}"))
}

/// The peers, by their names on the command line of benches/peers/ip_topk.py.
const PEERS: [&str; 2] = ["faiss", "torch"];

fn write_numbers(path: &Path, values: &[f32]) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    for value in values {
        file.write_all(&value.to_le_bytes())?;
    }
    file.flush()
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse_from(std::env::args().filter(|argument| argument != "--bench"));
    let threads = options.threads.unwrap_or(std::thread::available_parallelism()?.get());
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let rounds = usize::from(options.rounds);
    let Options { vectors: n, dim, .. } = options;
    let largest_batch = options.batches.iter().copied().max().unwrap_or(1);
    let values = unit_vectors(n, dim, 1)?;
    let queries = unit_vectors(largest_batch, dim, 2)?;
    let quantized = quantize(&values, dim);
    let codes = Codes {
        values: &quantized.codes,
        scales: &quantized.scales,
        residual_norms: &quantized.residual_norms,
    };
    let collection = |codes| {
        Collection::new(dim, vec![Segment { first: DocOrd(0), vectors: Vectors::F32(&values), codes }])
    };
    let (plain, coded) = (collection(None)?, collection(Some(codes))?);

    println!("{n} x {dim} f32, {threads} threads, {}, median of {rounds} rounds in turn", Isa::active());
    let folder = tempfile::tempdir()?;
    let mut peers = if options.alone {
        None
    } else {
        let [vectors, queries_file] = ["vectors", "queries"].map(|name| folder.path().join(name));
        write_numbers(&vectors, &values)?;
        write_numbers(&queries_file, &queries)?;
        let files = [&vectors, &queries_file].map(|path| path.display().to_string());
        Peer::start("ip_topk.py", &[&files[0], &files[1], &dim.to_string(), &threads.to_string()])
    };
    if let Some(versions) = peers.as_mut().and_then(|peers| peers.ask("versions")) {
        println!("{versions}");
    }
    let budget = Budget::rounds(rounds);
    let limits = Limits {
        upload_rate: f64::INFINITY,
        read_rate: read_rate(&[bytemuck::cast_slice(&values)], &budget),
        matrix_rate: matrix_rate(&budget)?,
    };
    println!(
        "limits: reads {:.1} GB/s, f32 matrix products {:.0} GFLOP/s",
        limits.read_rate * 1e-9,
        limits.matrix_rate * 1e-9
    );
    println!(
        "| batch | k | search | ms | queries/s | of the floor | nominated | faiss ms | ratio | torch ms | ratio |"
    );
    println!("|--:|--:|--|--:|--:|--:|--:|--:|--:|--:|--:|");
    for &batch in &options.batches {
        for &depth in &options.depths {
            let queries = &queries[..batch * dim];
            let mut ours: Vec<Vec<f64>> = vec![Vec::new(); options.searches.len()];
            let mut nominated = vec![0.0; options.searches.len()];
            let mut theirs = [Vec::new(), Vec::new()];
            // The first round warms up.
            for round in 0..=rounds {
                for (at, search) in options.searches.iter().enumerate() {
                    std::thread::sleep(REST);
                    let collection = if search.codes { &coded } else { &plain };
                    let how = IpTopkOptions { scan: search.scan, ..IpTopkOptions::default() };
                    let start = Instant::now();
                    let found = std::hint::black_box(ip_topk(collection, queries, depth, &how))?;
                    let time = start.elapsed().as_secs_f64();
                    nominated[at] = found.nominated.iter().sum::<usize>() as f64 / batch as f64;
                    if round > 0 {
                        ours[at].push(time);
                    }
                }
                if let Some(peers) = &mut peers {
                    for (name, times) in PEERS.iter().zip(&mut theirs) {
                        std::thread::sleep(REST);
                        let time = peers.ask(&format!("{name} {batch} {depth}")).ok_or("a peer ended")?;
                        if round > 0 {
                            times.push(time.parse()?);
                        }
                    }
                }
            }
            let theirs: Vec<f64> =
                theirs.into_iter().filter_map(Timings::new).map(|times| times.median()).collect();
            for ((search, times), nominated) in options.searches.iter().zip(ours).zip(nominated) {
                let time = Timings::new(times).ok_or("no rounds")?.median();
                let (bytes, operations) = search.costs();
                let numbers = values.len() as f64;
                let floor =
                    limits.floor_secs(bytes * numbers, 0.0, 2.0 * batch as f64 * operations * numbers);
                print!(
                    "| {batch} | {depth} | {} | {:.2} | {:.0} | {:.2} | {nominated:.0} |",
                    search.name,
                    time * 1e3,
                    batch as f64 / time,
                    floor / time
                );
                for &theirs in &theirs {
                    print!(" {:.2} | {:.2} |", theirs * 1e3, theirs / time);
                }
                println!();
            }
        }
    }
    Ok(())
}
