//! The exact top-k inner product against faiss-cpu's `IndexFlatIP` and torch's `matmul` + `topk`, on the
//! same f32 vectors, with the same number of threads, in turn in one run.
//!
//! `cargo bench --bench ip_topk -- [--vectors N] [--dim D] [--batches 1,8,...] [--depths 10,...]
//! [--rounds R] [--threads T] [--searches f32,codes,...] [--peers PYTHON]`; PYTHON is an interpreter with
//! numpy, faiss and torch.
//!
//! A search is `f32`, `int8` (which rounds the vectors as it goes), `auto` (which chooses between the two), or
//! `codes`: int8 over a collection that has codes, as a store that was encoded with `--codes int8`.
//!
//! Floors: bytes of the vectors (or codes) / the measured read rate, and 2 * queries * vectors * dim operations
//! / the measured f32 matrix rate (the crate `gemm`), or four times that rate for int8, since VNNI multiplies
//! four bytes where an FMA multiplies one number; the larger of the two is the floor of a search.
#![allow(clippy::print_stdout, missing_docs)]

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use toller_bench::limits::{Limits, matrix_rate, read_rate};
use toller_bench::{Budget, Timings, unit_vectors};
use toller_ir::DocOrd;
use toller_simd::Isa;
use toller_topk::{Codes, Collection, IpTopkOptions, Scan, Segment, Vectors, ip_topk, quantize};

/// Rest before every timed search, ours and theirs: OpenMP's threads go on spinning after their work, and
/// would take a core from whoever comes next.
const REST: Duration = Duration::from_millis(300);

struct Options {
    vectors: usize,
    dim: usize,
    batches: Vec<usize>,
    depths: Vec<usize>,
    rounds: usize,
    threads: usize,
    searches: Vec<Search>,
    peers: Option<String>,
}

/// A way to search.
#[derive(Clone, Copy, PartialEq)]
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

fn options() -> Result<Options, Box<dyn Error>> {
    let mut options = Options {
        vectors: 200_000,
        dim: 384,
        batches: vec![1, 8, 32, 256, 1024],
        depths: vec![10, 100, 1000],
        rounds: 5,
        threads: std::thread::available_parallelism()?.get(),
        searches: SEARCHES.into_iter().filter(|search| search.scan != Scan::F16).collect(),
        peers: None,
    };
    let list = |text: &str| text.split(',').map(str::parse).collect::<Result<Vec<usize>, _>>();
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--vectors" => options.vectors = value.parse()?,
            "--dim" => options.dim = value.parse()?,
            "--batches" => options.batches = list(&value)?,
            "--depths" => options.depths = list(&value)?,
            "--rounds" => options.rounds = value.parse::<usize>()?.max(1),
            "--threads" => options.threads = value.parse()?,
            "--searches" => {
                let named = |name| SEARCHES.into_iter().find(|search| search.name == name);
                let found = value.split(',').map(|name| named(name).ok_or(format!("no search {name}")));
                options.searches = found.collect::<Result<_, _>>()?;
            }
            "--peers" => options.peers = Some(value),
            _ => return Err(format!("unknown option {name}").into()),
        }
    }
    Ok(options)
}

/// The peers, in a process that answers every line `PEER BATCH DEPTH` with the seconds it took.
struct Peers {
    process: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
    names: Vec<String>,
}

impl Peers {
    fn start(
        python: &str,
        options: &Options,
        vectors: &Path,
        queries: &Path,
    ) -> Result<Self, Box<dyn Error>> {
        let script = toller_testing::repository("benches/peers/ip_topk.py");
        let mut process = Command::new(python)
            .arg(script)
            .args([vectors, queries])
            .args([options.dim.to_string(), options.threads.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let ask = process.stdin.take().ok_or("no pipe to the peers")?;
        let mut answers = BufReader::new(process.stdout.take().ok_or("no pipe from the peers")?);
        let mut line = String::new();
        answers.read_line(&mut line)?;
        println!("{}", line.trim());
        Ok(Self { process, ask, answers, names: vec!["faiss".to_owned(), "torch".to_owned()] })
    }

    fn seconds(&mut self, peer: &str, batch: usize, depth: usize) -> Result<f64, Box<dyn Error>> {
        writeln!(self.ask, "{peer} {batch} {depth}")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line.trim().parse()?)
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        // The process ends by itself when its input does; errors of a benchmark's clean-up do not matter.
        let _ = writeln!(self.ask, "quit 0 0");
        let _ = self.process.wait();
    }
}

fn write_numbers(path: &Path, values: &[f32]) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    for value in values {
        file.write_all(&value.to_le_bytes())?;
    }
    file.flush()
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    rayon::ThreadPoolBuilder::new().num_threads(options.threads).build_global()?;
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

    println!(
        "{n} x {dim} f32, {} threads, {}, median of {} rounds in turn",
        options.threads,
        Isa::active(),
        options.rounds
    );
    let folder = tempfile::tempdir()?;
    let mut peers = match &options.peers {
        Some(python) => {
            let (vectors_file, queries_file) = (folder.path().join("vectors"), folder.path().join("queries"));
            write_numbers(&vectors_file, &values)?;
            write_numbers(&queries_file, &queries)?;
            Some(Peers::start(python, &options, &vectors_file, &queries_file)?)
        }
        None => None,
    };
    let budget = Budget::rounds(options.rounds);
    let limits = Limits {
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
            for round in 0..=options.rounds {
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
                    for (name, times) in peers.names.clone().iter().zip(&mut theirs) {
                        std::thread::sleep(REST);
                        let time = peers.seconds(name, batch, depth)?;
                        if round > 0 {
                            times.push(time);
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
                let floor = limits.floor_secs(bytes * numbers, 2.0 * batch as f64 * operations * numbers);
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
