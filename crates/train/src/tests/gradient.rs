//! Gradients of whole models against central differences in f64, with dropout; and their bits.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use toller_encoder::{
    CrossEncoder, CrossEncoderOptions, DualEncoder, LoadOptions, TokenClassifier, TokenClassifierOptions,
};
use toller_ir::Role;
use toller_nn::Activation;
use toller_tokenizer::Tokens;

use super::reference::{Head, Reference, tensors};
use crate::loss::{CrossLoss, DualLoss, Groups, Similarity, token_loss};
use crate::model::{Chunks, Compute, Graded, Inputs, Model};
use crate::network::Gradients;
use crate::optimizer::{Moments, Optimizer, Rule, global_norm};
use crate::{Dropout, Rates};

const QUERIES: [&str; 2] = ["what do tollers retrieve", "rain"];
const PASSAGES: [&str; 4] = [
    "Tollers retrieve ducks and passages.",
    "a gun",
    "Rain falls mainly in the plain, they said",
    "snow, snow",
];

struct Case {
    model: Model,
    inputs: Inputs,
    grade: Box<dyn Fn([Vec<f64>; 2]) -> Graded>,
    references: Vec<Reference>,
}

fn reference(folder: &Path, model: &Model, tower: usize, head: Head) -> Reference {
    let config = std::fs::read_to_string(folder.join("config.json")).unwrap();
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    let number = |name: &str| config[name].as_u64().unwrap() as usize;
    Reference {
        tensors: tensors(model.towers()[tower].weights()),
        layers: number("num_hidden_layers"),
        heads: number("num_attention_heads"),
        hidden: number("hidden_size"),
        epsilon: config["layer_norm_eps"].as_f64().unwrap(),
        activation: config["hidden_act"].as_str().unwrap().parse::<Activation>().unwrap(),
        head,
    }
}

fn dual(name: &str, head: Head, loss: DualLoss, similarity: Similarity) -> Option<Case> {
    let folder = toller_testing::shared(&format!("golden/{name}"))?;
    let encoder = DualEncoder::load(&folder, &LoadOptions::default()).unwrap();
    let model = Model::dual(&encoder, false, None, &Compute::Cpu).unwrap();
    let tokens = |role: Role, texts: &[&str]| -> Vec<Tokens> {
        texts.iter().map(|text| encoder.tower(role).tokenize(text).unwrap()).collect()
    };
    let inputs =
        Inputs { texts: [tokens(Role::Query, &QUERIES), tokens(Role::Passage, &PASSAGES)], first: [0, 0] };
    // The recorder computes what the encoder computes.
    for (index, role) in [Role::Query, Role::Passage].into_iter().enumerate() {
        let expected = encoder.tower(role).encode(&inputs.texts[index]).unwrap();
        let found = model.results(index, &inputs.texts[index]).unwrap();
        let largest = expected.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        let close = |(a, b): (&f32, &f32)| (a - b).abs() < 2e-6 * largest;
        assert!(found.iter().zip(&expected).all(close), "vectors of {role:?}");
    }
    let groups = Groups { starts: vec![0, 2, 4], scores: vec![1.0, 0.5, 2.0, -1.0], labels: Vec::new() };
    let towers: &[&str] = if encoder.shares_weights() { &[""] } else { &["question_encoder", "ctx_encoder"] };
    let references = towers
        .iter()
        .enumerate()
        .map(|(tower, part)| reference(&folder.join(part), &model, tower, head))
        .collect();
    let grade = Box::new(move |results| loss.grade(&groups, similarity, results).unwrap());
    Some(Case { model, inputs, grade, references })
}

fn cross(name: &str) -> Option<Case> {
    let folder = toller_testing::shared(&format!("golden/{name}"))?;
    let encoder = CrossEncoder::load(&folder, &CrossEncoderOptions::default()).unwrap();
    let model = Model::cross(&encoder, &Compute::Cpu).unwrap();
    let pair = |passage: &&str| encoder.tokenize_pair(QUERIES[0], passage).unwrap();
    let inputs = Inputs { texts: [PASSAGES.iter().map(pair).collect(), Vec::new()], first: [0, 0] };
    let groups = Groups { starts: vec![0, 4], scores: Vec::new(), labels: vec![1.0, 0.0, 0.5, 0.0] };
    let references = vec![reference(&folder, &model, 0, Head::Classifier)];
    let grade = Box::new(move |results| CrossLoss::Binary.grade(&groups, results).unwrap());
    Some(Case { model, inputs, grade, references })
}

fn tokens() -> Case {
    let folder = toller_testing::repository("tests/fixtures/token-classifiers/bert");
    let classifier = TokenClassifier::load(&folder, &TokenClassifierOptions::default()).unwrap();
    let model = Model::tokens(&classifier, &Compute::Cpu).unwrap();
    let document = |text: &&str| classifier.document(text, None).unwrap();
    let documents: Vec<_> = PASSAGES.iter().map(document).collect();
    let texts: Vec<Tokens> = documents.iter().map(|document| document.windows[0].input.clone()).collect();
    // The recorder computes what the classifier computes.
    let rows = model.results(0, &texts).unwrap();
    let expected = classifier.logits(&documents[..1], 1).unwrap();
    let found = documents[0].gather(&rows[..2 * texts[0].len()], 2);
    assert!(found.iter().zip(&expected[0]).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?} {expected:?}");
    // Special tokens are at the edges; some tokens are the last of a segment.
    let target = |tokens: &Tokens| -> Vec<Option<usize>> {
        let is_edge = |at: usize| at == 0 || at == tokens.len() - 1;
        (0..tokens.len()).map(|at| (!is_edge(at)).then_some(usize::from(at % 3 == 0))).collect()
    };
    let targets = texts.iter().map(target).collect::<Vec<_>>().concat();
    let references = vec![reference(&folder, &model, 0, Head::Tokens)];
    let grade = Box::new(move |[logits, _]: [Vec<f64>; 2]| token_loss(&targets, logits));
    Case { model, inputs: Inputs { texts: [texts, Vec::new()], first: [0, 0] }, grade, references }
}

#[test]
fn dropout_is_where_transformers_has_it() {
    let folder = |name: &str| toller_testing::repository("tests/fixtures").join(name);
    let weights = |model: &Model| -> Vec<(bool, bool)> {
        let linears = &model.towers()[0].weights().linears;
        linears.iter().map(|layer| (layer.drops_input, layer.drops_output)).collect()
    };
    // A block has four layers: to queries, keys and values, from attention, and two of the feed-forward
    // network.
    for (name, dropped, after_attention) in [
        ("bert", 1, true),
        ("roberta", 2, true),
        ("xlm-roberta", 2, true),
        ("camembert", 2, true),
        ("electra", 2, true),
        ("distilbert", 1, false),
    ] {
        let folder = folder("cross-encoders").join(name);
        let options = CrossEncoderOptions { label: Some(0), ..CrossEncoderOptions::default() };
        let encoder = CrossEncoder::load(&folder, &options).unwrap();
        let drops = weights(&Model::cross(&encoder, &Compute::Cpu).unwrap());
        let inputs: Vec<bool> = drops.iter().map(|(input, _)| *input).collect();
        let (inside, head) = inputs.split_at(inputs.len() - dropped);
        assert!(head.iter().all(|drops| *drops) && !inside.contains(&true), "{name}: {inputs:?}");
        // Before the two layers of the classifier.
        let block = &drops[drops.len() - 6..drops.len() - 2];
        assert_eq!((block[1].1, block[3].1), (after_attention, true), "{name}: {drops:?}");
    }
    let encoder = DualEncoder::load(&folder("models/distilbert"), &LoadOptions::default()).unwrap();
    let drops = weights(&Model::dual(&encoder, false, None, &Compute::Cpu).unwrap());
    assert!(drops.iter().all(|(input, _)| !input) && !drops[1].1 && drops[3].1, "{drops:?}");
}

const CONTRASTIVE: DualLoss = DualLoss::Contrastive { temperature: 0.05, in_batch: true, symmetric: false };

fn all_cases() -> impl Iterator<Item = (&'static str, Case)> {
    let dpr = || dual("mbert-dpr", Head::Cls, CONTRASTIVE, Similarity::Cosine);
    [
        ("bert-mean", dual("bert-mean", Head::MeanDenseUnit, CONTRASTIVE, Similarity::Dot)),
        ("mbert-dpr", dpr()),
        ("bert-ce", cross("bert-ce")),
        ("tokens", Some(tokens())),
    ]
    .into_iter()
    .filter_map(|(name, case)| Some((name, case?)))
}

impl Case {
    fn gradient(&self, dropout: Option<Dropout>, chunks: Chunks) -> (f64, Vec<Gradients>) {
        let mut gradients = self.model.zeros();
        let grade = |results| Ok((self.grade)(results));
        let loss = self.model.gradient(&self.inputs, dropout, chunks, grade, &mut gradients).unwrap();
        (loss, gradients)
    }

    /// The loss of the references.
    fn expected(&self, references: &[Reference], dropout: Option<Dropout>) -> f64 {
        let of = |role: usize| {
            let reference = &references[role.min(references.len() - 1)];
            let texts = self.inputs.texts[role].iter().enumerate();
            texts
                .flat_map(|(index, tokens)| {
                    reference.forward(tokens, ((role as u64) << 40) + index as u64, dropout)
                })
                .collect()
        };
        (self.grade)([of(0), of(1)]).loss
    }
}

#[test]
fn gradients_are_central_differences() {
    for (name, mut case) in all_cases() {
        for rate in [0.0, 0.1] {
            let dropout = Some(Dropout::new(Rates::all(rate), 5, 3));
            let (loss, gradients) = case.gradient(dropout, Chunks::Bytes(usize::MAX));
            let mut references = std::mem::take(&mut case.references);
            let expected = case.expected(&references, dropout);
            assert!(
                (loss - expected).abs() < 1e-5 * expected.abs().max(1.0),
                "{name}: {loss} for {expected}"
            );
            for tower in 0..references.len() {
                let all = gradients[tower].values.iter().flatten();
                let largest_of_all = all.fold(0.0_f32, |largest, x| largest.max(x.abs()));
                let weights = case.model.towers()[tower].weights();
                for (parameter, gradient) in weights.parameters().iter().zip(&gradients[tower].values) {
                    let mut start = 0;
                    for tensor in &parameter.tensors {
                        let gradient = &gradient[start..start + tensor.len()];
                        start += tensor.len();
                        let mut order: Vec<usize> = (0..gradient.len()).collect();
                        order.sort_by(|&a, &b| gradient[b].abs().total_cmp(&gradient[a].abs()));
                        let largest = gradient[order[0]].abs();
                        for &element in [order[0], order[order.len() / 20], order[order.len() / 2]].iter() {
                            let mut at = |step: f64| {
                                references[tower].tensors.get_mut(&tensor.name).unwrap()[element] += step;
                                let loss = case.expected(&references, dropout);
                                references[tower].tensors.get_mut(&tensor.name).unwrap()[element] -= step;
                                loss
                            };
                            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                            let error = (slope - f64::from(gradient[element])).abs();
                            let allowed = 1e-4 * f64::from(largest) + 1e-6 * f64::from(largest_of_all);
                            assert!(
                                error < allowed,
                                "{name} at rate {rate}: {} [{element}]: {} for {slope}",
                                tensor.name,
                                gradient[element]
                            );
                        }
                    }
                }
            }
            case.references = references;
        }
    }
}

#[test]
fn steps_have_the_same_bits_in_any_chunks_and_on_any_threads() {
    type Make = fn() -> Option<Case>;
    let cases: [(&str, Make); 3] = [
        ("bert-mean", || dual("bert-mean", Head::MeanDenseUnit, CONTRASTIVE, Similarity::Cosine)),
        ("mbert-dpr", || dual("mbert-dpr", Head::Cls, CONTRASTIVE, Similarity::Cosine)),
        ("tokens", || Some(tokens())),
    ];
    for (name, make) in cases {
        let weights = |chunks: Chunks, threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut case = make()?;
                let optimizer = Optimizer::new(Rule::AdamW);
                let mut moments: Vec<Moments> =
                    case.model.towers().iter().map(|tower| Moments::zeros(tower.weights())).collect();
                for step in 1..=20 {
                    let dropout = Dropout::new(Rates::all(0.1), 1, step);
                    let (_, gradients) = case.gradient(Some(dropout), chunks);
                    let norm = global_norm(&gradients);
                    let towers = case.model.towers_mut().iter_mut();
                    for ((tower, gradients), moments) in towers.zip(&gradients).zip(&mut moments) {
                        let weights = tower.weights_mut().unwrap();
                        optimizer.apply(weights, gradients, moments, (step, 1e-3, norm));
                    }
                }
                let values = |tower: &crate::Tower| -> Vec<Vec<f32>> {
                    tower.weights().parameters().iter().map(|parameter| parameter.values.clone()).collect()
                };
                Some(case.model.towers().iter().flat_map(values).collect::<Vec<_>>())
            })
        };
        let plain = weights(Chunks::Bytes(usize::MAX), 1);
        for (chunks, threads) in [(Chunks::Bytes(usize::MAX), 2), (Chunks::Sequences(1), 2)] {
            assert!(weights(chunks, threads) == plain, "{name}: {chunks:?} on {threads} threads");
        }
        for chunks in [Chunks::Sequences(3), Chunks::Sequences(8), Chunks::Bytes(1)] {
            assert!(weights(chunks, 1) == plain, "{name}: {chunks:?}");
        }
    }
}

#[test]
fn every_tensor_that_trains_changes_and_no_other() {
    for (_, mut case) in all_cases() {
        let (_, gradients) = case.gradient(None, Chunks::Sequences(2));
        let optimizer = Optimizer::new(Rule::AdamW);
        let norm = global_norm(&gradients);
        for (tower, gradients) in case.model.towers_mut().iter_mut().zip(&gradients) {
            let before = tensors(tower.weights());
            let mut moments = Moments::zeros(tower.weights());
            optimizer.apply(tower.weights_mut().unwrap(), gradients, &mut moments, (1, 1e-3, norm));
            for (name, values) in tensors(tower.weights()) {
                assert_ne!(values, before[&name], "{name} does not learn");
            }
        }
    }
    let Some(folder) = toller_testing::shared("golden/mbert-dpr") else { return };
    let encoder = DualEncoder::load(&folder, &LoadOptions::default()).unwrap();
    let mut case = dual("mbert-dpr", Head::Cls, CONTRASTIVE, Similarity::Dot).unwrap();
    case.model = Model::dual(&encoder, false, Some(Role::Query), &Compute::Cpu).unwrap();
    let (_, gradients) = case.gradient(None, Chunks::Sequences(2));
    assert!(gradients[0].values.iter().all(|values| values.iter().any(|&x| x != 0.0)));
    assert!(gradients[1].values.iter().flatten().all(|&x| x == 0.0), "the frozen tower");
    assert!(case.model.trains(0) && !case.model.trains(1));
    let tied =
        super::model("bert-mean").map(|folder| DualEncoder::load(&folder, &LoadOptions::default()).unwrap());
    assert!(Model::dual(&tied.unwrap(), false, Some(Role::Query), &Compute::Cpu).is_err());
}

#[test]
fn a_batch_that_does_not_fit_is_divided_into_halves_of_what_does() {
    let Some(case) = dual("bert-mean", Head::MeanDenseUnit, CONTRASTIVE, Similarity::Dot) else { return };
    let [queries, passages] = &case.inputs.texts;
    let lengths: Vec<usize> = queries.iter().chain(passages).map(Tokens::len).collect();
    let bytes = case.model.towers()[0].weights().tape_bytes();
    let all = bytes * lengths.iter().sum::<usize>();
    assert_eq!(case.model.chunks(&case.inputs, Chunks::Bytes(all)), [[0..2, 0..4]]);
    let chunks = case.model.chunks(&case.inputs, Chunks::Bytes(all - 1));
    assert!(chunks.len() > 1);
    let mut next = 0;
    for [queries, passages] in chunks {
        let texts: Vec<usize> = queries.chain(passages.map(|passage| passage + 2)).collect();
        assert!(
            texts.iter().all(|&text| std::mem::replace(&mut next, text + 1) == text),
            "in order: {texts:?}"
        );
        let cost: usize = texts.iter().map(|&text| bytes * lengths[text]).sum();
        assert!(cost <= (all - 1) / 2 || texts.len() == 1, "{texts:?}");
    }
    assert_eq!(next, lengths.len());
}
