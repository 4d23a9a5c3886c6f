//! Losses and gradients of whole models against PyTorch's, where it is installed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use safetensors::SafeTensors;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};
use toller_encoder::{
    CrossEncoder, CrossEncoderOptions, DualEncoder, LoadOptions, TokenClassifier, TokenClassifierOptions,
};
use toller_ir::Role;
use toller_tokenizer::Tokens;

use crate::loss::{CrossLoss, DualLoss, Groups, Similarity, token_loss};
use crate::model::{Chunks, Compute, Graded, Inputs, Model};

const QUERIES: [&str; 3] =
    ["what do tollers retrieve", "rain", "who plays music in the streets of the town?"];
const PASSAGES: [&str; 6] = [
    "Tollers retrieve ducks and passages.",
    "a gun",
    "Rain falls mainly in the plain, they said",
    "snow, snow",
    "Musicians, mostly; and on Sundays the band of the fire brigade",
    "bread and paper",
];

/// A batch of a model, and its loss here and in torch_gradients.py.
struct Case {
    name: String,
    folder: PathBuf,
    kind: &'static str,
    model: Model,
    inputs: Inputs,
    groups: Groups,
    grade: Grade,
    loss: Value,
}

type Grade = Box<dyn Fn(&Groups, [Vec<f64>; 2]) -> Graded>;

fn dual(name: &str, loss: DualLoss, similarity: Similarity, of_torch: (&str, f64)) -> Option<Case> {
    let folder = super::model(name)?;
    let encoder = DualEncoder::load(&folder, &LoadOptions::default()).unwrap();
    let tokens = |role: Role, texts: &[&str]| -> Vec<Tokens> {
        texts.iter().map(|text| encoder.tower(role).tokenize(text).unwrap()).collect()
    };
    let texts = [tokens(Role::Query, &QUERIES), tokens(Role::Passage, &PASSAGES)];
    let scores = vec![3.0, 1.0, -0.5, 2.0, 2.5, 0.1];
    let cosine = similarity == Similarity::Cosine;
    Some(Case {
        name: format!("{name} {loss:?}"),
        folder,
        kind: if encoder.shares_weights() { "modules" } else { "dpr" },
        model: Model::dual(&encoder, false, None, &Compute::Cpu).unwrap(),
        inputs: Inputs { texts, first: [0, 0] },
        groups: Groups { starts: vec![0, 2, 4, 6], scores, labels: Vec::new() },
        grade: Box::new(move |groups, results| loss.grade(groups, similarity, results).unwrap()),
        loss: json!({"name": of_torch.0, "temperature": of_torch.1, "cosine": cosine}),
    })
}

fn cross(name: &str, loss: CrossLoss, of_torch: &str) -> Option<Case> {
    let folder = super::model(name)?;
    let options = CrossEncoderOptions { label: Some(0), ..CrossEncoderOptions::default() };
    let encoder = CrossEncoder::load(&folder, &options).unwrap();
    let pair = |passage: &&str| encoder.tokenize_pair(QUERIES[0], passage).unwrap();
    let labels = vec![1.0, 0.0, 1.0, 0.0, 0.5, 0.0];
    Some(Case {
        name: format!("{name} {loss:?}"),
        folder,
        kind: "classifier",
        model: Model::cross(&encoder, &Compute::Cpu).unwrap(),
        inputs: Inputs { texts: [PASSAGES.iter().map(pair).collect(), Vec::new()], first: [0, 0] },
        groups: Groups { starts: vec![0, 2, 6], scores: Vec::new(), labels },
        grade: Box::new(move |groups, results| loss.grade(groups, results).unwrap()),
        loss: json!({"name": of_torch}),
    })
}

fn tokens(name: &str) -> Case {
    let folder = toller_testing::repository(&format!("tests/fixtures/token-classifiers/{name}"));
    let classifier = TokenClassifier::load(&folder, &TokenClassifierOptions::default()).unwrap();
    let text = |text: &&str| classifier.document(text, None).unwrap().windows.remove(0);
    let windows: Vec<_> = PASSAGES.iter().map(text).collect();
    let targets: Vec<Option<usize>> = windows
        .iter()
        .flat_map(|window| {
            let inside = window.first..window.first + window.tokens.len();
            (0..window.input.len()).map(move |at| inside.contains(&at).then_some(usize::from(at % 4 == 0)))
        })
        .collect();
    let of_torch: Vec<i64> = targets.iter().map(|target| target.map_or(-1, |target| target as i64)).collect();
    Case {
        name: format!("{name}, tokens"),
        folder,
        kind: "tokens",
        model: Model::tokens(&classifier, &Compute::Cpu).unwrap(),
        inputs: Inputs {
            texts: [windows.into_iter().map(|window| window.input).collect(), Vec::new()],
            first: [0, 0],
        },
        groups: Groups::default(),
        grade: Box::new(move |_, [logits, _]| token_loss(&targets, logits)),
        loss: json!({"name": "tokens", "targets": of_torch}),
    }
}

/// What PyTorch computes for each case: the loss, and the gradient of each parameter by folder and name.
fn torch(python: &Path, cases: &[Case]) -> Vec<(f64, BTreeMap<String, Vec<f32>>)> {
    let work = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..cases.len()).map(|index| work.path().join(index.to_string())).collect();
    for (case, path) in cases.iter().zip(&paths) {
        let texts = case.inputs.texts.each_ref().map(|texts| {
            texts.iter().map(|tokens| json!([tokens.input_ids, tokens.type_ids])).collect::<Vec<Value>>()
        });
        let Groups { starts, scores, labels } = &case.groups;
        let json = json!({
            "folder": case.folder, "kind": case.kind, "texts": texts, "loss": case.loss, "starts": starts,
            "scores": scores, "labels": labels,
        });
        fs::create_dir(path).unwrap();
        fs::write(path.join("case.json"), json.to_string()).unwrap();
    }
    let script = toller_testing::repository("crates/train/src/tests/torch_gradients.py");
    let files = paths.iter().map(|path| path.join("case.json"));
    let done = Command::new(python).arg(script).args(files).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let losses = String::from_utf8(done.stdout).unwrap();
    let gradients = |folder: &PathBuf| -> BTreeMap<String, Vec<f32>> {
        let bytes = fs::read(folder.join("model.safetensors")).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let values = |view: &TensorView<'_>| -> Vec<f32> {
            view.data().as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
        };
        file.tensors().iter().map(|(name, view)| (name.clone(), values(view))).collect()
    };
    losses.lines().map(|loss| loss.parse().unwrap()).zip(paths.iter().map(gradients)).collect()
}

/// Compares the loss and all gradients of a case.
fn check(case: &Case, expected_loss: f64, expected: &BTreeMap<String, Vec<f32>>) {
    let Case { name, model, .. } = case;
    let mut gradients = model.zeros();
    let graded = |results| Ok((case.grade)(&case.groups, results));
    let loss = model.gradient(&case.inputs, None, Chunks::Sequences(4), graded, &mut gradients).unwrap();
    let error = (loss - expected_loss).abs();
    assert!(error < 1e-6 * expected_loss.abs().max(1.0), "{name}: a loss of {loss} for {expected_loss}");
    let largest = |values: &[f32]| values.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
    let largest_of_all = expected.values().map(|values| largest(values)).fold(0.0, f32::max);
    for (tower, gradients) in model.towers().iter().zip(&gradients) {
        for (parameter, gradient) in tower.weights().parameters().iter().zip(gradients.values()) {
            let mut start = 0;
            for tensor in &parameter.tensors {
                let found = &gradient[start..start + tensor.len()];
                start += tensor.len();
                let file = tensor.folder.file_name().unwrap().to_string_lossy();
                let fits = |known: &&String| {
                    let (folder, known) = known.split_once('|').unwrap();
                    (folder.is_empty() || folder == file)
                        && (known.ends_with(&tensor.name) || tensor.name.ends_with(known))
                };
                let named: Vec<&String> = expected.keys().filter(fits).collect();
                assert_eq!(named.len(), 1, "{name}: {} of {file}: {named:?}", tensor.name);
                let expected = &expected[named[0]];
                // A gradient can be zero up to rounding, such as the gradient of the keys' biases.
                let allowed = 1e-4 * largest(expected) + 1e-6 * largest_of_all;
                let errors: Vec<f32> = found.iter().zip(expected).map(|(a, b)| a - b).collect();
                let worst = largest(&errors);
                assert!(worst <= allowed, "{name}: {}: off by {worst:e}, not {allowed:e}", tensor.name);
            }
        }
    }
}

#[test]
fn gradients_are_those_of_torch() {
    let Some(python) = toller_testing::peers("torch, transformers, safetensors") else { return };
    let contrastive =
        |temperature, symmetric| DualLoss::Contrastive { temperature, in_batch: true, symmetric };
    let divergence = DualLoss::Divergence { temperature: 1.0 };
    let cases = [
        dual("bert-mean", contrastive(0.05, false), Similarity::Cosine, ("contrastive", 0.05)),
        dual("bert-mean", contrastive(0.05, true), Similarity::Cosine, ("symmetric", 0.05)),
        dual("bert-mean", DualLoss::MarginMse, Similarity::Dot, ("margin-mse", 1.0)),
        dual("ernie-cls", divergence, Similarity::Dot, ("kl", 1.0)),
        dual("ernie-cls", contrastive(1.0, false), Similarity::Dot, ("contrastive", 1.0)),
        dual("xlmr-mean", contrastive(0.05, false), Similarity::Cosine, ("contrastive", 0.05)),
        dual("mbert-dpr", contrastive(1.0, false), Similarity::Dot, ("contrastive", 1.0)),
        cross("bert-ce", CrossLoss::Binary, "binary"),
        cross("bert-ce", CrossLoss::Lambda, "lambda"),
        cross("xlmr-ce", CrossLoss::Listwise, "listwise"),
        cross("xlmr-ce", CrossLoss::RankNet, "ranknet"),
        cross("ernie-ce", CrossLoss::TwoLabels, "two-labels"),
        Some(tokens("bert")),
        Some(tokens("roberta")),
    ];
    let cases: Vec<Case> = cases.into_iter().flatten().collect();
    let expected = torch(&python, &cases);
    assert_eq!(expected.len(), cases.len());
    for (case, (loss, gradients)) in cases.iter().zip(&expected) {
        check(case, *loss, gradients);
    }
}
