//! Whole commands, from the start of the process to files that are written, next to peers that have
//! everything in memory and write nothing: BM25 against bm25s with numba, a dense search of vectors against
//! FAISS, and encoding against sentence-transformers. SciFact, one number of threads, in turn in one run.
//!
//!     scripts/peers
//!     cargo bench --bench commands -- [--rounds R] [--threads T]
//!
//! The model is the directory TOLLER_MINILM (`scripts/get-minilm`).
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs)]

#[path = "support/peer.rs"]
mod peer;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Parser;
use peer::Peer;
use toller_bench::Timings;
use toller_files::{Input, InputReader};
use toller_testing::shared;

/// Abstracts that are encoded: the first of the collection.
const ENCODED: usize = 512;

/// Rest before every timed work: the peers' threads go on spinning after theirs.
const REST: Duration = Duration::from_millis(300);

/// Measures whole commands against peers.
#[derive(Parser)]
struct Options {
    #[arg(long, default_value_t = 7)]
    rounds: usize,

    /// Rounds of encoding, which takes seconds
    #[arg(long, default_value_t = 3)]
    encode_rounds: usize,

    #[arg(long, default_value_t = std::thread::available_parallelism().map_or(1, usize::from))]
    threads: usize,

    /// What cargo adds
    #[arg(long, hide = true)]
    bench: bool,
}

/// A command and the work of a peer that is like it.
struct Case {
    name: &'static str,
    command: String,
    peer: &'static str,
    rounds: usize,
}

fn main() {
    let options = Options::parse();
    let model = std::env::var_os("TOLLER_MINILM").map(PathBuf::from);
    let (Some(scifact), Some(model)) = (shared("data/scifact"), model) else {
        println!("skipped: SciFact is missing, or TOLLER_MINILM is not set (scripts/get-minilm prints it)");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let toller = Toller { folder: folder.path(), model: &model, threads: options.threads };
    let (passages, queries) = toller.prepare(&scifact);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let files = ["corpus.jsonl", "queries.jsonl", "vectors.npy", "query-vectors.npy"].map(at);
    let others = [model.display().to_string(), ENCODED.to_string(), options.threads.to_string()];
    let arguments: Vec<&str> = files.iter().chain(&others).map(String::as_str).collect();
    let mut peer = Peer::start("commands.py", &arguments);

    println!("SciFact: {passages} abstracts, {queries} claims; {} threads", options.threads);
    if let Some(peer) = &mut peer {
        println!("peers, in memory, nothing written: {}", peer.ask("versions").unwrap());
    }
    println!("\n| command | median | peer | median | peer / toller |\n|---|---:|---|---:|---:|");
    for case in cases(&options) {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        // The first round warms up: the peers compile.
        for round in 0..=case.rounds {
            sleep(REST);
            let seconds = toller.run(&case.command);
            sleep(REST);
            let answer: Option<f64> = peer.as_mut().map(|peer| peer.ask(case.peer).unwrap().parse().unwrap());
            if round > 0 {
                ours.push(seconds);
                theirs.extend(answer);
            }
        }
        let name = case.peer.split(' ').next().unwrap();
        let ours = Timings::new(ours).unwrap().median();
        match Timings::new(theirs).map(|theirs| theirs.median()) {
            Some(theirs) => {
                println!("| {} | {ours:.3} s | {name} | {theirs:.3} s | {:.2} |", case.name, theirs / ours);
            }
            None => println!("| {} | {ours:.3} s | {name} | - | - |", case.name),
        }
    }
}

fn cases(options: &Options) -> [Case; 4] {
    let rounds = options.rounds;
    let sparse =
        |k: u32| format!("search --sparse index --queries queries.jsonl --k {k} --output sparse.run");
    [
        Case { name: "BM25, k 10", command: sparse(10), peer: "bm25s 10", rounds },
        Case { name: "BM25, k 1000", command: sparse(1000), peer: "bm25s 1000", rounds },
        Case {
            name: "dense search of vectors, k 1000",
            command: "search --dense store --query-vectors query-store --k 1000 --output dense.run"
                .to_owned(),
            peer: "faiss 1000",
            rounds,
        },
        Case {
            name: "encode 512 abstracts",
            command: "encode --corpus first.jsonl --output encoded --overwrite".to_owned(),
            peer: "sentence-transformers",
            rounds: options.encode_rounds,
        },
    ]
}

/// The binary, in a folder.
struct Toller<'a> {
    folder: &'a Path,
    model: &'a Path,
    threads: usize,
}

impl Toller<'_> {
    /// Writes what commands and peers read; returns the numbers of passages and queries.
    fn prepare(&self, scifact: &Path) -> (usize, usize) {
        let mut corpus = String::new();
        let packed = Input::parse(scifact.join("corpus.jsonl.gz"));
        InputReader::open(&packed).unwrap().read_to_string(&mut corpus).unwrap();
        let queries = fs::read_to_string(scifact.join("queries.jsonl")).unwrap();
        let first: String = corpus.split_inclusive('\n').take(ENCODED).collect();
        for (name, content) in
            [("corpus.jsonl", &corpus), ("queries.jsonl", &queries), ("first.jsonl", &first)]
        {
            fs::write(self.folder.join(name), content).unwrap();
        }
        self.run("index --corpus corpus.jsonl --language en --output index");
        self.run("encode --corpus corpus.jsonl --output store");
        self.run("encode --queries queries.jsonl --output query-store");
        self.run("store export store --output vectors.npy");
        self.run("store export query-store --output query-vectors.npy");
        (corpus.lines().count(), queries.lines().count())
    }

    /// The seconds of a command, the start and the end of the process included.
    fn run(&self, arguments: &str) -> f64 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toller"));
        command.args(arguments.split(' ')).arg("--quiet").current_dir(self.folder);
        command.arg("--threads").arg(self.threads.to_string());
        if arguments.starts_with("encode") {
            command.arg("--model").arg(self.model);
        }
        let begun = Instant::now();
        let done = command.status().unwrap();
        assert!(done.success(), "{arguments}");
        begun.elapsed().as_secs_f64()
    }
}
