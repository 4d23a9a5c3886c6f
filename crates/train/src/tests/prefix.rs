//! Prefixes: nothing else is trained, and they are saved as PEFT does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;

use safetensors::SafeTensors;
use toller_encoder::{DualEncoder, LoadOptions, NewPrefix, TitleMode};
use toller_ir::Role;

use super::run::{Toy, accuracy, run, settings};
use crate::{
    Compute, DualLoss, Ending, Length, Model, Rates, Settings, Similarity, Task, TrainError, Trainer,
};

const NEW: Option<NewPrefix> = Some(NewPrefix { tokens: 6, seed: 3 });

fn load(folder: &Path, new_prefix: Option<NewPrefix>) -> DualEncoder {
    DualEncoder::load(folder, &LoadOptions { new_prefix, ..LoadOptions::default() }).unwrap()
}

fn trainer(
    toy: &Toy,
    new: Option<NewPrefix>,
    untied: bool,
    settings: Settings,
    name: &str,
) -> Result<Trainer, TrainError> {
    let encoder = load(&toy.model, new);
    let model = Model::dual(&encoder, untied, None, &Compute::Cpu).unwrap();
    let loss = DualLoss::Contrastive { temperature: 0.05, in_batch: true, symmetric: false };
    let titles = TitleMode::default();
    let task = Task::Dual { encoder, similarity: Similarity::Cosine, loss, titles };
    toy.trainer(task, model, None, settings, name)
}

/// The tensors of a file as f32 bytes.
fn tensors(path: &Path) -> Vec<(String, Vec<usize>, Vec<u8>)> {
    let bytes = fs::read(path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut tensors: Vec<_> = file
        .tensors()
        .into_iter()
        .map(|(name, view)| (name, view.shape().to_vec(), view.data().to_vec()))
        .collect();
    tensors.sort();
    tensors
}

#[test]
fn a_prefix_learns_and_the_model_stays_as_it_is() {
    let Some(mut toy) = Toy::new("bert-mean") else { return };
    let settings = Settings {
        length: Length::Steps(250),
        dropout: Rates::default(),
        rate: 2e-2,
        save_every: 0,
        ..settings()
    };
    let (ending, _) = run(trainer(&toy, NEW, false, settings.clone(), "out").unwrap(), u64::MAX);
    assert_eq!(ending, Ending::Trained);
    let (start, out) = (toy.model.clone(), toy.output("out"));
    let (before, after) = (accuracy(&start), accuracy(&out));
    assert!(after > before + 0.2, "{before} of the topics were found before, {after} after");

    let own = |folder: &Path| tensors(&folder.join("model.safetensors"));
    assert!(own(&out) == own(&start), "weights of the model");
    let prefix = tensors(&out.join("adapter_model.safetensors"));
    let [(name, shape, _)] = &prefix[..] else { panic!("{} tensors", prefix.len()) };
    assert_eq!((name.as_str(), shape[0]), ("prompt_embeddings", 6));
    let adapter: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join("adapter_config.json")).unwrap()).unwrap();
    assert_eq!((&adapter["peft_type"], &adapter["num_virtual_tokens"]), (&"PREFIX_TUNING".into(), &6.into()));
    assert!(fs::read_to_string(out.join("README.md")).unwrap().contains("card"));

    // Once more, from the trained prefix.
    toy.model = out;
    let more = Settings { length: Length::Steps(2), ..settings };
    run(trainer(&toy, None, false, more, "more").unwrap(), u64::MAX);
    assert!(own(&toy.output("more")) == own(&start));
    assert!(tensors(&toy.output("more/adapter_model.safetensors")) != prefix);
}

#[test]
fn two_encoders_get_two_prefixes() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    run(trainer(&toy, NEW, true, settings(), "out").unwrap(), u64::MAX);
    let of = |part: &str| tensors(&toy.output("out").join(part).join("adapter_model.safetensors"));
    assert!(of("question_encoder") != of("ctx_encoder"));
    assert_eq!(load(&toy.output("out"), None).tower(Role::Query).prefix_tokens(), 6);
}

#[test]
fn an_interrupted_run_ends_with_the_same_bytes() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let bytes = |name: &str| fs::read(toy.output(name).join("adapter_model.safetensors")).unwrap();
    run(trainer(&toy, NEW, false, settings(), "whole").unwrap(), u64::MAX);
    let (ending, _) = run(trainer(&toy, NEW, false, settings(), "parts").unwrap(), 2);
    assert_eq!(ending, Ending::Stopped);
    // The model's own weights are in no checkpoint.
    let checkpoint = fs::read_dir(toy.output("parts/checkpoints")).unwrap().map(|entry| entry.unwrap());
    let largest = checkpoint.map(|entry| entry.metadata().unwrap().len()).max().unwrap();
    assert_eq!(largest, 3 * bytes_of_prefix(&toy), "the prefix and two moments");
    let other = trainer(&toy, Some(NewPrefix { tokens: 6, seed: 4 }), false, settings(), "parts").err();
    assert!(matches!(other, Some(TrainError::OtherRun { .. })), "another prefix");
    let (ending, _) = run(trainer(&toy, NEW, false, settings(), "parts").unwrap(), u64::MAX);
    assert_eq!(ending, Ending::Trained);
    assert!(bytes("parts") == bytes("whole"));
}

#[test]
fn word_embeddings_that_are_not_trained_are_not_perturbed() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let perturbed = || Settings { perturbation: Some(0.01), ..settings() };
    let refused = trainer(&toy, NEW, false, perturbed(), "out").err();
    assert!(matches!(refused, Some(TrainError::NoEffect { setting: "perturb", .. })), "{refused:?}");
    assert!(!toy.output("out").exists());
    assert!(trainer(&toy, None, false, perturbed(), "whole").is_ok());
}

fn bytes_of_prefix(toy: &Toy) -> u64 {
    let [(_, _, ref bytes)] = tensors(&toy.output("whole/adapter_model.safetensors"))[..] else {
        panic!("one tensor is expected")
    };
    bytes.len() as u64
}
