//! The kernels of the transformer on a stand-in for a GPU: shapes at the edges of tiles, long sequences, one
//! session after another; and the constants of the kernels' header.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::{Arc, Barrier, LazyLock, Mutex};
use std::thread::ThreadId;

use toller_gpu::{Devices, KernelTimes, Memory, Watcher};

use super::number::Number;
use super::{Cuda, abi, kernels};
use crate::tests::{ACTIVATIONS, Layer, Model, check, relative_error, values};
use crate::{
    Activation, Backend, Closing, LinearParameters, Matrix, NnError, NormParameters, NormPlacement, Place,
    Pooling, Precision, Reference, Sequences,
};

const HEADER: &str = include_str!("../../../../kernels/encoder.h");

/// The precisions of a GPU with the errors that pooled states may have, relative to the largest.
const PRECISIONS: [(Precision, f64); 3] =
    [(Precision::F32, 1e-5), (Precision::F16, 0.02), (Precision::Bf16, 0.15)];

/// Which kernels a GPU chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kernels {
    OfH100,
    OfA100,
    OfLibrary,
}

/// The machine's GPU with these kernels; where there is none, a stand-in.
pub(crate) fn gpu(kernels: Kernels, precision: Precision) -> Cuda {
    let mut gpu = Cuda::new(devices(kernels).iter().next().unwrap().clone(), precision).unwrap();
    // The sizes of tests are small, and all kernels are to be tested.
    gpu.kernels.few_tiles = 1;
    gpu
}

fn devices(kernels: Kernels) -> Devices {
    let devices = of_machine(kernels).unwrap_or_else(|| Devices::shim(&[256 << 20]));
    // As on a stand-in: blocks that take tiles in turn have several.
    devices.limit_multiprocessors(2);
    match kernels {
        Kernels::OfH100 => devices.limit_capability((9, 0)),
        Kernels::OfA100 => devices.limit_capability((8, 0)),
        Kernels::OfLibrary => devices.use_library(),
    }
    devices
}

/// The machine's GPU if it has one: opened once for each choice, since opening takes longer than a test.
/// With the environment variable TOLLER_WATCH_LAUNCHES, every launch on it is printed.
fn of_machine(kernels: Kernels) -> Option<Devices> {
    static OPENED: LazyLock<[Option<Devices>; 3]> = LazyLock::new(|| {
        let is_set = |name: &str| std::env::var_os(name).is_some();
        let [prints, is_needed] = ["TOLLER_WATCH_LAUNCHES", "TOLLER_NEEDS_GPU"].map(is_set);
        [(); 3].map(|()| Devices::of_machine(prints, is_needed))
    });
    OPENED[kernels as usize].clone()
}

#[test]
fn constants_and_names_are_those_of_the_header() {
    let defined = |name: &str| -> u32 {
        let line = HEADER.lines().find_map(|line| line.strip_prefix(&format!("#define {name} "))).unwrap();
        line.trim().parse().unwrap()
    };
    for (name, value) in [
        ("TOLLER_ENCODER_TABLES", abi::TABLES as u32),
        ("TOLLER_ENCODER_POOLINGS", abi::POOLINGS as u32),
        ("TOLLER_NORM_THREADS", abi::NORM_THREADS),
        ("TOLLER_NORM_IN_REGISTERS", abi::NORM_IN_REGISTERS),
        ("TOLLER_PRODUCT_THREADS", abi::PRODUCT_THREADS),
        ("TOLLER_ATTENTION_THREADS", abi::ATTENTION_THREADS),
        ("TOLLER_PRODUCT_ROWS", abi::PRODUCT_ROWS),
        ("TOLLER_PRODUCT_SLICE", abi::PRODUCT_SLICE),
        ("TOLLER_PRODUCT_STAGES", abi::PRODUCT_STAGES),
        ("TOLLER_PRODUCT_STAGES_FEW", abi::PRODUCT_STAGES_FEW),
        ("TOLLER_ATTENTION_QUERIES", abi::ATTENTION_QUERIES),
        ("TOLLER_ATTENTION_KEYS", abi::ATTENTION_KEYS),
        ("TOLLER_PRODUCT_TMA_ROWS", abi::PRODUCT_TMA_ROWS),
        ("TOLLER_PRODUCT_TMA_COLUMNS", abi::PRODUCT_TMA_COLUMNS),
        ("TOLLER_PRODUCT_TMA_STAGES", abi::PRODUCT_TMA_STAGES),
        ("TOLLER_PRODUCT_TMA_THREADS", abi::PRODUCT_TMA_THREADS),
    ] {
        assert_eq!(defined(name), value, "{name}");
    }
    for activation in ACTIVATIONS {
        let name = match activation {
            Activation::GeluTanh => "GELU_TANH".to_owned(),
            other => format!("{other:?}").to_uppercase(),
        };
        assert_eq!(defined(&format!("TOLLER_ACTIVATION_{name}")), activation as u32, "{name}");
    }
    for (pooling, name) in [
        (Pooling::Cls, "CLS"),
        (Pooling::Mean, "MEAN"),
        (Pooling::Max, "MAX"),
        (Pooling::MeanSqrtLen, "MEAN_SQRT_LEN"),
        (Pooling::WeightedMean, "WEIGHTED_MEAN"),
        (Pooling::LastToken, "LAST_TOKEN"),
    ] {
        assert_eq!(defined(&format!("TOLLER_POOLING_{name}")), pooling as u32, "{name}");
    }
    let of_type = |line: &str, number: &str| line.replace("##TYPE##", number).replace("##TYPE", number);
    let entries = |line: &str| Some(line.trim().strip_prefix("X(")?.split(',').next()?.to_owned());
    let lines = HEADER.lines().take_while(|line| !line.contains("SM90A_KERNELS"));
    let listed: BTreeSet<String> = lines
        .filter_map(entries)
        .flat_map(|entry| ["f32", "f16", "bf16"].map(|number| of_type(&entry, number)))
        .collect();
    assert_eq!(listed, kernels::names().into_iter().map(str::to_owned).collect());
}

/// Each choice of kernels is a test of its own, so that one that fails does not hide what the others find.
mod products_at_the_edges_of_tiles {
    use super::{Kernels, are_near};

    #[test]
    fn usual_kernels() {
        are_near(Kernels::OfH100);
    }

    #[test]
    fn kernels_of_sm_80() {
        are_near(Kernels::OfA100);
    }
}

/// Sizes at the edges of tiles, slices and units, and ten slices, with every activation: `x` `[rows, inputs]`
/// through a layer in all forms. A row alone, for which other kernels are chosen, has the same bits.
fn are_near(kernels: Kernels) {
    for (number, (rows, outputs, inputs)) in [
        (1, 7, 1),
        (130, 64, 33),
        (3, 65, 64),
        (129, 130, 150),
        (2, 200, 70),
        (130, 256, 128),
        (200, 380, 40),
        // Each stage of the kernels' rings is used several times.
        (70, 200, 600),
    ]
    .into_iter()
    .enumerate()
    {
        let activation = ACTIVATIONS[number % ACTIVATIONS.len()];
        let layer = Layer::new(1, outputs, inputs, number % 2 == 0);
        let other = Layer::new(2, outputs, inputs, number % 2 == 0);
        for (precision, tolerance) in PRECISIONS {
            if kernels != Kernels::OfH100 && (precision == Precision::F32 || outputs < 200) {
                // The kernels of an H100.
                continue;
            }
            let what = format!("{rows} x {outputs} x {inputs}, {precision}, {activation:?}");
            let expected = layers(&Reference, rows, &layer, &other, activation);
            let backend = gpu(kernels, precision);
            let found = layers(&backend, rows, &layer, &other, activation);
            for (found, expected) in found.iter().zip(&expected) {
                let error = relative_error(found, expected);
                assert!(error < tolerance / 2.0, "{error}: {what}");
            }
            let first = layers(&backend, 1, &layer, &other, activation);
            for (found, first) in found.iter().zip(&first) {
                assert_eq!(found[..first.len()], *first, "a row alone: {what}");
            }
        }
    }
}

/// The library's sums have an order of their own, so a row alone is not compared bit by bit. It takes the
/// plain layers and those with a residual; a gated one stays with our kernels.
#[test]
fn products_of_the_library_are_near() {
    let (_, tolerance) = PRECISIONS[1];
    for (activation, (rows, outputs, inputs)) in
        ACTIVATIONS.into_iter().zip([(1, 7, 1), (3, 65, 64), (129, 130, 150), (2, 200, 70), (40, 384, 96)])
    {
        let has_bias = outputs > 100;
        let (layer, other) =
            (Layer::new(1, outputs, inputs, has_bias), Layer::new(2, outputs, inputs, has_bias));
        let devices = devices(Kernels::OfLibrary);
        let backend = Cuda::new(devices.iter().next().unwrap().clone(), Precision::F16).unwrap();
        let times = KernelTimes::default();
        let found = devices.watched(&times.watcher(), || layers(&backend, rows, &layer, &other, activation));
        let launches =
            |kernel| times.all().iter().find(|time| time.kernel == kernel).map_or(0, |time| time.launches);
        assert_eq!(launches("cublasLtMatmul"), 2, "the plain layer and that with a residual");
        assert_eq!(launches("toller_encoder_activate_f16"), u64::from(activation != Activation::Identity));
        let expected = layers(&Reference, rows, &layer, &other, activation);
        for (found, expected) in found.iter().zip(&expected) {
            let error = relative_error(found, expected);
            assert!(error < tolerance / 2.0, "{error}: {rows} x {outputs} x {inputs}, {activation:?}");
        }
    }
}

/// With norms after, a residual that bf16 would round at every half of a layer loses too much (promise 4).
/// Halves of a layer that add nothing must keep it.
#[test]
fn residuals_in_bf16_are_not_rounded() {
    let expected = residual_after(&Reference, 1);
    for kernels in [Kernels::OfH100, Kernels::OfA100] {
        let backend = gpu(kernels, Precision::Bf16);
        let [once, often] = [1, 9].map(|halves| residual_after(&backend, halves));
        let error = relative_error(&once, &expected);
        assert!(error < 5e-3, "{error} with {kernels:?}: the embeddings are rounded");
        let error = relative_error(&often, &once);
        assert!(error < 1e-5, "{error} with {kernels:?}");
    }
}

/// The residual after halves of layers whose weights are zero, with norms after.
fn residual_after<B: Backend>(backend: &B, halves: usize) -> Vec<f32> {
    let (rows, width) = (70, 40);
    let mut scratch = backend.scratch();
    let s = &mut scratch;
    let norm = |weight: f32| {
        let weight = &vec![weight; width];
        backend.norm(NormParameters { weight, bias: None, epsilon: 1e-12, centers: true }).unwrap()
    };
    let (first, norm) = (norm(0.5), norm(1.0));
    let table = values(3, rows * width);
    let table = backend.table(Matrix { values: &table, rows, columns: width }).unwrap();
    let nothing = vec![0.0; width * width];
    let weight = Matrix { values: &nothing, rows: width, columns: width };
    let nothing = backend.linear(LinearParameters { weight, bias: None }, Place::Inner).unwrap();
    let batch = backend.batch(vec![(0..rows as u32).collect()], Sequences::from_lengths([rows])).unwrap();
    let mut stream = backend.embed(s, &batch, &[table], &first, NormPlacement::After).unwrap();
    for _ in 0..halves {
        let x = backend.project(s, stream.input(), &nothing, Activation::Identity).unwrap();
        let closing =
            Closing { layer: &nothing, inner_norm: None, norm: Some(&norm), placement: NormPlacement::After };
        stream = backend.close(s, x, closing, stream.residual).unwrap();
    }
    let mut host = Vec::new();
    backend.to_host(s, stream.residual, &mut host).unwrap();
    host
}

/// A layer plain, gated and with a residual, over the same random states.
fn layers<B: Backend>(
    backend: &B,
    rows: usize,
    layer: &Layer,
    other: &Layer,
    activation: Activation,
) -> [Vec<f32>; 3] {
    let (inputs, outputs) = (layer.inputs, layer.outputs);
    let mut scratch = backend.scratch();
    let s = &mut scratch;
    // Tables of states: the norm that follows makes no difference to the comparison.
    let states = |s: &mut B::Scratch, width: usize| {
        let table = values(5, rows.max(200) * width);
        let table = backend.table(Matrix { values: &table, rows: rows.max(200), columns: width }).unwrap();
        let norm = NormParameters { weight: &vec![1.0; width], bias: None, epsilon: 1.0, centers: false };
        let norm = backend.norm(norm).unwrap();
        let batch = backend.batch(vec![(0..rows as u32).collect()], Sequences::from_lengths([rows])).unwrap();
        backend.embed(s, &batch, &[table], &norm, NormPlacement::After).unwrap().residual
    };
    let x = states(s, inputs);
    let linear = backend.linear(layer.parameters(), Place::Inner).unwrap();
    let gated = backend.gated(layer.parameters(), other.parameters()).unwrap();
    let plain = backend.project(s, &x, &linear, activation).unwrap();
    let gated = backend.gate(s, &x, &gated, activation).unwrap();
    let residual = states(s, outputs);
    let closing = Closing { layer: &linear, inner_norm: None, norm: None, placement: NormPlacement::After };
    let sum = backend.close(s, x, closing, residual).unwrap().residual;
    [plain, gated, sum].map(|states| {
        let mut host = Vec::new();
        backend.to_host(s, states, &mut host).unwrap();
        host
    })
}

/// One layer's attention over sequences of all kinds of lengths.
fn long() -> Model {
    Model {
        seed: 7,
        lengths: vec![1, 63, 0, 64, 65, 512, 127],
        width: 32,
        inner: 24,
        heads: 2,
        key_heads: 1,
        head_size: 32,
        norms_heads: false,
        scale: 1.0,
        rotates: false,
        reach: None,
        window: (None, None),
        has_bias: true,
        centers: true,
        gates: false,
        norms_halves: false,
        placement: NormPlacement::After,
        first_placement: NormPlacement::After,
        activation: Activation::Gelu,
        sharpness: 2.0,
        skipped: 0,
        prefix: 2,
        poolings: &Pooling::ALL,
    }
}

#[test]
fn lengths_from_1_to_512_in_every_precision() {
    for (precision, tolerance) in PRECISIONS {
        check(&gpu(Kernels::OfH100, precision), &long(), tolerance);
    }
}

#[test]
fn windows_biases_rotations_and_sizes_of_heads() {
    for (head_size, norms_heads, rotates, reach, window) in [
        (64, false, true, None, (Some(64), Some(64))),
        (24, true, false, Some(91), (None, None)),
        (128, true, true, Some(4), (Some(0), Some(0))),
        (33, false, false, None, (None, Some(0))),
        (32, false, false, None, (Some(70), None)),
    ] {
        let (lengths, width) = (vec![130, 1, 200], 9);
        let model = Model { lengths, head_size, norms_heads, rotates, reach, window, width, ..long() };
        for (precision, tolerance) in PRECISIONS {
            check(&gpu(Kernels::OfH100, precision), &model, tolerance);
        }
    }
}

/// As in Gemma 3: wide heads that share keys, scores with a scale of their own, and norms around each half.
#[test]
fn norms_before_and_after_each_half() {
    for (head_size, width, lengths) in
        [(256, 72, vec![66, 1, 0, 130]), (130, 40, vec![70]), (24, 1100, vec![3, 1])]
    {
        let model = Model {
            lengths,
            width,
            heads: 2,
            head_size,
            norms_heads: true,
            scale: 0.8,
            rotates: true,
            window: (Some(64), Some(64)),
            has_bias: false,
            centers: false,
            gates: true,
            norms_halves: true,
            placement: NormPlacement::Before,
            first_placement: NormPlacement::Before,
            activation: Activation::GeluTanh,
            sharpness: 1.0,
            prefix: 0,
            ..long()
        };
        for (precision, tolerance) in PRECISIONS {
            let gpu = gpu(Kernels::OfH100, precision);
            if precision == Precision::F32 {
                let narrow = Model { head_size: head_size.min(128), ..model.clone() };
                check(&gpu, &narrow, tolerance);
            } else {
                check(&gpu, &model, tolerance);
            }
        }
    }
}

/// As in Qwen3: RMSNorm before each half, also of queries and keys, and causal attention of shared keys.
#[test]
fn decoders() {
    for (head_size, heads) in [(128, 4), (64, 3), (36, 2)] {
        let model = Model {
            lengths: vec![66, 1, 0, 130],
            width: 72,
            heads,
            head_size,
            norms_heads: true,
            rotates: true,
            window: (None, Some(0)),
            has_bias: false,
            centers: false,
            gates: true,
            placement: NormPlacement::Before,
            first_placement: NormPlacement::Before,
            activation: Activation::Silu,
            prefix: 0,
            ..long()
        };
        for (precision, tolerance) in PRECISIONS {
            check(&gpu(Kernels::OfH100, precision), &model, tolerance);
        }
    }
}

/// As on a GPU for graphics.
fn with_little_shared_memory(precision: Precision) -> Cuda {
    let devices = Devices::shim(&[256 << 20]);
    devices.limit_shared_bytes(99 << 10);
    Cuda::new(devices.iter().next().unwrap().clone(), precision).unwrap()
}

#[test]
fn little_shared_memory_is_enough_in_f16_and_for_usual_heads() {
    for (precision, head_size) in [(Precision::F16, 128), (Precision::F32, 64)] {
        let model = Model { lengths: vec![70, 1], head_size, ..long() };
        let tolerance = PRECISIONS.iter().find(|(other, _)| *other == precision).unwrap().1;
        check(&with_little_shared_memory(precision), &model, tolerance);
    }
}

#[test]
#[should_panic(expected = "TooLittleSharedMemory")]
fn large_heads_in_f32_need_more_shared_memory_than_some_gpus_have() {
    let model = Model { lengths: vec![5], head_size: 128, ..long() };
    let backend = &with_little_shared_memory(Precision::F32);
    model.run_in(backend, &mut backend.scratch(), 0, 1);
}

/// Scores far apart: the softmax of each query is nearly one key's.
#[test]
fn extreme_scores() {
    let model = Model { sharpness: 30.0, lengths: vec![150, 2], ..long() };
    check(&gpu(Kernels::OfH100, Precision::F32), &model, 2e-3);
}

#[test]
fn a_session_allocates_nothing_for_batches_that_are_not_larger() {
    // Other tests allocate on the machine's GPU meanwhile.
    let devices = Devices::shim(&[256 << 20]);
    let backend = &Cuda::new(devices.iter().next().unwrap().clone(), Precision::F16).unwrap();
    let model = Model { lengths: vec![20, 30], ..long() };
    let mut scratch = backend.scratch();
    model.run_in(backend, &mut scratch, 0, 1);
    let free = backend.device.free_bytes().unwrap();
    for lengths in [vec![50], vec![1, 2, 3], vec![20, 30]] {
        Model { lengths, ..model.clone() }.run_in(backend, &mut scratch, 0, 1);
        assert_eq!(backend.device.free_bytes().unwrap(), free);
    }
}

/// Else two sessions that begin together end together, and the device waits while both prepare.
#[test]
fn steps_of_two_sessions_do_not_mix() {
    let devices = Devices::shim(&[256 << 20]);
    let backend = &Cuda::new(devices.iter().next().unwrap().clone(), Precision::F16).unwrap();
    let steps: Mutex<Vec<(ThreadId, &str)>> = Mutex::default();
    let steps = Arc::new(steps);
    let (seen, both) = (steps.clone(), &Barrier::new(2));
    let watcher: Watcher = Arc::new(move |step| {
        if step.seconds.is_none() {
            seen.lock().unwrap().push((std::thread::current().id(), step.kernel));
        }
    });
    devices.watched(&watcher, || {
        std::thread::scope(|scope| {
            for lengths in [vec![3, 1], vec![2]] {
                scope.spawn(move || {
                    let model = Model { lengths, poolings: &[Pooling::Mean], ..long() };
                    let mut scratch = backend.scratch();
                    both.wait();
                    for _ in 0..4 {
                        model.run_in(backend, &mut scratch, 0, 1);
                    }
                });
            }
        });
    });
    let steps = steps.lock().unwrap();
    let batches: Vec<_> = steps.chunk_by(|(_, _), (_, next)| !next.contains("embed")).collect();
    assert_eq!(batches.len(), 8, "{steps:?}");
    for batch in batches {
        let thread = batch[0].0;
        assert!(batch.len() > 3 && batch.iter().all(|&(other, _)| other == thread), "{batch:?}");
        assert!(batch.iter().any(|(_, kernel)| kernel.contains("rows_f32")), "with the head: {batch:?}");
    }
}

#[test]
fn budgets_follow_the_memory() {
    let tokens = |bytes: u64| {
        let devices = Devices::shim(&[bytes]);
        let backend = Cuda::new(devices.iter().next().unwrap().clone(), Precision::F16).unwrap();
        let layer = Layer::new(1, 1000, 10, false);
        let _layer = backend.linear(layer.parameters(), Place::Inner).unwrap();
        backend.work().batch_tokens
    };
    assert_eq!(tokens(1 << 30), 384, "a tile of rows for each multiprocessor");
    let little = tokens(1 << 20);
    assert!((20..384).contains(&little), "{little}");
}

/// The other half is for a search.
#[test]
fn two_sessions_take_half_of_the_free_memory() {
    let devices = Devices::shim(&[820_000]);
    let device = devices.iter().next().unwrap();
    let backend = Cuda::new(device.clone(), Precision::F16).unwrap();
    let row = [0.5; 96];
    let tables = [backend.table(Matrix { values: &row, rows: 1, columns: 96 }).unwrap()];
    let norm = NormParameters { weight: &row, bias: None, epsilon: 1e-5, centers: true };
    let norm = backend.norm(norm).unwrap();
    let (free, tokens) = (device.free_bytes().unwrap(), backend.work().batch_tokens);
    assert!((257..384).contains(&tokens), "{tokens}: the next power of two is more than fill the device");
    let _sessions = [(); 2].map(|()| {
        let mut scratch = backend.scratch();
        let batch = backend.batch(vec![vec![0; tokens]], Sequences::from_lengths([tokens])).unwrap();
        let stream = backend.embed(&mut scratch, &batch, &tables, &norm, NormPlacement::After).unwrap();
        backend.to_host(&mut scratch, stream.residual, &mut Vec::new()).unwrap();
        scratch
    });
    let left = device.free_bytes().unwrap();
    assert!((free * 2 / 5..free * 3 / 5).contains(&left), "{left} of {free}");
}

/// Otherwise every query would ask the driver.
#[test]
fn a_budget_is_planned_once() {
    let devices = Devices::shim(&[1 << 20]);
    let device = devices.iter().next().unwrap();
    let backend = Cuda::new(device.clone(), Precision::F16).unwrap();
    let _layer = backend.linear(Layer::new(1, 1000, 10, false).parameters(), Place::Inner).unwrap();
    let planned = backend.work();
    let _other: Memory<u8> = Memory::new(device, 900_000).unwrap();
    assert_eq!(backend.work(), planned);
}

#[test]
fn what_a_gpu_cannot_do_is_an_error() {
    let devices = Devices::shim(&[300_000]);
    let device = devices.iter().next().unwrap();
    let error = Cuda::new(device.clone(), Precision::Int8).unwrap_err();
    assert_eq!(error, NnError::GpuPrecision(Precision::Int8));
    let backend = Cuda::new(device.clone(), Precision::F32).unwrap();
    let table = backend.table(Matrix { values: &[1.0; 12], rows: 2, columns: 6 }).unwrap();
    let unit = NormParameters { weight: &[1.0; 6], bias: None, epsilon: 1e-5, centers: true };
    let norm = backend.norm(unit).unwrap();
    let mut scratch = backend.scratch();
    let embed = |scratch: &mut _, rows: Vec<u32>, table| {
        let sequences = Sequences::from_lengths([rows.len()]);
        let batch = backend.batch(vec![rows], sequences).unwrap();
        backend.embed(scratch, &batch, table, &norm, NormPlacement::After)
    };
    let table = [table];
    assert!(matches!(embed(&mut scratch, vec![0, 2], &table), Err(NnError::Shape(_))), "row 2 of 2");
    assert!(embed(&mut scratch, vec![0, 1], &table).is_ok());
    let error = embed(&mut scratch, vec![1; 50_000], &table).unwrap_err();
    assert!(error.to_string().contains("a batch of 50000 tokens"), "{error}");
    assert!(embed(&mut scratch, vec![0, 1], &table).is_ok(), "after an error of memory");
    assert_eq!(Number::of(Precision::F32), Ok(Number::F32));
}
