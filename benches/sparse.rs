//! BM25 against Anserini (Lucene, warm) and bm25s (with numpy, its default, and with numba), on the same
//! passages and queries with the same number of threads, in turn in one run: indexing, index sizes, and
//! searching at 10 and 1,000 hits.
//!
//! Run: `cargo bench --bench sparse -- [--passages N,...] [--queries N] [--threads T] [--rounds R] [--alone]`
//! after `scripts/peers`. The collections are SciFact with its 1,109 claims, and N synthetic passages with MS
//! MARCO's development queries. A synthetic passage is three sentences drawn from the 28,606 real MS MARCO
//! passages of TREC 2019's runs, so that frequencies, lengths and co-occurrences are real. Every second
//! passage has a new word, so that the vocabulary grows.
//!
//! `anserini` indexes documents and frequencies; `anserini-stored` indexes what the command in its
//! documentation does: positions, document vectors and raw texts, too. A search goes from the queries' texts
//! to hits; `bm25s` is with numba, and `bm25s-tokens` is the same with queries that were tokenized before.
//!
//! Floor: scoring a posting costs a load of its gap and frequency, one of the length, one of its part and an
//! addition in the first-level cache, about 0.5 ns.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs)]

#[path = "support/peer.rs"]
mod peer;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::Duration;

use clap::Parser;
use peer::Peer;
use rayon::prelude::*;
use toller_analysis::Analyzer;
use toller_bench::{Timings, timed};
use toller_corpus::{ReadOptions, open_collection, read_queries, read_run};
use toller_files::{Input, OpenOptions};
use toller_ir::{Query, Ranking, Run};
use toller_pipeline::PipelineError;
use toller_sparse::{BuildJob, Scoring, Source, SparseIndex, SparseQuery, build};
use toller_testing::shared_path;

// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const DEPTHS: [usize; 2] = [10, 1000];

const INDEXES: [&str; 3] = ["anserini", "anserini-stored", "bm25s"];

const SEARCHES: [&str; 4] = ["anserini", "bm25s-numpy", "bm25s", "bm25s-tokens"];

/// Rest before every timed search: the peers' threads go on spinning after their work, and would take a core
/// from the next.
const REST: Duration = Duration::from_millis(300);

/// Measures BM25 against Anserini and bm25s.
#[derive(Parser)]
struct Options {
    /// Numbers of synthetic passages
    #[arg(long, value_delimiter = ',', default_value = "1000000")]
    passages: Vec<usize>,

    #[arg(long, default_value_t = 1000)]
    queries: usize,

    #[arg(long, default_value_t = std::thread::available_parallelism().map_or(1, usize::from))]
    threads: usize,

    #[arg(long, default_value_t = 3)]
    rounds: usize,

    /// Leave the peers out
    #[arg(long)]
    alone: bool,

    /// The folder to work in, which is removed
    #[arg(long, default_value_os_t = std::env::temp_dir().join("toller-bench-sparse"))]
    work: PathBuf,
}

/// Writes the lines that both sides read.
struct Lines(BufWriter<File>);

impl Lines {
    fn create(folder: &Path) -> Self {
        fs::create_dir_all(folder).unwrap();
        Self(BufWriter::new(File::create(folder.join("corpus.jsonl")).unwrap()))
    }

    fn push(&mut self, id: &str, contents: &str) {
        serde_json::to_writer(&mut self.0, &serde_json::json!({"id": id, "contents": contents})).unwrap();
        self.0.write_all(b"\n").unwrap();
    }
}

fn scifact(folder: &Path) {
    let mut lines = Lines::create(folder);
    let input = Input::File(shared_path("data/scifact/corpus.jsonl.gz"));
    for passage in open_collection(&[input], &ReadOptions::default()).unwrap() {
        let passage = passage.unwrap();
        lines.push(&passage.id, &passage.joined(" "));
    }
}

/// Passages of three real sentences each (see above).
fn synthetic(folder: &Path, count: usize) {
    let input = Input::File(shared_path("data/msmarco-dl19/collection.tsv.gz"));
    let mut sentences = Vec::new();
    for passage in open_collection(&[input], &ReadOptions::default()).unwrap() {
        let text = passage.unwrap().text;
        sentences.extend(text.split_inclusive(". ").filter(|text| text.len() > 20).map(str::to_owned));
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut lines = Lines::create(folder);
    for id in 0..count {
        let mut text: String =
            (0..3).map(|_| sentences[next(sentences.len())].trim().to_owned() + " ").collect();
        if id % 2 == 0 {
            text += &format!("x{:x}", next(count * 4));
        }
        lines.push(&id.to_string(), &text);
    }
}

fn queries(file: &str, most: usize) -> Vec<Query> {
    let input = Input::File(shared_path("data").join(file));
    let queries = read_queries(&[input], &ReadOptions::default()).unwrap().0;
    let step = (queries.len() / most).max(1);
    queries.into_iter().step_by(step).take(most).collect()
}

fn main() {
    let options = Options::parse_from(std::env::args().filter(|argument| argument != "--bench"));
    rayon::ThreadPoolBuilder::new().num_threads(options.threads).build_global().unwrap();
    let folder = |name: &str| options.work.join(name);
    let _ = fs::remove_dir_all(&options.work);
    scifact(&folder("scifact/corpus"));
    run("SciFact", &folder("scifact"), &queries("scifact/queries.jsonl", 1109), &options);
    for &count in &options.passages {
        let name = format!("synthetic-{count}");
        synthetic(&folder(&name).join("corpus"), count);
        let file = "msmarco-passage/topics/topics.msmarco-passage.dev-subset.txt";
        run(&format!("{count} synthetic"), &folder(&name), &queries(file, options.queries), &options);
    }
    let _ = fs::remove_dir_all(&options.work);
}

/// Indexes and searches the passages in `folder/corpus`.
fn run(name: &str, folder: &Path, queries: &[Query], options: &Options) {
    let topics = folder.join("queries.tsv");
    let mut out = BufWriter::new(File::create(&topics).unwrap());
    for query in queries {
        writeln!(out, "{}\t{}", query.id, query.text).unwrap();
    }
    drop(out);

    let (index, seconds) = ours(folder, options);
    let statistics = *index.statistics();
    println!(
        "\n{name}: {} passages, {} postings, {} queries, {} threads",
        statistics.docs,
        statistics.postings,
        queries.len(),
        options.threads
    );
    println!("| | indexing s | index MB | bits a posting |\n|--|--:|--:|--:|");
    let row = |name: &str, seconds: f64, bytes: f64| {
        let bits = bytes * 8.0 / statistics.postings as f64;
        println!("| {name} | {seconds:.2} | {:.2} | {bits:.1} |", bytes / 1e6);
    };
    row("toller", seconds, index.manifest().bytes() as f64);
    let corpus = folder.join("corpus");
    let arguments = [&corpus, &topics, folder].map(|path| path.to_str().unwrap().to_owned());
    let threads = options.threads.to_string();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain([threads.as_str()]).collect();
    let mut peer = if options.alone { None } else { Peer::start("sparse.py", &arguments) };
    if let Some(peer) = &mut peer {
        for name in INDEXES {
            let answer = peer.ask(&format!("index {name}")).unwrap();
            let (seconds, bytes) = answer.split_once(' ').unwrap();
            row(name, seconds.parse().unwrap(), bytes.parse().unwrap());
        }
        println!("\npeers: {}", peer.ask("versions").unwrap());
    }

    let analyzer = Analyzer::by_name("en").unwrap();
    let names: Vec<String> = SEARCHES.iter().map(|name| format!("{name} q/s | ratio")).collect();
    println!("\n| k | toller q/s | {} |\n|--:|--:|{}", names.join(" | "), "--:|".repeat(2 * names.len()));
    for k in DEPTHS {
        let (mut own, mut theirs) = (Vec::new(), [const { Vec::new() }; SEARCHES.len()]);
        // The first round warms up.
        for round in 0..=options.rounds {
            sleep(REST);
            let seconds = timed(|| search(&index, &analyzer, queries, k)).as_secs_f64();
            if round > 0 {
                own.push(seconds);
            }
            for (name, seconds) in SEARCHES.iter().zip(&mut theirs) {
                sleep(REST);
                let answer = peer.as_mut().and_then(|peer| peer.ask(&format!("search {name} {k}")));
                if let Some(answer) = answer.filter(|_| round > 0) {
                    seconds.push(answer.parse().unwrap());
                }
            }
        }
        let rate =
            |seconds: Vec<f64>| Timings::new(seconds).map(|timings| queries.len() as f64 / timings.median());
        let own = rate(own).unwrap();
        let cells: Vec<String> = theirs
            .into_iter()
            .map(|seconds| {
                rate(seconds).map_or("- | -".to_owned(), |rate| format!("{rate:.0} | {:.1}", own / rate))
            })
            .collect();
        println!("| {k} | {own:.0} | {} |", cells.join(" | "));
    }
    if let Some(peer) = &mut peer {
        let file = folder.join("hits.run");
        peer.ask(&format!("hits anserini {}", file.display())).unwrap();
        let (run, _) = read_run(&Input::File(file), &ReadOptions::default()).unwrap();
        compare(&index, &search(&index, &analyzer, queries, 10), queries, &run);
    }
    print_memory();
}

fn ours(folder: &Path, options: &Options) -> (SparseIndex, f64) {
    let analyzer = Analyzer::by_name("en").unwrap();
    let output = folder.join("index");
    let input = Input::File(folder.join("corpus/corpus.jsonl"));
    let job = BuildJob {
        analyzer: &analyzer,
        source: Source {
            fingerprint: String::new(),
            passages: 0,
            title_separator: Some(" ".to_owned()),
            model: None,
        },
        doc_vectors: false,
        memory_bytes: 2 << 30,
        threads: options.threads,
        overwrite: true,
        stop: &AtomicBool::new(false),
    };
    let seconds = timed(|| {
        let passages = open_collection(&[input], &ReadOptions::default()).unwrap();
        let documents = passages.map(|passage| {
            let passage = passage.map_err(PipelineError::from)?;
            Ok::<_, PipelineError>((passage.id, passage.text))
        });
        build(&output, &job, documents, |_| ()).unwrap()
    });
    (SparseIndex::open(&output, &OpenOptions::default()).unwrap(), seconds.as_secs_f64())
}

fn search(index: &SparseIndex, analyzer: &Analyzer, queries: &[Query], k: usize) -> Vec<Ranking> {
    let queries: Vec<SparseQuery> =
        queries.par_iter().map(|query| SparseQuery::of_text(analyzer, &query.text)).collect();
    let run =
        index.search_each(&queries, &Scoring::default(), |search, query| search.run(query, k, &|_| true));
    run.unwrap()
}

/// Compares our first ten hits with Anserini's.
fn compare(index: &SparseIndex, rankings: &[Ranking], queries: &[Query], run: &Run) {
    let (mut first, mut shared, mut all, mut asked) = (0, 0, 0, 0);
    for (query, ranking) in queries.iter().zip(rankings) {
        let Some(theirs) = run.queries.get(&query.id) else { continue };
        let ours: Vec<String> = ranking.hits.iter().map(|hit| index.doc_id(hit.doc).into_owned()).collect();
        asked += 1;
        first += usize::from(ours.first() == theirs.first().map(|entry| &entry.doc_id));
        shared += theirs.iter().filter(|entry| ours.contains(&entry.doc_id)).count();
        all += theirs.len();
    }
    println!(
        "\nof Anserini's hits: the first is ours for {first} of {asked} queries, {shared} of its first ten ({all}) are among ours"
    );
}

/// Prints the resident memory of this process, now and at its peak.
fn print_memory() {
    let Ok(status) = File::open("/proc/self/status") else { return };
    for line in BufReader::new(status).lines().map_while(Result::ok) {
        if ["VmHWM", "RssAnon", "RssFile"].iter().any(|name| line.starts_with(name)) {
            println!("{}", line.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
}
