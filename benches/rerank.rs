//! Reranking TREC DL 2019's BM25 run (43 queries, 100 passages each) with a cross-encoder of MiniLM's size,
//! against sentence-transformers' CrossEncoder, in turn, with as many threads, in f32; and whether the scores
//! agree.
//!
//! `cargo bench --bench rerank` after `scripts/peers`. `TOLLER_CROSS_ENCODER` names the model's directory,
//! which `scripts/make-cross-encoder` makes of all-MiniLM-L6-v2. With `-- --alone` without the peer, with `--
//! --depth N` to another depth.
//!
//! Floor: as for benches/encode.rs, 2 operations a weight of the linear layers and token, plus the attention.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs)]

#[path = "support/peer.rs"]
mod peer;

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use peer::Peer;
use toller_bench::{Timings, timed};
use toller_corpus::{ReadOptions, read_queries, read_run};
use toller_encoder::{CrossEncoder, CrossEncoderOptions};
use toller_files::Input;
use toller_pipeline::rerank::{Candidates, RerankOptions, Reranked, Reranker};
use toller_texts::{Texts, TextsOptions};

// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 3;
const RUN: &str = "runs/BM25.trec_results_dl19.txt.gz";

fn data() -> PathBuf {
    toller_testing::shared_path("data/msmarco-dl19")
}

fn main() {
    let Some(model) = std::env::var_os("TOLLER_CROSS_ENCODER").map(PathBuf::from) else {
        eprintln!("skipped: set TOLLER_CROSS_ENCODER to a model of scripts/make-cross-encoder");
        return;
    };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let depth = arguments.iter().skip_while(|argument| *argument != "--depth").nth(1);
    let depth: usize = depth.map_or(100, |depth| depth.parse().unwrap());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);

    let file = |name: &str| Input::File(data().join(name));
    let (run, _) = read_run(&file(RUN), &ReadOptions::default()).unwrap();
    let (queries, _) = read_queries(&[file("topics.dl19-passage.txt")], &ReadOptions::default()).unwrap();
    let query_texts: HashMap<&str, &str> =
        queries.iter().map(|query| (query.id.as_str(), query.text.as_str())).collect();
    let index = tempfile::tempdir().unwrap();
    let options = TextsOptions { directory: Some(index.path().join("texts")), ..TextsOptions::default() };
    let texts = Arc::new(Texts::open(&[file("collection.tsv.gz")], &options, |_| {}).unwrap());
    let candidates: Vec<Candidates<'_>> = run
        .queries
        .iter()
        .map(|(id, hits)| Candidates {
            query_id: id,
            query_text: query_texts.get(id.as_str()).copied(),
            hits: hits.iter().take(depth).map(|hit| (hit.doc_id.as_str(), hit.score)).collect(),
        })
        .collect();

    let encoder = CrossEncoder::load(
        &model,
        &CrossEncoderOptions { max_length: Some(512), ..CrossEncoderOptions::default() },
    );
    let options = RerankOptions { depth, ..RerankOptions::default() };
    let reranker = Reranker::new(vec![encoder.unwrap()], texts.clone(), options, threads).unwrap();
    let ours = || reranker.rerank(&candidates, &|| false, |_| {}).unwrap();

    let mut pairs = tempfile::NamedTempFile::new().unwrap();
    for query in &candidates {
        for (document, _) in &query.hits {
            let passage = texts.get(document).unwrap().unwrap();
            writeln!(pairs, "{}", serde_json::json!([query.query_text, passage.text])).unwrap();
        }
    }
    pairs.flush().unwrap();
    let arguments_of_peer = [model.to_str().unwrap(), pairs.path().to_str().unwrap(), &threads.to_string()];
    let alone = arguments.iter().any(|argument| argument == "--alone");
    let mut peer = if alone { None } else { Peer::start("rerank.py", &arguments_of_peer) };

    let reranked = ours();
    let (mut our_secs, mut their_secs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        // The peer's threads spin for a while after their work, on cores that are then missing.
        std::thread::sleep(Duration::from_millis(500));
        our_secs.push(timed(ours).as_secs_f64());
        their_secs.extend(peer.as_mut().and_then(Peer::round));
    }
    let median = |seconds: Vec<f64>| Timings::new(seconds).map(|timings| timings.median());
    let (pairs, tokens) = (reranked.report.pairs as f64, reranked.report.tokens as f64);
    println!(
        "{}, {threads} threads, median of {ROUNDS} rounds in turn: {} queries to depth {depth}, {pairs} pairs, {:.1} tokens each",
        toller_simd::Isa::active(),
        candidates.len(),
        tokens / pairs
    );
    let ours = median(our_secs).unwrap();
    println!("  toller                {:>8.1} pairs/s, {:>8.0} tokens/s", pairs / ours, tokens / ours);
    let Some(theirs) = median(their_secs) else { return };
    println!(
        "  sentence-transformers {:>8.1} pairs/s, toller is {:.2} times as fast",
        pairs / theirs,
        theirs / ours
    );
    let scores = peer.as_mut().and_then(|peer| peer.ask("scores")).unwrap();
    println!("  largest difference of two scores: {:.1e}", difference(&reranked, &scores));
}

/// The largest difference of our scores to the peer's.
fn difference(reranked: &Reranked, theirs: &str) -> f64 {
    let theirs: Vec<f64> = serde_json::from_str(theirs).unwrap();
    let ours: Vec<f64> =
        reranked.model_scores[0].iter().flatten().map(|score| f64::from(score.unwrap())).collect();
    assert_eq!(ours.len(), theirs.len());
    ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
