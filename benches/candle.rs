//! BERT in f32 on the CPU: the backend `Candle` against candle-transformers' BERT, which runs on the same
//! tensors, and the backend `Cpu` next to both. One batch at a time from token ids, all-MiniLM-L6-v2. The
//! vectors of all three are compared. The peer pads a batch to its longest text and masks the padding.
//!
//! Run: `TOLLER_MINILM=DIR cargo bench --features candle-peer --bench candle`. candle takes its threads from
//! RAYON_NUM_THREADS, and `Cpu` here from the same pool.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};

use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use toller_bench::{Timings, timed};
use toller_encoder::{Compute, DualEncoder, LoadOptions, Role};
use toller_nn::CandleDevice;
use toller_nn::candle_core::{DType, Device, Result, Tensor};
use toller_simd::Isa;
use toller_tokenizer::Tokens;

// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 7;

/// Token ids that are words of BERT's vocabulary.
const WORDS: std::ops::Range<u32> = 1996..29_000;
/// The largest relative error of a vector: both sides are within 1e-5 of float64.
const TOLERANCE: f64 = 2e-5;

/// Texts of these lengths.
fn texts(lengths: impl Iterator<Item = usize>) -> Vec<Tokens> {
    let mut state = 1_u32;
    let mut id = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        WORDS.start + (state >> 8) % (WORDS.end - WORDS.start)
    };
    let text =
        |length: usize| Tokens { input_ids: (0..length).map(|_| id()).collect(), type_ids: vec![0; length] };
    lengths.map(text).collect()
}

/// candle-transformers' BERT.
struct Peer(BertModel);

impl Peer {
    fn load(folder: &Path) -> Self {
        let config: Config = serde_json::from_slice(&fs::read(folder.join("config.json")).unwrap()).unwrap();
        let weights = fs::read(folder.join("model.safetensors")).unwrap();
        let weights = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu).unwrap();
        Self(BertModel::load(weights, &config).unwrap())
    }

    /// The means of the tokens' states, of unit length: `[texts, hidden]`.
    fn encode(&self, texts: &[Tokens]) -> Result<Vec<f32>> {
        let longest = texts.iter().map(Tokens::len).max().unwrap_or(0);
        let padded = |row: &dyn Fn(&Tokens, usize) -> u32| {
            let numbers: Vec<u32> =
                texts.iter().flat_map(|text| (0..longest).map(move |at| row(text, at))).collect();
            Tensor::from_vec(numbers, (texts.len(), longest), &Device::Cpu)
        };
        let ids = padded(&|text, at| text.input_ids.get(at).copied().unwrap_or(0))?;
        let mask = padded(&|text, at| u32::from(at < text.len()))?;
        let states = self.0.forward(&ids, &ids.zeros_like()?, Some(&mask))?;
        let weights = mask.to_dtype(DType::F32)?.unsqueeze(2)?;
        let sums = states.broadcast_mul(&weights)?.sum(1)?;
        sums.broadcast_div(&sums.sqr()?.sum_keepdim(1)?.sqrt()?)?.flatten_all()?.to_vec1()
    }
}

/// The largest relative error of a vector.
fn worst(found: &[f32], expected: &[f32], dim: usize) -> f64 {
    let length = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|x| x * x).sum::<f64>().sqrt();
    let pairs = found.chunks_exact(dim).zip(expected.chunks_exact(dim));
    let errors = pairs.map(|(found, expected)| {
        let differences = &mut found.iter().zip(expected).map(|(&a, &b)| f64::from(a) - f64::from(b));
        length(differences) / length(&mut expected.iter().map(|&x| f64::from(x)))
    });
    errors.fold(0.0, f64::max)
}

fn main() {
    let Some(folder) = std::env::var_os("TOLLER_MINILM").map(PathBuf::from) else {
        eprintln!(
            "skipped: set TOLLER_MINILM to the directory of all-MiniLM-L6-v2 (scripts/get-minilm prints it)"
        );
        return;
    };
    let load = |compute| {
        // A batch is what the peer gets at once.
        let options = LoadOptions { compute, batch_tokens: Some(1 << 20), ..LoadOptions::default() };
        DualEncoder::load(&folder, &options).unwrap()
    };
    let (candle, cpu) = (load(Compute::Candle(CandleDevice::cpu())), load(Compute::Cpu));
    let (candle, cpu) = (candle.tower(Role::Passage), cpu.tower(Role::Passage));
    let peer = Peer::load(&folder);
    let threads = rayon::current_num_threads();
    println!("{}, {threads} threads, f32, median of {ROUNDS} rounds in turn", Isa::active());
    println!(
        "{:<34} {:>16} {:>20} {:>7} {:>14}",
        "batch", "Candle, tokens/s", "candle-transformers", "ratio", "Cpu, tokens/s"
    );
    for (name, texts) in [
        ("32 texts of 128 tokens", texts(std::iter::repeat_n(128, 32))),
        ("32 texts of 16 to 264 tokens", texts((0..32).map(|index| 16 + 8 * (index * 13 % 32)))),
        ("4 texts of 512 tokens", texts(std::iter::repeat_n(512, 4))),
    ] {
        let ours = || candle.encode(&texts).unwrap();
        let theirs = || peer.encode(&texts).unwrap();
        let native = || cpu.encode_in_parallel(&texts).unwrap();
        let error = worst(&ours(), &theirs(), candle.dim()).max(worst(&ours(), &native(), candle.dim()));
        assert!(error <= TOLERANCE, "{name}: vectors differ by {error:e}");
        let mut seconds = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            seconds[0].push(timed(|| drop(ours())).as_secs_f64());
            seconds[1].push(timed(|| drop(theirs())).as_secs_f64());
            seconds[2].push(timed(|| drop(native())).as_secs_f64());
        }
        let tokens = texts.iter().map(Tokens::len).sum::<usize>() as f64;
        let [ours, theirs, native] = seconds.map(|seconds| tokens / Timings::new(seconds).unwrap().median());
        println!("{name:<34} {ours:>16.0} {theirs:>20.0} {:>7.2} {native:>14.0}", ours / theirs);
    }
}
