//! Tokenizing on one thread and on all: ours and the `tokenizers` crate in turn, on the same texts, at most
//! 192 tokens each. Run: `TOLLER_MINILM=DIR cargo bench --bench tokenize`.
//!
//! Why this matters: a GPU encodes 0.6 to 2 million tokens/s. A tokenizer that is not about ten times as
//! fast, over all threads, is what the GPU waits for.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::bert::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{Tokenizer, TruncationParams};
use toller_bench::{Timings, timed};
use toller_corpus::{ReadOptions, open_collection};
use toller_datasets::read_squad;
use toller_encoder::{DualEncoder, LoadOptions, Role};
use toller_files::Input;
use toller_testing::shared_path;

// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 5;
/// The smallest of the models has this many positions.
const MAX_LENGTH: usize = 192;

fn scifact() -> Vec<String> {
    let input = Input::File(shared_path("data/scifact/corpus.jsonl.gz"));
    let passages = open_collection(&[input], &ReadOptions::default()).unwrap();
    passages.take(1500).map(|passage| passage.unwrap().joined(" ")).collect()
}

/// The paragraphs of SQuAD's JSON.
fn paragraphs(path: &str) -> Vec<String> {
    let squad = read_squad(&Input::File(shared_path("data").join(path))).unwrap();
    let paragraphs = squad.data.into_iter().flat_map(|article| article.paragraphs);
    paragraphs.map(|paragraph| paragraph.context).collect()
}

/// The peer: `tokenizer.json`, or a tokenizer made of a bare `vocab.txt`. Special tokens are left out.
fn reference(folder: &Path) -> Tokenizer {
    let mut tokenizer = Tokenizer::from_file(folder.join("tokenizer.json")).unwrap_or_else(|_| {
        let vocabulary = folder.join("vocab.txt");
        let model = WordPiece::from_file(vocabulary.to_str().unwrap()).unk_token("[UNK]".to_owned());
        let mut tokenizer = Tokenizer::new(model.build().unwrap());
        tokenizer.with_normalizer(Some(BertNormalizer::default())).unwrap();
        tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
        tokenizer
    });
    let truncation = TruncationParams { max_length: MAX_LENGTH - 2, ..TruncationParams::default() };
    tokenizer.with_truncation(Some(truncation)).unwrap();
    tokenizer.with_padding(None);
    tokenizer
}

/// Gives all texts to `tokenize`, from this many threads; returns the number of tokens.
fn all(texts: &[String], threads: usize, tokenize: impl Fn(&str) -> usize + Sync) -> usize {
    let (next, tokens) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(text) = texts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    tokens.fetch_add(tokenize(text), Ordering::Relaxed);
                }
            });
        }
    });
    tokens.into_inner()
}

fn main() {
    let Some(minilm) = std::env::var_os("TOLLER_MINILM").map(PathBuf::from) else {
        eprintln!(
            "skipped: set TOLLER_MINILM to the directory of all-MiniLM-L6-v2 (scripts/get-minilm prints it)"
        );
        return;
    };
    let golden = shared_path("golden");
    let (chinese, cased) = (golden.join("ernie-cls"), golden.join("mbert-dpr"));
    let mut sets =
        vec![("SciFact", scifact(), minilm), ("CMRC 2018", paragraphs("cmrc2018/dev.json.gz"), chinese)];
    for (name, file) in
        ["XQuAD-R de", "XQuAD-R ru", "XQuAD-R ar", "XQuAD-R hi", "XQuAD-R th"].map(|name| (name, &name[8..]))
    {
        sets.push((name, paragraphs(&format!("xquad-r/{file}.json.gz")), cased.clone()));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("millions of tokens/s, median of {ROUNDS} rounds in turn, {cores} cores");
    for (name, texts, folder) in sets {
        let options = LoadOptions { max_length: Some(MAX_LENGTH), ..LoadOptions::default() };
        let encoder = DualEncoder::load(&folder, &options).unwrap();
        let tower = encoder.tower(Role::Passage);
        let folder = Some(folder.join("ctx_encoder")).filter(|tower| tower.is_dir()).unwrap_or(folder);
        let reference = reference(&folder);
        let ours = |text: &str| tower.tokenize(text).unwrap().len() - 2;
        let theirs = |text: &str| reference.encode_fast(text, false).unwrap().len().min(MAX_LENGTH - 2);
        for threads in if cores > 1 { vec![1, cores] } else { vec![1] } {
            let tokens = all(&texts, threads, ours);
            assert_eq!(tokens, all(&texts, threads, theirs), "{name}");
            let (mut our_seconds, mut their_seconds) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                our_seconds.push(timed(|| all(&texts, threads, ours)).as_secs_f64());
                their_seconds.push(timed(|| all(&texts, threads, theirs)).as_secs_f64());
            }
            let rate = |seconds| tokens as f64 * 1e-6 / Timings::new(seconds).unwrap().median();
            let (ours, theirs) = (rate(our_seconds), rate(their_seconds));
            println!(
                "{name:<12} {threads} threads {tokens:>7} tokens: toller {ours:>6.2}, tokenizers {theirs:>6.2}, ratio {:.1}",
                ours / theirs
            );
        }
    }
}
