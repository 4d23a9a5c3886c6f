//! Whole runs: what is learned, what is saved, and what an interruption leaves.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use toller_encoder::{CrossEncoder, CrossEncoderOptions, DualEncoder, LoadOptions, TextPooling, TitleMode};
use toller_ir::Role;

use crate::claim::check_output;
use crate::{
    Chunks, Compute, CrossLoss, Dev, DualLoss, DualRun, Ending, ExampleFile, Length, Model, Optimizer, Plan,
    Rates, Report, Rule, Schedule, Settings, Similarity, Source, StepReport, Task, TrainError, Trainer,
    Warmup,
};

pub(super) const TOPICS: [&str; 12] =
    ["rain", "guns", "ducks", "snow", "music", "trains", "bread", "paper", "glass", "ships", "roads", "gold"];

pub(super) fn query(topic: &str) -> String {
    format!("where is {topic} from")
}

pub(super) fn passage(topic: &str) -> String {
    format!("It is said that {topic} was first seen in the south, long ago.")
}

pub(super) fn settings() -> Settings {
    Settings {
        length: Length::Steps(7),
        batch_size: 4,
        accumulate: 1,
        negatives: 1,
        rate: 2e-3,
        schedule: Schedule::Linear,
        warmup: Warmup::Steps(1),
        optimizer: Optimizer::new(Rule::AdamW),
        dropout: Rates::all(0.1),
        perturbation: None,
        seed: 11,
        chunks: Chunks::Bytes(1 << 30),
        save_every: 3,
        keep: 2,
        no_duplicates: false,
    }
}

/// A model and examples over the topics.
pub(super) struct Toy {
    folder: tempfile::TempDir,
    pub(super) model: PathBuf,
}

impl Toy {
    pub(super) fn new(model: &str) -> Option<Self> {
        let model = super::model(model)?;
        let folder = tempfile::tempdir().unwrap();
        let line = |(index, topic): (usize, &&str)| {
            let other = TOPICS[(index + 5) % TOPICS.len()];
            let columns = serde_json::json!({"anchor": query(topic), "positive": passage(topic), "negative": passage(other)});
            format!("{columns}\n")
        };
        let lines: String = TOPICS.iter().enumerate().map(line).collect();
        fs::write(folder.path().join("data.jsonl"), lines).unwrap();
        Some(Self { folder, model })
    }

    pub(super) fn output(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn dual(&self, settings: Settings, name: &str) -> Result<Trainer, TrainError> {
        let (task, model) = self.dual_task();
        self.trainer(task, model, None, settings, name)
    }

    /// A task of contrastive learning, and its model before training.
    pub(super) fn dual_task(&self) -> (Task, Model) {
        self.dual_task_on(&Compute::Cpu)
    }

    pub(super) fn dual_task_on(&self, compute: &Compute) -> (Task, Model) {
        let encoder = DualEncoder::load(&self.model, &LoadOptions::default()).unwrap();
        Self::contrastive(encoder, compute)
    }

    fn contrastive(encoder: DualEncoder, compute: &Compute) -> (Task, Model) {
        let model = Model::dual(&encoder, false, None, compute).unwrap();
        // DPR's layout has no place for the scaling of vectors.
        let similarity = if encoder.shares_weights() { Similarity::Cosine } else { Similarity::Dot };
        let task = Task::Dual {
            encoder,
            similarity,
            loss: DualLoss::Contrastive { temperature: 0.05, in_batch: true, symmetric: false },
            titles: TitleMode::default(),
        };
        (task, model)
    }

    pub(super) fn trainer(
        &self,
        task: Task,
        model: Model,
        dev: Option<Dev>,
        settings: Settings,
        name: &str,
    ) -> Result<Trainer, TrainError> {
        let file = ExampleFile::open(&self.output("data.jsonl"))?;
        Trainer::new(task, model, Source::new(vec![file], None, None), dev, settings, &self.output(name))
    }
}

/// Runs to the end, or until a step.
pub(super) fn run(mut trainer: Trainer, until: u64) -> (Ending, Vec<StepReport>) {
    let stop = AtomicBool::new(false);
    let mut reports = Vec::new();
    let ending = trainer.run(&stop, "card", |report| {
        if let Report::Step(step) = report {
            reports.push(*step);
            stop.store(step.step >= until, Ordering::Relaxed);
        }
    });
    (ending.unwrap(), reports)
}

/// The share of topics whose passage is the nearest to their query.
pub(super) fn accuracy(model: &Path) -> f64 {
    let encoder = DualEncoder::load(model, &LoadOptions::default()).unwrap();
    let vectors = |role: Role, text: fn(&str) -> String| {
        let tower = encoder.tower(role);
        let tokens: Vec<_> = TOPICS.iter().map(|topic| tower.tokenize(&text(topic)).unwrap()).collect();
        tower.encode(&tokens).unwrap().chunks_exact(tower.dim()).map(<[f32]>::to_vec).collect::<Vec<_>>()
    };
    let (queries, passages) = (vectors(Role::Query, query), vectors(Role::Passage, passage));
    let score = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let hits = queries.iter().enumerate().filter(|(index, query)| {
        let own = score(query, &passages[*index]);
        passages.iter().enumerate().all(|(other, passage)| other == *index || score(query, passage) < own)
    });
    hits.count() as f64 / TOPICS.len() as f64
}

#[test]
fn a_dual_encoder_learns() {
    // The model of the repository is too small to learn it.
    if toller_testing::shared("golden/bert-mean").is_none() {
        return;
    }
    let Some(toy) = Toy::new("bert-mean") else { return };
    let settings = Settings { length: Length::Steps(120), dropout: Rates::default(), ..settings() };
    let (ending, reports) = run(toy.dual(settings, "out").unwrap(), u64::MAX);
    assert_eq!((ending, reports.len()), (Ending::Trained, 120));
    let mean = |reports: &[StepReport]| reports.iter().map(|r| r.loss).sum::<f64>() / reports.len() as f64;
    let (first, last) = (mean(&reports[..6]), mean(&reports[114..]));
    assert!(last < 0.5 * first, "a loss of {last} after {first}");
    let (before, after) = (accuracy(&toy.model), accuracy(&toy.output("out")));
    assert!(after > 0.9 && after > before + 0.3, "{before} of the topics were found before, {after} after");
    let log = fs::read_to_string(toy.output("out/log.jsonl")).unwrap();
    assert_eq!(log.lines().count(), 120);
    assert!(toy.output("out/2_Dense/model.safetensors").is_file() && toy.output("out/README.md").is_file());
}

#[test]
fn the_saved_model_encodes_as_the_trained_one() {
    let Some(mut toy) = Toy::new("bert-mean") else { return };
    let fixture = |name: &str| toller_testing::repository("tests/fixtures").join(name);
    // A model as transformers saves it.
    let plain = toy.output("plain");
    fs::create_dir(&plain).unwrap();
    for name in ["config.json", "model.safetensors", "tokenizer.json"] {
        fs::copy(fixture("tiny-bert").join(name), plain.join(name)).unwrap();
    }
    for (number, (model, pooling, saved)) in [
        (toy.model.clone(), Some("cls"), "cls"),
        (toy.model.clone(), None, "mean"),
        (plain.clone(), Some("max"), "max"),
    ]
    .into_iter()
    .enumerate()
    {
        toy.model = model;
        let pooling = pooling.and_then(TextPooling::from_name);
        let (max_length, query_max_length) = (Some(17), Some(9));
        let options = LoadOptions { pooling, max_length, query_max_length, ..LoadOptions::default() };
        let encoder = DualEncoder::load(&toy.model, &options).unwrap();
        let (task, model) = Toy::contrastive(encoder, &Compute::Cpu);
        let name = format!("out-{number}");
        let settings = Settings { length: Length::Steps(1), warmup: Warmup::Share(0.1), ..settings() };
        run(toy.trainer(task, model, None, settings, &name).unwrap(), u64::MAX);
        let trained = DualEncoder::load(&toy.output(&name), &LoadOptions::default()).unwrap();
        let tower = trained.tower(Role::Passage);
        assert_eq!(tower.pooling(), saved, "{}", toy.model.display());
        assert_eq!(tower.max_length(), 17, "the longer one, that of passages");
        let before = DualEncoder::load(&toy.model, &LoadOptions::default()).unwrap();
        assert_ne!(trained.fingerprint(), before.fingerprint(), "the only step learned");
    }
    toy.model = fixture("models/bert-pooler");
    let pooler = LoadOptions { pooling: TextPooling::from_name("pooler"), ..LoadOptions::default() };
    let encoder = DualEncoder::load(&toy.model, &pooler).unwrap();
    let (task, model) = Toy::contrastive(encoder, &Compute::Cpu);
    let refused = toy.trainer(task, model, None, settings(), "no").err();
    assert!(matches!(&refused, Some(TrainError::Pooling(pooling)) if pooling == "pooler"), "{refused:?}");
    if let Some(dpr) = Toy::new("mbert-dpr") {
        let (mut task, model) = dpr.dual_task();
        if let Task::Dual { similarity, .. } = &mut task {
            *similarity = Similarity::Cosine;
        }
        let refused = dpr.trainer(task, model, None, settings(), "no").err();
        assert!(matches!(refused, Some(TrainError::Scaling)), "{refused:?}");
    }
    assert!(!toy.output("no").exists());
}

#[test]
fn an_interrupted_run_ends_with_the_same_bytes() {
    let Some(toy) = Toy::new("mbert-dpr") else { return };
    let weights = |name: &str| {
        let files = ["question_encoder", "ctx_encoder"];
        files.map(|file| fs::read(toy.output(name).join(file).join("model.safetensors")).unwrap())
    };
    let settings = || Settings { accumulate: 2, ..settings() };
    assert_eq!(run(toy.dual(settings(), "whole").unwrap(), u64::MAX).0, Ending::Trained);
    for (name, stop) in [("stopped", 4), ("killed", 5)] {
        let (ending, reports) = run(toy.dual(settings(), name).unwrap(), stop);
        assert_eq!((ending, reports.len() as u64), (Ending::Stopped, stop));
        if name == "killed" {
            // As if the process had ended before its last checkpoint was complete.
            fs::remove_file(toy.output("killed/checkpoints/step-00000005.json")).unwrap();
        }
        let again = Settings { chunks: Chunks::Sequences(3), ..settings() };
        let trainer = toy.dual(again, name).unwrap();
        assert_eq!(trainer.step(), if name == "killed" { 3 } else { 4 });
        assert_eq!(run(trainer, u64::MAX).0, Ending::Trained);
        assert!(weights(name) == weights("whole"), "{name}");
        assert_eq!(fs::read_to_string(toy.output(name).join("log.jsonl")).unwrap().lines().count(), 7);
    }
}

#[test]
fn what_cannot_go_on_is_an_error() {
    let Some(toy) = Toy::new("mbert-dpr") else { return };
    run(toy.dual(settings(), "out").unwrap(), 3);
    let other = toy.dual(Settings { seed: 12, ..settings() }, "out").err();
    assert!(matches!(other, Some(TrainError::OtherRun { what, .. }) if what == "seed was 11, is 12"));
    let state = toy.output("out/checkpoints/step-00000003.bin");
    let mut bytes = fs::read(&state).unwrap();
    bytes[1000] ^= 1;
    fs::write(&state, bytes).unwrap();
    assert!(
        matches!(toy.dual(settings(), "out").err(), Some(TrainError::Damaged { .. })),
        "there is no other"
    );
    let trainer = toy.dual(settings(), "locked").unwrap();
    assert!(matches!(toy.dual(settings(), "locked").err(), Some(TrainError::Locked(_))));
    assert!(matches!(check_output(&toy.output("locked")), Err(TrainError::Locked(_))));
    drop(trainer);
    check_output(&toy.output("locked")).unwrap();
    check_output(&toy.output("new")).unwrap();
    assert!(!toy.output("new").exists());
    assert!(toy.dual(settings(), "locked").is_ok());
    // A run that ended before its first checkpoint holds its output for no other.
    fs::write(toy.output("locked/log.jsonl"), "{\"step\": 1}\n").unwrap();
    for seed in [12, 13, 13] {
        assert_eq!(toy.dual(Settings { seed, ..settings() }, "locked").unwrap().step(), 0);
        assert_eq!(fs::read_to_string(toy.output("locked/log.jsonl")).unwrap(), "");
    }
    fs::write(toy.output("locked/model.safetensors"), "").unwrap();
    let other = toy.dual(settings(), "locked").err();
    assert!(matches!(other, Some(TrainError::OtherRun { what, .. }) if what == "seed was 13, is 11"));
    // What a process leaves that is killed at its start.
    fs::create_dir(toy.output("left")).unwrap();
    for name in [".lock", ".run.json.k3Xw0b.tmp"] {
        fs::write(toy.output("left").join(name), "").unwrap();
    }
    assert!(toy.dual(settings(), "left").is_ok());
    fs::create_dir(toy.output("full")).unwrap();
    fs::write(toy.output("full/file"), "text").unwrap();
    assert!(matches!(toy.dual(settings(), "full").err(), Some(TrainError::OutputExists(_))));
    let large = Settings { batch_size: 13, ..settings() };
    assert!(matches!(toy.dual(large, "large").err(), Some(TrainError::TooFew { examples: 12, batch: 13 })));
    let alone = Settings { batch_size: 1, negatives: 0, ..settings() };
    assert!(matches!(toy.dual(alone, "alone").err(), Some(TrainError::Options { .. })));
    assert!(!toy.output("alone").exists());
    let endless = Settings { warmup: Warmup::Steps(7), ..settings() };
    let error = toy.dual(endless, "endless").err();
    assert!(matches!(error, Some(TrainError::Warmup { warmup: 7, steps: 7 })));
    assert!(!toy.output("endless").exists());
}

#[test]
fn a_model_that_has_diverged_is_not_saved() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let diverging = |steps: u64, save_every: u64| Settings {
        rate: 1e39,
        warmup: Warmup::Steps(0),
        length: Length::Steps(steps),
        save_every,
        ..settings()
    };
    for (name, settings) in [("last", diverging(1, 0)), ("checkpoint", diverging(9, 1))] {
        let error = toy.dual(settings, name).unwrap().run(&false.into(), "", |_| ()).err().unwrap();
        assert_eq!(error.to_string(), "the weights of step 1 are not finite");
        assert!(!toy.output(name).join("model.safetensors").exists(), "{name}");
        assert_eq!(toller_files::names_in(&toy.output(name).join("checkpoints")).unwrap(), [""; 0], "{name}");
    }
}

#[test]
fn a_trained_model_without_a_checkpoint_is_not_trained_again() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    run(toy.dual(settings(), "out").unwrap(), u64::MAX);
    assert!(run(toy.dual(settings(), "out").unwrap(), u64::MAX).1.is_empty(), "there is nothing to do");
    fs::remove_dir_all(toy.output("out/checkpoints")).unwrap();
    let refused = toy.dual(settings(), "out").err();
    assert!(matches!(refused, Some(TrainError::NoCheckpoint(_))), "{refused:?}");
    assert_eq!(fs::read_to_string(toy.output("out/log.jsonl")).unwrap().lines().count(), 7);
}

#[test]
fn a_tower_that_is_not_trained_takes_no_place() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let trainer = |name: &str| {
        let run =
            DualRun { model: toy.model.clone(), untie: true, only: Some(Role::Query), ..DualRun::default() };
        let Plan { task, model, .. } = run.open(&Compute::Cpu).unwrap();
        toy.trainer(task, model, None, settings(), name).unwrap()
    };
    let whole = trainer("whole");
    let gradients = whole.model().zeros();
    assert!(gradients[0].values().iter().all(|values| !values.is_empty()));
    assert!(gradients[1].values().iter().all(Vec::is_empty));
    let numbers: usize = gradients[0].values().iter().map(Vec::len).sum();
    run(whole, u64::MAX);
    run(trainer("out"), 4);
    let checkpoint = fs::metadata(toy.output("out/checkpoints/step-00000004.bin")).unwrap();
    assert_eq!(checkpoint.len(), 3 * 4 * numbers as u64, "parameters and two moments, of queries");
    run(trainer("out"), u64::MAX);
    let weights =
        |name: &str, tower: &str| fs::read(toy.output(name).join(tower).join("model.safetensors")).unwrap();
    for tower in ["question_encoder", "ctx_encoder"] {
        assert!(weights("out", tower) == weights("whole", tower), "{tower}");
    }
    assert!(weights("out", "question_encoder") != weights("out", "ctx_encoder"));
}

#[test]
fn a_damaged_checkpoint_is_not_the_end() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let settings = || Settings { save_every: 2, ..settings() };
    run(toy.dual(settings(), "whole").unwrap(), u64::MAX);
    run(toy.dual(settings(), "out").unwrap(), 4);
    let checkpoints = toy.output("out/checkpoints");
    let last = checkpoints.join("step-00000004.bin");
    let mut bytes = fs::read(&last).unwrap();
    bytes[1000] ^= 1;
    fs::write(&last, &bytes).unwrap();
    // What kills leave: a checkpoint without its manifest, and files that were not renamed yet.
    for name in ["step-00000005.bin", ".step-00000006.bin.nwZdNO.tmp"] {
        fs::write(checkpoints.join(name), &bytes).unwrap();
    }
    fs::write(toy.output("out/.training.svg.OlrxeK.tmp"), "").unwrap();
    let trainer = toy.dual(settings(), "out").unwrap();
    assert_eq!((trainer.step(), trainer.damaged().len()), (2, 1));
    let mut left = toller_files::names_in(&checkpoints).unwrap();
    left.sort_unstable();
    assert_eq!(left, ["step-00000002.bin", "step-00000002.json"]);
    assert!(!toy.output("out/.training.svg.OlrxeK.tmp").exists());
    run(trainer, u64::MAX);
    let weights = |name: &str| fs::read(toy.output(name).join("model.safetensors")).unwrap();
    assert!(weights("out") == weights("whole"));
}

#[test]
fn cross_encoders_learn() {
    for (name, losses) in [
        ("bert-ce", &[CrossLoss::Binary, CrossLoss::Listwise, CrossLoss::RankNet, CrossLoss::Lambda][..]),
        ("ernie-ce", &[CrossLoss::TwoLabels][..]),
        ("xlmr-ce", &[CrossLoss::Binary][..]),
    ] {
        for &loss in losses {
            let Some(toy) = Toy::new(name) else { return };
            let encoder = CrossEncoder::load(&toy.model, &CrossEncoderOptions::default()).unwrap();
            let model = Model::cross(&encoder, &Compute::Cpu).unwrap();
            let task = Task::Cross { encoder, loss, separator: " ".to_owned() };
            let settings = Settings { length: Length::Steps(60), dropout: Rates::default(), ..settings() };
            let (ending, reports) = run(toy.trainer(task, model, None, settings, "out").unwrap(), u64::MAX);
            assert_eq!(ending, Ending::Trained);
            let mean =
                |reports: &[StepReport]| reports.iter().map(|r| r.loss).sum::<f64>() / reports.len() as f64;
            let (first, last) = (mean(&reports[..6]), mean(&reports[54..]));
            assert!(last < 0.8 * first, "{name} {loss:?}: a loss of {last} after {first}");
            let trained = CrossEncoder::load(&toy.output("out"), &CrossEncoderOptions::default()).unwrap();
            let score = |topic: &str, of: &str| {
                trained.score(&[trained.tokenize_pair(&query(topic), &passage(of)).unwrap()]).unwrap()[0]
            };
            let right =
                (0..12).filter(|&i| score(TOPICS[i], TOPICS[i]) > score(TOPICS[i], TOPICS[(i + 5) % 12]));
            let right = right.count();
            assert!(right >= 9, "{name} {loss:?}: {right} of 12 positives are above their negatives");
        }
    }
}

#[test]
fn a_step_follows_the_gradient_at_perturbed_embeddings() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let values = |trainer: &Trainer| -> Vec<Vec<f32>> {
        trainer.model().towers()[0].weights().parameters().iter().map(|p| p.values.clone()).collect()
    };
    let of = |perturbation: Option<f64>, name: &str| {
        // A step so small that it changes no number: what is left is what the perturbation leaves.
        let (length, warmup) = (Length::Steps(1), Warmup::Steps(0));
        let settings = Settings { perturbation, rate: 1e-30, length, warmup, ..settings() };
        let mut trainer = toy.dual(settings, name).unwrap();
        let before = values(&trainer);
        let mut step = None;
        let on_report = |report: Report<'_>| {
            if let Report::Step(report) = report {
                step = Some(*report);
            }
        };
        trainer.run(&false.into(), "", on_report).unwrap();
        assert!(values(&trainer) == before, "the embeddings are put back to the bit");
        step.unwrap()
    };
    let (plain, zero) = (of(None, "plain"), of(Some(1e-30), "zero"));
    assert_eq!((plain.loss, plain.norm), (zero.loss, zero.norm));
    // To first order, the loss grows by epsilon times the norm of the embeddings' gradient.
    let growth = |epsilon: f64, name: &str| (of(Some(epsilon), name).loss - plain.loss) / epsilon;
    let (near, far) = (growth(1e-3, "near"), growth(4e-3, "far"));
    assert!(near > 0.0 && near < plain.norm, "{near} of a gradient of norm {}", plain.norm);
    assert!((near - far).abs() < 0.1 * near, "{near} {far}");
}
