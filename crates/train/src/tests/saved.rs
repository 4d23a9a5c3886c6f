//! What a saved model says of itself: lengths, prompts and steps after the transformer as in training.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;

use toller_checkpoint::KnownModel;
use toller_encoder::{CrossEncoder, CrossEncoderOptions, DualEncoder, LoadOptions};
use toller_ir::Role;
use toller_tokenizer::PairTruncation;

use super::run::{Toy, run, settings};
use crate::{
    Compute, CrossLoss, DualLoss, ExampleFile, Length, Model, Settings, Similarity, Source, Task, Titles,
    TrainError, Trainer, Warmup,
};

fn one_step() -> Settings {
    Settings { length: Length::Steps(1), warmup: Warmup::Steps(0), ..settings() }
}

/// Trains a dual encoder by the inner product.
fn train(toy: &Toy, encoder: DualEncoder, untied: bool, name: &str) {
    let model = Model::dual(&encoder, untied, None, &Compute::Cpu).unwrap();
    let loss = DualLoss::Contrastive { temperature: 1.0, in_batch: true, symmetric: false };
    let titles = Titles::Joined(" ".to_owned());
    let task = Task::Dual { encoder, similarity: Similarity::Dot, loss, titles };
    run(toy.trainer(task, model, None, one_step(), name).unwrap(), u64::MAX);
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
fn a_trained_model_is_trained_again() {
    let Some(mut toy) = Toy::new("bert-mean") else { return };
    let load = |model: &Path| DualEncoder::load(model, &LoadOptions::default()).unwrap();
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
