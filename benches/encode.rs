//! Encoding on the CPU in every dtype against sentence-transformers and ONNX Runtime (both f32), in turn, on
//! the same texts with the same number of threads: SciFact's first 1,000 passages (title, space, text; 239
//! tokens on average with all-MiniLM-L6-v2) and, for short texts, its 1,109 claims and XQuAD-R's 1,190
//! English questions. Then the time of each operation, and its rate.
//!
//! Run: `TOLLER_MINILM=DIR cargo bench --bench encode` after `scripts/peers`; with `-- --alone` without the
//! peers, with `-- claims` only the texts that have this word in their name.
//!
//! Floor: 2 operations a weight of the linear layers and token, plus the attention, at the rate of
//! benches/linear.rs. For MiniLM at 243 tokens: 21.2 M + 2.2 M operations a token.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs)]

#[path = "support/peer.rs"]
mod peer;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use peer::Peer;
use toller_bench::{Timings, timed};
use toller_corpus::{ReadOptions, open_collection, read_queries};
use toller_datasets::read_squad;
use toller_encoder::{DualEncoder, LoadOptions, Role};
use toller_files::Input;
use toller_nn::Precision;
use toller_nn::profile::{Operation, Recording};
use toller_testing::shared_path;

// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 5;
const PASSAGES: usize = 1000;

/// Reads a set of texts.
type Texts = fn() -> Vec<String>;

fn scifact() -> Vec<String> {
    let input = Input::File(shared_path("data/scifact/corpus.jsonl.gz"));
    let passages = open_collection(&[input], &ReadOptions::default()).unwrap();
    passages.take(PASSAGES).map(|passage| passage.unwrap().joined(" ")).collect()
}

fn claims() -> Vec<String> {
    let input = Input::File(shared_path("data/scifact/queries.jsonl"));
    read_queries(&[input], &ReadOptions::default()).unwrap().0.into_iter().map(|query| query.text).collect()
}

/// XQuAD-R's English questions.
fn questions() -> Vec<String> {
    let squad = read_squad(&Input::File(shared_path("data/xquad-r/en.json.gz"))).unwrap();
    let paragraphs = squad.data.into_iter().flat_map(|article| article.paragraphs);
    paragraphs.flat_map(|paragraph| paragraph.qas).map(|question| question.question).collect()
}

/// Encodes all texts with `threads` threads, tokenization included; returns the number of tokens.
fn ours(encoder: &DualEncoder, texts: &[String], threads: usize) -> usize {
    let tower = encoder.tower(Role::Passage);
    let (next, tokens) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let vectors = Mutex::new(vec![0_f32; texts.len() * tower.dim()]);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let start = next.fetch_add(32, Ordering::Relaxed);
                    if start >= texts.len() {
                        return;
                    }
                    let chunk = &texts[start..texts.len().min(start + 32)];
                    let chunk: Vec<_> = chunk.iter().map(|text| tower.tokenize(text).unwrap()).collect();
                    tokens.fetch_add(chunk.iter().map(|text| text.len()).sum(), Ordering::Relaxed);
                    let encoded = tower.encode(&chunk).unwrap();
                    let at = start * tower.dim();
                    vectors.lock().unwrap()[at..at + encoded.len()].copy_from_slice(&encoded);
                }
            });
        }
    });
    tokens.into_inner()
}

/// The peers' threads spin for a while after their work, on cores that are then missing.
fn rest() {
    std::thread::sleep(Duration::from_millis(500));
}

fn main() {
    let Some(model) = std::env::var_os("TOLLER_MINILM").map(PathBuf::from) else {
        eprintln!(
            "skipped: set TOLLER_MINILM to the directory of all-MiniLM-L6-v2 (scripts/get-minilm prints it)"
        );
        return;
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let encoders = Precision::ALL.map(|dtype| {
        (
            dtype,
            DualEncoder::load(&model, &LoadOptions { dtype: Some(dtype), ..LoadOptions::default() }).unwrap(),
        )
    });
    println!("{}, {threads} threads, median of {ROUNDS} rounds in turn", toller_simd::Isa::active());
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let alone = arguments.iter().any(|argument| argument == "--alone");
    let wanted = arguments.into_iter().find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let all: [(&str, Texts); 3] =
        [("SciFact passages", scifact), ("SciFact claims", claims), ("XQuAD-R English questions", questions)];
    for (name, texts) in all.into_iter().filter(|(name, _)| name.contains(&wanted)) {
        let texts = texts();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for text in &texts {
            writeln!(file, "{}", serde_json::to_string(text).unwrap()).unwrap();
        }
        file.flush().unwrap();
        let arguments = [model.to_str().unwrap(), file.path().to_str().unwrap(), &threads.to_string()];
        let peers: &[&str] = if alone { &[] } else { &["sentence-transformers", "onnxruntime"] };
        let mut peers: Vec<_> = peers
            .iter()
            .filter_map(|peer| {
                Some((*peer, Peer::start("encode.py", &[&[*peer][..], &arguments].concat())?, Vec::new()))
            })
            .collect();
        let tokens = ours(&encoders[0].1, &texts, threads);
        let mut ours_secs = [const { Vec::new() }; Precision::ALL.len()];
        for _ in 0..ROUNDS {
            for ((_, encoder), seconds) in encoders.iter().zip(&mut ours_secs) {
                rest();
                seconds.push(timed(|| ours(encoder, &texts, threads)).as_secs_f64());
            }
            for (_, peer, theirs) in &mut peers {
                rest();
                theirs.extend(peer.round());
            }
        }
        println!(
            "{name}: {} texts, {:.1} tokens on average",
            texts.len(),
            tokens as f64 / texts.len() as f64
        );
        let median = |seconds: Vec<f64>| Timings::new(seconds).unwrap().median();
        let ours_secs = ours_secs.map(median);
        let f32_secs = ours_secs[0];
        let row = |name: &str, seconds: f64| {
            println!(
                "  {name:<24}{:>10.0} tokens/s, f32 is {:.2} times as fast",
                tokens as f64 / seconds,
                seconds / f32_secs
            );
        };
        for ((dtype, _), seconds) in encoders.iter().zip(ours_secs) {
            row(&format!("toller {dtype}"), seconds);
        }
        for (peer, _, theirs) in peers {
            row(peer, median(theirs));
        }
        for (dtype, encoder) in &encoders {
            operations(*dtype, encoder, &texts, threads, tokens);
        }
    }
}

/// Prints each operation's share of a core's time, and the rate of those that multiply matrices.
fn operations(dtype: Precision, encoder: &DualEncoder, texts: &[String], threads: usize, tokens: usize) {
    let recording = Recording::start().unwrap();
    let all = timed(|| ours(encoder, texts, threads)).as_secs_f64() * threads as f64;
    print!("  {dtype}: {:.1} us a token and core", all / tokens as f64 * 1e6);
    let mut rest = all;
    for operation in Operation::ALL {
        let cost = recording.cost(operation);
        rest -= cost.seconds;
        print!("; {operation} {:.1}%", cost.seconds / all * 100.0);
        if cost.matrix_operations > 0 {
            print!(" at {:.0} Gop/s", cost.matrix_operations as f64 / cost.seconds * 1e-9);
        }
    }
    println!("; tokenizing, embeddings and waiting {:.1}%", rest / all * 100.0);
}
