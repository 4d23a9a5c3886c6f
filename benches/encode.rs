//! Encoding on the CPU against sentence-transformers and ONNX Runtime, in turn, on the same texts with the
//! same number of threads: SciFact's first 1,000 passages (title, space, text; 243 tokens on average with
//! all-MiniLM-L6-v2) and, for short texts, its 1,109 claims.
//! Run: `TOLLER_MINILM=DIR cargo bench --bench encode` after `scripts/peers`.
//!
//! Floor: 2 operations a weight of the linear layers and token, plus the attention, at the rate of
//! benches/linear.rs. For MiniLM at 243 tokens: 21.2 M + 2.2 M operations a token.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs)]

#[path = "support/peer.rs"]
mod peer;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use peer::Peer;
use toller_bench::{Timings, timed};
use toller_corpus::{ReadOptions, open_collection, read_queries};
use toller_encoder::{DualEncoder, LoadOptions, Role};
use toller_files::Input;
use toller_pipeline::joined_text;

// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 5;
const PASSAGES: usize = 1000;

/// Reads a set of texts.
type Texts = fn() -> Vec<String>;

fn shared() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    std::env::var_os("TOLLER_SHARED").map_or(beside, PathBuf::from)
}

fn scifact() -> Vec<String> {
    let input = Input::File(shared().join("data/scifact/corpus.jsonl.gz"));
    let passages = open_collection(&[input], &ReadOptions::default()).unwrap();
    passages.take(PASSAGES).map(|passage| joined_text("", " ", &passage.unwrap())).collect()
}

fn questions() -> Vec<String> {
    let input = Input::File(shared().join("data/scifact/queries.jsonl"));
    read_queries(&[input], &ReadOptions::default()).unwrap().0.into_iter().map(|query| query.text).collect()
}

/// Encodes all texts with `threads` threads, tokenization included; the number of tokens.
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
    let encoder = DualEncoder::load(&model, &LoadOptions::default()).unwrap();
    println!("{}, {threads} threads, f32, median of {ROUNDS} rounds in turn", toller_compute::Isa::active());
    // `cargo bench --bench encode -- claims` runs only what has that in its name.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let all = [("SciFact passages", scifact as Texts), ("SciFact claims", questions)];
    for (name, texts) in all.into_iter().filter(|(name, _)| name.contains(&wanted)) {
        let texts = texts();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for text in &texts {
            writeln!(file, "{}", serde_json::to_string(text).unwrap()).unwrap();
        }
        file.flush().unwrap();
        let arguments = [model.to_str().unwrap(), file.path().to_str().unwrap(), &threads.to_string()];
        let peers = ["sentence-transformers", "onnxruntime"];
        let mut peers: Vec<_> = peers
            .iter()
            .filter_map(|peer| {
                Some((*peer, Peer::start("encode.py", &[&[*peer][..], &arguments].concat())?, Vec::new()))
            })
            .collect();
        let tokens = ours(&encoder, &texts, threads);
        let mut seconds = Vec::new();
        for _ in 0..ROUNDS {
            rest();
            seconds.push(timed(|| ours(&encoder, &texts, threads)).as_secs_f64());
            for (_, peer, theirs) in &mut peers {
                rest();
                theirs.extend(peer.round());
            }
        }
        let seconds = Timings::new(seconds).unwrap().median();
        let rate = |seconds: f64| tokens as f64 / seconds;
        println!(
            "{name}: {} texts, {:.1} tokens on average",
            texts.len(),
            tokens as f64 / texts.len() as f64
        );
        println!("  {:<24}{:>10.0} tokens/s", "toller", rate(seconds));
        for (peer, _, theirs) in peers {
            let theirs = Timings::new(theirs).unwrap().median();
            println!(
                "  {peer:<24}{:>10.0} tokens/s, toller is {:.2} times as fast",
                rate(theirs),
                theirs / seconds
            );
        }
    }
}
