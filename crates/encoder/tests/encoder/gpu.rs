//! Models on a stand-in for a GPU, against Hugging Face transformers in float64: the tolerances of promise 4,
//! the same bits alone and among others, several devices, too little memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use toller_encoder::{
    Compute, CrossEncoder, CrossEncoderOptions, DualEncoder, LoadOptions, Role, TextPooling,
};
use toller_gpu::{Devices, Launch, Memory, Watcher};
use toller_ir::Explain;
use toller_nn::Precision;
use toller_tokenizer::Tokens;

use crate::common::{Case, Pair, check, lines};

/// The types of a GPU with the relative errors that vectors may have.
const DTYPES: [(Precision, f64); 3] =
    [(Precision::F32, 1e-5), (Precision::F16, 2e-3), (Precision::Bf16, 1e-2)];

/// Texts of each model: the stand-in is slow.
const TEXTS: usize = 3;

fn on_gpu(dtype: Precision) -> LoadOptions {
    LoadOptions {
        dtype: Some(dtype),
        compute: Compute::Gpus(Devices::shim(&[1 << 30])),
        ..LoadOptions::default()
    }
}

fn fixture(name: &str) -> PathBuf {
    toller_testing::repository("tests/fixtures").join(name)
}

/// Short texts, and one that is longer than a tile of keys where there is one.
fn few<T>(cases: Vec<T>, tokens: impl Fn(&T) -> usize) -> Vec<T> {
    let (short, mut long): (Vec<T>, Vec<T>) = cases.into_iter().partition(|case| tokens(case) <= 64);
    long.sort_by_key(&tokens);
    long.into_iter().take(1).chain(short.into_iter().take(TEXTS - 1)).collect()
}

fn check_dual(folder: &Path, pooling: Option<&str>) {
    let cases = few(lines::<Case>(&folder.join("expected.jsonl")), |case| case.input_ids.len());
    for (dtype, tolerance) in DTYPES {
        let pooling = pooling.and_then(TextPooling::from_name);
        let model = DualEncoder::load(folder, &LoadOptions { pooling, ..on_gpu(dtype) }).unwrap();
        for role in [Role::Query, Role::Passage] {
            let is_of_role = |case: &&Case| (case.role.as_deref() == Some("query")) == (role == Role::Query);
            let of_role: Vec<&Case> = cases.iter().filter(is_of_role).collect();
            check(model.tower(role), &of_role, tolerance, |case| &case.embedding);
        }
    }
}

macro_rules! architectures {
    ($($test:ident: $name:literal;)*) => {$(
        #[test]
        fn $test() {
            check_dual(&fixture(concat!("models/", $name)), Some("mean"));
        }
    )*};
}

architectures! {
    bert_with_silu: "bert-pooler";
    distilbert: "distilbert";
    electra_with_narrow_embeddings: "electra";
    ernie_with_task_types: "ernie";
    roberta_with_gelu_new: "roberta";
    mpnet_with_relative_positions: "mpnet";
    modernbert_with_windows: "modernbert";
    modernbert_with_biases: "modernbert-biases";
    nomic_bert_with_gates: "nomic-bert-original";
    qwen3_with_wide_heads_and_shared_keys: "qwen3";
    qwen3_with_local_layers_and_biases: "qwen3-local";
    mistral_with_windows: "mistral";
    gte_with_slower_rotations: "gte-original";
    t5_with_relative_positions: "t5";
    gemma_3_with_norms_around_halves: "gemma3";
}

#[test]
fn tiny_bert_with_its_own_pooling() {
    check_dual(&fixture("tiny-bert"), None);
}

macro_rules! golden {
    ($($test:ident: $name:literal;)*) => {$(
        #[test]
        fn $test() {
            let Some(folder) = toller_testing::shared(concat!("golden/", $name)) else { return };
            check_dual(&folder, None);
        }
    )*};
}

golden! {
    golden_bert_with_dense_and_normalize: "bert-mean";
    golden_dpr: "mbert-dpr";
    golden_ernie: "ernie-cls";
    golden_xlm_roberta: "xlmr-mean";
}

/// A real model takes minutes on the stand-in: `cargo test -p toller-encoder -- --ignored minilm`.
#[test]
#[ignore = "minutes on the stand-in"]
fn the_real_minilm_on_a_gpu() {
    let folder = std::env::var_os("TOLLER_MINILM").map(PathBuf::from).unwrap();
    let cases: Vec<Case> = lines(&toller_testing::shared("golden/minilm/expected.jsonl").unwrap());
    let cases: Vec<&Case> = cases.iter().filter(|case| case.input_ids.len() <= 60).take(6).collect();
    for (dtype, tolerance) in DTYPES {
        let model = DualEncoder::load(&folder, &on_gpu(dtype)).unwrap();
        let tower = model.tower(Role::Passage);
        let tokens: Vec<Tokens> = cases.iter().map(|case| tower.tokenize(&case.text).unwrap()).collect();
        let vectors = tower.encode(&tokens).unwrap();
        let errors: Vec<f64> = cases
            .iter()
            .zip(vectors.chunks_exact(tower.dim()))
            .map(|(case, vector)| crate::common::relative_error(vector, &case.embedding))
            .collect();
        eprintln!("{dtype}: {errors:?}");
        assert!(errors.iter().all(|&error| error <= tolerance), "{dtype}: {errors:?}");
    }
}

fn check_cross(folder: &Path) {
    let pairs = few(lines::<Pair>(&folder.join("expected.jsonl")), |pair| pair.input_ids.len());
    // The label whose score counts: a model of three has none by default.
    let first = CrossEncoderOptions { label: Some(0), ..CrossEncoderOptions::default() };
    let options = |compute, dtype| CrossEncoderOptions { compute, dtype: Some(dtype), ..first.clone() };
    let reference = CrossEncoder::load(folder, &first).unwrap().reference().unwrap();
    for (dtype, tolerance) in DTYPES {
        let LoadOptions { compute, .. } = on_gpu(dtype);
        let model = CrossEncoder::load(folder, &options(compute, dtype)).unwrap();
        let tokens: Vec<Tokens> =
            pairs.iter().map(|pair| model.tokenize_pair(&pair.query, &pair.passage).unwrap()).collect();
        let logits = model.logits(&tokens).unwrap();
        for (tokens, found) in tokens.iter().zip(logits.chunks_exact(model.labels().len())) {
            let expected = reference.logits(tokens).unwrap();
            for ((&found, &expected), limit) in found.iter().zip(&expected.logits).zip(expected.limits) {
                let error = f64::from((found - expected).abs()) / limit;
                assert!(error <= tolerance, "{dtype}: {error:e} of {limit}");
            }
            assert_eq!(model.logits(std::slice::from_ref(tokens)).unwrap(), found, "alone, in {dtype}");
        }
    }
}

#[test]
fn cross_encoders_of_every_head() {
    for name in ["bert", "distilbert", "electra", "modernbert-cls", "modernbert-mean", "qwen3", "roberta"] {
        check_cross(&fixture("cross-encoders").join(name));
    }
    for name in ["llama-parts", "qwen2-one-answer", "qwen3-classifier", "qwen3-plain"] {
        check_cross(&fixture("chat-models").join(name));
    }
}

#[test]
fn golden_cross_encoders() {
    for name in ["bert-ce", "ernie-ce", "xlmr-ce"] {
        if let Some(folder) = toller_testing::shared(&format!("golden/{name}")) {
            check_cross(&folder);
        }
    }
}

fn texts(model: &DualEncoder, count: usize) -> Vec<Tokens> {
    let tower = model.tower(Role::Passage);
    (0..count).map(|number| tower.tokenize(&"a dog retrieves ".repeat(number % 9 + 1)).unwrap()).collect()
}

#[test]
fn several_devices_share_the_batches() {
    let folder = fixture("tiny-bert");
    let one = DualEncoder::load(&folder, &on_gpu(Precision::F16)).unwrap();
    let texts = texts(&one, 70);
    let expected = one.tower(Role::Passage).encode(&texts).unwrap();
    let compute = Compute::Gpus(Devices::shim(&[1 << 28, 1 << 28]));
    let options = LoadOptions { compute, batch_tokens: Some(100), ..on_gpu(Precision::F16) };
    let two = DualEncoder::load(&folder, &options).unwrap();
    assert_eq!(two.fingerprint(), one.fingerprint());
    assert_eq!(two.tower(Role::Passage).work().sessions, 2 * one.tower(Role::Passage).work().sessions);
    assert_eq!(two.tower(Role::Passage).encode_in_parallel(&texts).unwrap(), expected, "in order");
}

/// Three batches, for two devices with two sessions each.
#[test]
fn fewer_batches_than_sessions_use_all_devices() {
    let devices = Devices::shim(&[1 << 28; 2]);
    let compute = Compute::Gpus(devices.clone());
    let options = LoadOptions { compute, batch_tokens: Some(100), ..on_gpu(Precision::F16) };
    let model = DualEncoder::load(&fixture("tiny-bert"), &options).unwrap();
    let tower = model.tower(Role::Passage);
    let text = tower.tokenize(&"a dog retrieves ".repeat(20)).unwrap();
    let texts = vec![text; 3];
    assert!(texts[0].len() > 50 && tower.work().sessions > texts.len());
    // A session takes memory when it first computes.
    let free = || devices.iter().map(|device| device.free_bytes().unwrap()).collect::<Vec<_>>();
    let before = free();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let vectors = pool.install(|| tower.encode_in_parallel(&texts).unwrap());
    let after = free();
    assert!(before.iter().zip(&after).all(|(before, after)| after < before), "{before:?} {after:?}");
    assert_eq!(vectors, tower.encode(&texts).unwrap());
}

/// The bits of a GPU depend on its instructions.
#[test]
fn generations_of_gpus_have_their_own_names_and_are_not_mixed() {
    let devices = Devices::shim(&[1 << 28, 1 << 28]);
    let compute = Compute::Gpus(devices.clone());
    assert_eq!(compute.name_of(Precision::F16), "f16 on CUDA 9.0");
    devices.iter().nth(1).unwrap().controls().limit_capability((8, 0));
    let options = LoadOptions { compute, ..on_gpu(Precision::F16) };
    let error = DualEncoder::load(&fixture("tiny-bert"), &options).err().unwrap();
    assert!(error.to_string().contains("different generations (shim:0, shim:1)"), "{error}");
    assert!(error.remedy().unwrap().to_string().contains("cuda:N"));
    devices.limit_capability((8, 0));
    assert_eq!(options.compute.name_of(Precision::F16), "f16 on CUDA 8.0");
    assert!(DualEncoder::load(&fixture("tiny-bert"), &options).is_ok());
}

#[test]
fn a_batch_without_room_is_computed_in_halves() {
    let folder = fixture("tiny-bert");
    let load = |bytes| {
        let compute = Compute::Gpus(Devices::shim(&[bytes]));
        let options = LoadOptions { compute, batch_tokens: Some(1 << 20), ..on_gpu(Precision::F16) };
        DualEncoder::load(&folder, &options).unwrap()
    };
    let enough = load(1 << 28);
    let texts = texts(&enough, 60);
    let expected = enough.tower(Role::Passage).encode(&texts).unwrap();
    assert_eq!(enough.tower(Role::Passage).split_batches(), 0);
    // What is left of this much memory after the weights has room for some of the texts.
    let little = load(weights(&folder) + 400_000);
    assert_eq!(little.tower(Role::Passage).encode(&texts).unwrap(), expected);
    assert!(little.tower(Role::Passage).split_batches() > 0);
    let error = DualEncoder::load(
        &folder,
        &LoadOptions { compute: Compute::Gpus(Devices::shim(&[1000])), ..LoadOptions::default() },
    );
    assert!(error.err().unwrap().remedy().unwrap().to_string().contains("free memory"));
}

/// Decoders are published in bf16, and overflow f16.
#[test]
fn a_precision_is_chosen_for_the_model() {
    let gpu = || Compute::Gpus(Devices::shim(&[1 << 28]));
    for (name, on_gpu) in [("tiny-bert", Precision::F16), ("models/qwen3", Precision::Bf16)] {
        for (compute, expected) in [(gpu(), on_gpu), (Compute::Cpu, Precision::F32)] {
            let options = LoadOptions { compute, ..LoadOptions::default() };
            let model = DualEncoder::load(&fixture(name), &options).unwrap();
            assert_eq!(model.tower(Role::Passage).dtype(), expected, "{name}");
        }
    }
    let options = LoadOptions { dtype: Some(Precision::F16), compute: gpu(), ..LoadOptions::default() };
    let asked = DualEncoder::load(&fixture("models/qwen3"), &options).unwrap();
    assert_eq!(asked.tower(Role::Passage).dtype(), Precision::F16);
}

/// A text that has room only where two sessions had theirs.
#[test]
fn idle_sessions_give_their_memory_back_first() {
    let folder = fixture("tiny-bert");
    let text = |tokens| [Tokens { input_ids: vec![5; tokens], type_ids: vec![0; tokens] }];
    let (short, long) = (text(64), text(100));
    let enough = DualEncoder::load(&folder, &on_gpu(Precision::F16)).unwrap();
    let expected = enough.tower(Role::Passage).encode(&long).unwrap();
    let devices = Devices::shim(&[weights(&folder) + 400_000]);
    let compute = Compute::Gpus(devices.clone());
    let model = DualEncoder::load(&folder, &LoadOptions { compute, ..on_gpu(Precision::F16) }).unwrap();
    let (tower, device) = (model.tower(Role::Passage), devices.iter().next().unwrap());
    tower.encode(&short).unwrap();
    let of_one = device.free_bytes().unwrap();
    // The session that is there waits for a second one.
    let seen = device.clone();
    let began = Instant::now();
    let watcher: Watcher = Arc::new(move |_| {
        while seen.free_bytes().unwrap() == of_one {
            assert!(began.elapsed() < Duration::from_mins(1), "the second session does not begin");
            thread::yield_now();
        }
    });
    let encode = || tower.encode(&short).unwrap();
    devices.watched(&watcher, || {
        thread::scope(|scope| {
            scope.spawn(encode);
            scope.spawn(encode);
        });
    });
    let left = device.free_bytes().unwrap();
    assert!(left < of_one, "two sessions");
    let _taken = Memory::<u8>::new(device, left as usize - (16 << 10)).unwrap();
    assert_eq!(tower.encode(&long).unwrap(), expected);
    assert_eq!(tower.split_batches(), 0);
}

/// It fails at once, and would get nearly all batches. If all are lost, one of them says why.
#[test]
fn a_lost_device_gets_no_batches_while_there_is_another() {
    let devices = Devices::shim(&[1 << 28; 2]);
    let compute = Compute::Gpus(devices.clone());
    let model = DualEncoder::load(&fixture("tiny-bert"), &LoadOptions { compute, ..on_gpu(Precision::F16) });
    let model = model.unwrap();
    let free = || devices.iter().map(|device| device.free_bytes().unwrap()).collect::<Vec<_>>();
    // A session takes memory when it first computes.
    let before = free();
    for number in 0..2 {
        let launch =
            Launch { kernel: "no_such_kernel", grid: [1; 3], threads: 32, shared_bytes: 0, argument: &[] };
        // SAFETY: the kernel does not exist, so nothing runs.
        assert!(unsafe { devices.iter().nth(number).unwrap().launch(&launch) }.is_err());
        model.tower(Role::Passage).encode(&texts(&model, 3)).unwrap();
        assert_eq!(free()[0] < before[0], number == 1, "only the first device is lost, or both");
    }
}

/// Bytes that a model's weights take on a device.
fn weights(folder: &Path) -> u64 {
    let devices = Devices::shim(&[1 << 28]);
    let compute = Compute::Gpus(devices.clone());
    let _model = DualEncoder::load(folder, &LoadOptions { compute, ..on_gpu(Precision::F16) }).unwrap();
    let device = devices.iter().next().unwrap();
    (1 << 28) - device.free_bytes().unwrap()
}

#[test]
fn int8_is_refused_by_name() {
    let error = DualEncoder::load(&fixture("tiny-bert"), &on_gpu(Precision::Int8)).err().unwrap();
    assert!(error.to_string().contains("int8") && error.remedy().unwrap().to_string().contains("f16"));
}
