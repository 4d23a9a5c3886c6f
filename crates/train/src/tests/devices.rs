//! Training through candle against training on the CPU, for the same model, batches and masks.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use toller_encoder::{
    CrossEncoder, CrossEncoderOptions, DualEncoder, LoadOptions, TokenClassifier, TokenClassifierOptions,
};
use toller_ir::Role;
use toller_nn::{CandleDevice, Precision};
use toller_tokenizer::Tokens;

use super::run::{Toy, accuracy, run};
use crate::dropout::{Dropout, Rates};
use crate::{
    Chunks, Compute, DualLoss, Ending, Graded, Groups, Inputs, Length, Model, Settings, Similarity,
    TrainError,
};

const TEXTS: [&str; 5] = [
    "Tollers retrieve ducks and passages.",
    "a gun",
    "Rain falls mainly in the plain, they said",
    "snow, snow",
    "a dog",
];

/// The CPU several times, in the place of GPUs.
fn devices(count: usize, dtype: Precision) -> Compute {
    Compute::Candle { devices: vec![CandleDevice::cpu(); count], dtype }
}

/// A model trained where `compute` says, with a batch, and how its results are graded.
type Case = (&'static str, Box<dyn Fn(&Compute) -> Model>, Inputs);

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for name in ["bert-mean", "mbert-dpr"] {
        let Some(folder) = super::model(name) else { continue };
        let encoder = DualEncoder::load(&folder, &LoadOptions::default()).unwrap();
        let tokens = |role: Role, texts: &[&str]| -> Vec<Tokens> {
            texts.iter().map(|text| encoder.tower(role).tokenize(text).unwrap()).collect()
        };
        let texts = [tokens(Role::Query, &TEXTS[..2]), tokens(Role::Passage, &TEXTS[1..])];
        let model = move |compute: &Compute| Model::dual(&encoder, false, None, compute).unwrap();
        cases.push((name, Box::new(model), Inputs { texts, first: [0, 0] }));
    }
    let fixture = |name: &str| Some(toller_testing::repository("tests/fixtures/cross-encoders").join(name));
    // RoBERTa has dropout before both layers of its classifier, and DistilBERT none after attention.
    for (name, folder) in [
        ("bert-ce", super::model("bert-ce")),
        ("roberta", fixture("roberta")),
        ("distilbert", fixture("distilbert")),
    ] {
        let Some(folder) = folder else { continue };
        let options = CrossEncoderOptions { label: Some(0), ..CrossEncoderOptions::default() };
        let encoder = CrossEncoder::load(&folder, &options).unwrap();
        let pairs = TEXTS.iter().map(|text| encoder.tokenize_pair("what do tollers retrieve", text).unwrap());
        let texts = [pairs.collect(), Vec::new()];
        let model = move |compute: &Compute| Model::cross(&encoder, compute).unwrap();
        cases.push((name, Box::new(model), Inputs { texts, first: [0, 0] }));
    }
    let folder = toller_testing::repository("tests/fixtures/token-classifiers/bert");
    let classifier = TokenClassifier::load(&folder, &TokenClassifierOptions::default()).unwrap();
    let document = |text: &&str| classifier.document(text, None).unwrap().windows[0].input.clone();
    let texts = [TEXTS.iter().map(document).collect(), Vec::new()];
    let model = move |compute: &Compute| Model::tokens(&classifier, compute).unwrap();
    cases.push(("tokens", Box::new(model), Inputs { texts, first: [0, 0] }));
    cases
}

/// A loss whose gradient depends on all results, as in-batch negatives do: half the square of their sum with
/// weights.
fn grade([queries, passages]: [Vec<f64>; 2]) -> Result<Graded, TrainError> {
    let weight = |index: usize| (index as f64 + 0.5).sin();
    let all = || queries.iter().chain(&passages).enumerate();
    let sum: f64 = all().map(|(index, x)| weight(index) * x).sum();
    let mut slopes: Vec<f64> = all().map(|(index, _)| sum * weight(index)).collect();
    let of_passages = slopes.split_off(queries.len());
    Ok(Graded { loss: 0.5 * sum * sum, gradients: [slopes, of_passages] })
}

#[test]
fn gradients_are_those_of_the_cpu() {
    for (name, model, inputs) in cases() {
        for dropout in [None, Some(Dropout::new(Rates::all(0.1), 7, 3))] {
            let gradient = |compute: &Compute, chunks: Chunks| {
                let model = model(compute);
                let mut gradients = model.zeros();
                let loss = model.gradient(&inputs, dropout, chunks, grade, &mut gradients).unwrap();
                (loss, gradients)
            };
            let (expected_loss, expected) = gradient(&Compute::Cpu, Chunks::Bytes(1 << 30));
            for (count, chunks) in [
                (1, Chunks::Bytes(1 << 30)),
                (1, Chunks::Sequences(2)),
                (2, Chunks::Bytes(1 << 30)),
                (3, Chunks::Sequences(1)),
            ] {
                let what = format!("{name} on {count} devices in {chunks:?}, {dropout:?}");
                let (loss, found) = gradient(&devices(count, Precision::F32), chunks);
                // The sum is small by cancellation: candle's last bits, which depend on the processor, show.
                assert!(
                    (loss - expected_loss).abs() < 1e-4 * expected_loss.abs().max(1e-3),
                    "{what}: {loss}, not {expected_loss}"
                );
                let size = |values: &[f32]| values.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
                let all = || expected.iter().zip(&found).flat_map(|(a, b)| a.values().iter().zip(b.values()));
                let largest = all().map(|(expected, _)| size(expected)).fold(0.0, f32::max);
                assert!(largest > 0.0, "{what}");
                for (index, (expected, found)) in all().enumerate() {
                    let errors: Vec<f32> = expected.iter().zip(found).map(|(a, b)| a - b).collect();
                    let allowed = 1e-4 * size(expected) + 1e-5 * largest;
                    assert!(size(&errors) <= allowed, "{what}: parameter {index}: {}", size(&errors));
                }
            }
        }
    }
}

/// The settings of a short run with dropout.
fn settings(steps: u64) -> Settings {
    Settings {
        length: Length::Steps(steps),
        batch_size: 4,
        rate: 1e-3,
        chunks: Chunks::Sequences(3),
        ..Settings::new(Rates::all(0.1))
    }
}

#[test]
fn a_run_on_two_devices_has_the_losses_of_the_cpu_and_goes_on_after_a_stop() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let perturbed = Settings { perturbation: Some(0.01), ..settings(6) };
    let train = |settings: &Settings, compute: &Compute, name: &str, until: u64| {
        let (task, model) = toy.dual_task_on(compute);
        run(toy.trainer(task, model, None, settings.clone(), name).unwrap(), until)
    };
    let two = devices(2, Precision::F32);
    for (settings, name) in [(settings(6), "plain"), (perturbed, "perturbed")] {
        let (_, expected) = train(&settings, &Compute::Cpu, &format!("{name}-cpu"), u64::MAX);
        let (ending, found) = train(&settings, &two, name, u64::MAX);
        assert_eq!((ending, found.len()), (Ending::Trained, 6));
        for (expected, found) in expected.iter().zip(&found) {
            assert!((expected.loss - found.loss).abs() < 1e-3, "{name}: {found:?} for {expected:?}");
        }
        let (ending, first) = train(&settings, &two, &format!("{name}-stopped"), 2);
        assert_eq!((ending, first.len()), (Ending::Stopped, 2));
        let (ending, rest) = train(&settings, &two, &format!("{name}-stopped"), u64::MAX);
        assert_eq!(ending, Ending::Trained);
        let losses = first.iter().chain(&rest).map(|report| report.loss).zip(&found);
        losses
            .for_each(|(loss, found)| assert!((loss - found.loss).abs() < 1e-5, "{name}: {loss} {found:?}"));
    }
    let (_, model) = toy.dual_task_on(&Compute::Cpu);
    assert!(model.devices().is_none());
    let (task, model) = toy.dual_task();
    let error = toy.trainer(task, model, None, settings(6), "plain").err().unwrap();
    assert!(matches!(&error, TrainError::OtherRun { what, .. } if what == "not the same devices"), "{error}");
}

#[test]
fn bf16_learns_and_f16_is_refused() {
    // The model of the repository is too small to learn it.
    if toller_testing::shared("golden/bert-mean").is_none() {
        return;
    }
    let Some(toy) = Toy::new("bert-mean") else { return };
    let (task, model) = toy.dual_task_on(&devices(1, Precision::Bf16));
    assert_eq!(model.devices(), Some("bf16 by candle on the CPU"));
    let settings = Settings { chunks: Chunks::Bytes(1 << 30), ..settings(40) };
    let (ending, reports) = run(toy.trainer(task, model, None, settings, "bf16").unwrap(), u64::MAX);
    assert_eq!(ending, Ending::Trained);
    assert!(reports[39].loss < 0.5 * reports[0].loss, "{} after {}", reports[39].loss, reports[0].loss);
    assert!(accuracy(&toy.output("bf16")) > 0.5);

    let folder = toller_testing::repository("tests/fixtures/token-classifiers/bert");
    let classifier = TokenClassifier::load(&folder, &TokenClassifierOptions::default()).unwrap();
    let error = Model::tokens(&classifier, &devices(1, Precision::F16)).err().unwrap();
    assert_eq!(error.to_string(), "models are not trained in f16");
}

/// Each device has as many chunks as the others, of about the same size; a batch that fits has one a device.
#[test]
fn chunks_are_even() {
    let folder = toller_testing::repository("tests/fixtures/token-classifiers/bert");
    let classifier = TokenClassifier::load(&folder, &TokenClassifierOptions::default()).unwrap();
    let document = |text: &str| classifier.document(text, None).unwrap().windows[0].input.clone();
    let texts: Vec<Tokens> = TEXTS.iter().cycle().take(23).map(|text| document(text)).collect();
    let tokens =
        |range: &std::ops::Range<usize>| -> usize { texts[range.clone()].iter().map(Tokens::len).sum() };
    let longest = texts.iter().map(Tokens::len).max().unwrap();
    let inputs = Inputs { texts: [texts.clone(), Vec::new()], first: [0, 0] };
    for count in [1, 2, 3] {
        let model = Model::tokens(&classifier, &devices(count, Precision::F32)).unwrap();
        let bytes = model.towers()[0].weights().tape_bytes() * tokens(&(0..23));
        for (bytes, expected) in [(bytes, count), (bytes / (8 * count) + 1, 4 * count)] {
            let chunks = model.chunks(&inputs, Chunks::Bytes(bytes));
            let (found, all) = (chunks.len(), tokens(&(0..23)));
            assert!(
                found <= expected.next_multiple_of(count) && found + 1 >= expected,
                "{count}: {found} {expected}"
            );
            assert_eq!(chunks.iter().map(|[texts, _]| texts.len()).sum::<usize>(), 23);
            for [texts, _] in &chunks {
                assert!(tokens(texts) <= all / found + 2 * longest, "{count}: {texts:?}");
            }
        }
    }
}

/// Queries meet the passages of other devices: two devices have the same loss as one.
#[test]
fn negatives_cross_devices() {
    let Some(folder) = super::model("bert-mean") else { return };
    let encoder = DualEncoder::load(&folder, &LoadOptions::default()).unwrap();
    let tokens = |texts: &[&str]| -> Vec<Tokens> {
        texts.iter().map(|text| encoder.tower(Role::Query).tokenize(text).unwrap()).collect()
    };
    let inputs = Inputs { texts: [tokens(&TEXTS[..2]), tokens(&TEXTS[3..])], first: [0, 0] };
    let loss = DualLoss::Contrastive { temperature: 0.05, in_batch: true, symmetric: false };
    let groups = Groups { starts: vec![0, 1, 2], scores: Vec::new(), labels: Vec::new() };
    let losses: Vec<f64> = [1, 2]
        .into_iter()
        .map(|count| {
            let model = Model::dual(&encoder, false, None, &devices(count, Precision::F32)).unwrap();
            let grade = |results| loss.grade(&groups, Similarity::Dot, results);
            // Each device has a query and its passage; the other passage is on the other device.
            model.gradient(&inputs, None, Chunks::Sequences(1), grade, &mut model.zeros()).unwrap()
        })
        .collect();
    assert!(losses[0] > 0.0 && (losses[0] - losses[1]).abs() < 1e-5 * losses[0], "{losses:?}");
}
