//! What a saved model says of itself: lengths, prompts and steps after the transformer as in training.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use toller_checkpoint::{KnownModel, Parameters, Tensor};
use toller_encoder::{CrossEncoder, CrossEncoderOptions, DualEncoder, LoadOptions, TitleMode};
use toller_ir::Role;
use toller_tokenizer::PairTruncation;

use super::run::{Toy, run, settings};
use crate::{
    Compute, CrossLoss, DualLoss, DualRun, ExampleFile, Length, Model, Plan, Settings, Similarity, Source,
    Task, TrainError, Trainer, Warmup,
};

fn one_step() -> Settings {
    Settings { length: Length::Steps(1), warmup: Warmup::Steps(0), ..settings() }
}

/// Trains a dual encoder by the inner product.
fn train(toy: &Toy, encoder: DualEncoder, untied: bool, name: &str) {
    run(trainer(toy, encoder, untied, Similarity::Dot, name).unwrap(), u64::MAX);
}

fn trainer(
    toy: &Toy,
    encoder: DualEncoder,
    untied: bool,
    similarity: Similarity,
    name: &str,
) -> Result<Trainer, TrainError> {
    let model = Model::dual(&encoder, untied, None, &Compute::Cpu)?;
    let loss = DualLoss::Contrastive { temperature: 1.0, in_batch: true, symmetric: false };
    let task = Task::Dual { encoder, similarity, loss, titles: TitleMode::default() };
    toy.trainer(task, model, None, one_step(), name)
}

fn load(model: &Path) -> DualEncoder {
    DualEncoder::load(model, &LoadOptions::default()).unwrap()
}

/// A copy of the repository's model with these modules after its transformer, by folder and class. Its
/// pooling is in the first folder.
fn with_modules(to: &Path, modules: &[(&str, &str)]) {
    for (name, bytes) in
        toller_testing::files(&toller_testing::repository("tests/fixtures/tiny-bert")).unwrap()
    {
        let path = match name.strip_prefix("1_Pooling/") {
            Some(name) => to.join(modules[0].0).join(name),
            None => to.join(&name),
        };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let entry = |(folder, class): &(&str, &str)| json!({"path": folder, "type": format!("sentence_transformers.models.{class}")});
    let modules = [("", "Transformer")].iter().chain(modules).map(entry).collect::<Vec<Value>>();
    fs::write(to.join("modules.json"), Value::Array(modules).to_string()).unwrap();
}

fn said_similarity(model: &Path) -> Value {
    let text = fs::read(model.join("config_sentence_transformers.json")).unwrap();
    serde_json::from_slice::<Value>(&text).unwrap()["similarity_fn_name"].clone()
}

fn plain_copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for name in ["config.json", "model.safetensors", "tokenizer.json", "expected.jsonl"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

#[test]
fn what_a_manifest_adds_is_written() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let plain = toy.output("plain");
    plain_copy(&toller_testing::repository("tests/fixtures/tiny-bert"), &plain);
    let manifest = "source = \"org/e5\"\npooling = \"mean\"\nnormalize = true\nmax_length = 32\n\
                    [prompts]\nquery = \"query: \"\npassage = \"passage: \"\n";
    let known = Box::new(KnownModel::parse("e5", manifest).unwrap());
    let options = LoadOptions {
        max_length: Some(17),
        query_max_length: Some(9),
        known: Some(known),
        ..LoadOptions::default()
    };
    for untied in [false, true] {
        let name = format!("out-{untied}");
        train(&toy, DualEncoder::load(&plain, &options).unwrap(), untied, &name);
        let trained = DualEncoder::load(&toy.output(&name), &LoadOptions::default()).unwrap();
        let towers = [Role::Query, Role::Passage].map(|role| trained.tower(role));
        assert_eq!(towers.map(toller_encoder::TextEncoder::prompt), ["query: ", "passage: "]);
        assert!(towers.iter().all(|tower| tower.normalizes()), "untied: {untied}");
        let lengths = towers.map(toller_encoder::TextEncoder::max_length);
        assert_eq!(lengths, if untied { [9, 17] } else { [17, 17] });
    }
    // The vectors of the model before training are not copied.
    assert!(plain.join("expected.jsonl").is_file() && !toy.output("out-false/expected.jsonl").exists());
}

#[test]
fn prompts_that_are_given_are_trained_with_and_saved() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let plan = |model: &Path, query: Option<&str>, passage: Option<&str>| {
        let run = DualRun {
            model: model.to_owned(),
            query_prompt: query.map(str::to_owned),
            passage_prompt: passage.map(str::to_owned),
            ..DualRun::default()
        };
        run.open(&Compute::Cpu).unwrap()
    };
    let trainer = |query: Option<&str>, passage: Option<&str>| {
        let Plan { task, model, .. } = plan(&toy.model, query, passage);
        toy.trainer(task, model, None, one_step(), "out")
    };
    run(trainer(Some("ask: "), Some("say: ")).unwrap(), u64::MAX);
    let trained = load(&toy.output("out"));
    let prompts = [Role::Query, Role::Passage].map(|role| trained.tower(role).prompt());
    assert_eq!(prompts, ["ask: ", "say: "]);
    for (query, passage) in [(None, Some("say: ")), (Some("ask: "), None), (Some("q: "), Some("say: "))] {
        let error = trainer(query, passage).err().unwrap();
        assert!(matches!(error, TrainError::OtherRun { .. }), "{error}");
    }
    // The model's own prompts count where none is given, and an empty one is none.
    let again = |query: Option<&str>| {
        let Task::Dual { encoder, .. } = plan(&toy.output("out"), query, None).task else { panic!() };
        [Role::Query, Role::Passage].map(|role| encoder.tower(role).prompt().to_owned())
    };
    assert_eq!(again(None), ["ask: ", "say: "]);
    assert_eq!(again(Some("")), ["", "say: "]);
}

#[test]
fn prompts_without_a_place_are_refused() {
    let Some(mut toy) = Toy::new("bert-mean") else { return };
    toy.model = toller_testing::repository("tests/fixtures/models/dpr-projection");
    let run =
        DualRun { model: toy.model.clone(), query_prompt: Some("q: ".to_owned()), ..DualRun::default() };
    let Plan { task, model, .. } = run.open(&Compute::Cpu).unwrap();
    let refused = toy.trainer(task, model, None, one_step(), "out").err();
    assert!(matches!(refused, Some(TrainError::Prompts)), "{refused:?}");
}

#[test]
fn a_trained_model_is_trained_again() {
    let Some(mut toy) = Toy::new("bert-mean") else { return };
    let first = toy.model.clone();
    train(&toy, load(&first), false, "first");
    toy.model = toy.output("first");
    train(&toy, load(&toy.output("first")), false, "second");
    for name in ["run.json", "log.jsonl"] {
        let of = |run: &str| fs::read(toy.output(run).join(name)).unwrap();
        assert!(of("first") != of("second"), "{name} is of the second run");
    }
    // The same command goes on, and has nothing to do.
    train(&toy, load(&toy.output("first")), false, "second");
}

#[test]
fn cross_encoders_keep_their_length() {
    let Some(toy) = Toy::new("bert-ce") else { return };
    let trainer = |truncation: PairTruncation| {
        let options =
            CrossEncoderOptions { max_length: Some(21), truncation, ..CrossEncoderOptions::default() };
        let encoder = CrossEncoder::load(&toy.model, &options).unwrap();
        let model = Model::cross(&encoder, &Compute::Cpu).unwrap();
        let task = Task::Cross { encoder, loss: CrossLoss::Binary, separator: " ".to_owned() };
        let source = Source::new(vec![ExampleFile::open(&toy.output("data.jsonl")).unwrap()], None, None);
        Trainer::new(task, model, source, None, one_step(), &toy.output("out"))
    };
    run(trainer(PairTruncation::OnlySecond).unwrap(), u64::MAX);
    let other = trainer(PairTruncation::LongestFirst).err();
    assert!(matches!(other, Some(TrainError::OtherRun { .. })), "pairs that are cut in another way");
    let trained = CrossEncoder::load(&toy.output("out"), &CrossEncoderOptions::default()).unwrap();
    assert_eq!(trained.max_length(), 21);
}

#[test]
fn modules_may_have_folders_of_any_name() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let model = toy.output("model");
    with_modules(&model, &[("deep/pooling", "Pooling"), ("unit", "Normalize")]);
    train(&toy, load(&model), false, "out");
    let out = toy.output("out");
    assert_eq!(
        fs::read(out.join("deep/pooling/config.json")).unwrap(),
        fs::read(model.join("deep/pooling/config.json")).unwrap()
    );
    assert!(load(&out).tower(Role::Query).normalizes());
}

/// Not after the last step.
#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_copied_is_an_error_before_the_first_step() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let model = toy.output("model");
    with_modules(&model, &[("pooling", "Pooling")]);
    std::os::unix::fs::symlink(model.join("pruned"), model.join("pooling/extra.json")).unwrap();
    let error = trainer(&toy, load(&model), false, Similarity::Dot, "out").err().unwrap().to_string();
    assert!(error.contains("extra.json"), "{error}");
    assert!(!toy.output("out").exists());
}

#[test]
fn unit_vectors_that_a_dense_layer_follows_are_scaled_again() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let model = toy.output("model");
    with_modules(&model, &[("1_Pooling", "Pooling"), ("2_Normalize", "Normalize"), ("3_Dense", "Dense")]);
    let identity = "torch.nn.modules.linear.Identity";
    let config =
        json!({"in_features": 32, "out_features": 8, "bias": false, "activation_function": identity});
    let folder = model.join("3_Dense");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let weights = Tensor::new(vec![8, 32], (0..256).map(|x| (x as f32).sin()).collect()).unwrap();
    let weights = Parameters::from_tensors(&folder, [("linear.weight".to_owned(), weights)]);
    weights.write_changed(&folder.join("model.safetensors"), &[].into()).unwrap();
    let encoder = load(&model);
    assert!(!encoder.tower(Role::Query).normalizes());
    run(trainer(&toy, encoder, false, Similarity::Cosine, "out").unwrap(), u64::MAX);
    assert!(load(&toy.output("out")).tower(Role::Query).normalizes());
    assert_eq!(said_similarity(&toy.output("out")), "cosine");
}

#[test]
fn the_similarity_is_the_models_own_and_is_saved_as_trained() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let model = toy.output("model");
    let pooling = ("1_Pooling", "Pooling");
    let normalized = [pooling, ("2_Normalize", "Normalize")];
    let path = model.join("config_sentence_transformers.json");
    for (modules, said, expected) in [
        (&[pooling][..], json!({"similarity_fn_name": "cosine"}), Similarity::Cosine),
        (&[pooling], json!({"similarity_fn_name": "dot"}), Similarity::Dot),
        (&[pooling], json!({"similarity_fn_name": "euclidean"}), Similarity::Dot),
        (&[pooling], json!({}), Similarity::Dot),
        // Of unit vectors, the inner product is the cosine.
        (&normalized, json!({"similarity_fn_name": "dot"}), Similarity::Cosine),
        (&normalized, json!({}), Similarity::Cosine),
    ] {
        with_modules(&model, modules);
        fs::write(&path, said.to_string()).unwrap();
        let plan = DualRun { model: model.clone(), ..DualRun::default() }.open(&Compute::Cpu).unwrap();
        let Task::Dual { similarity, .. } = plan.task else { panic!() };
        assert_eq!(similarity, expected, "{modules:?} {said}");
    }
    with_modules(&model, &[pooling]);
    fs::write(&path, json!({"similarity_fn_name": "cosine"}).to_string()).unwrap();
    train(&toy, load(&model), false, "out");
    assert_eq!(said_similarity(&toy.output("out")), "dot");
}
