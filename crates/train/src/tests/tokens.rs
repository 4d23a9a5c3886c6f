//! Runs of token classifiers: what is learned from marked texts, what is saved, what an interruption leaves.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use toller_checkpoint::Parameters;
use toller_encoder::{CrossEncoder, CrossEncoderOptions, TokenClassifier, TokenClassifierOptions};

use super::run::{TOPICS, passage, run, settings};
use crate::{
    Chunks, Compute, Dev, Ending, Evaluation, Length, MarkedFile, MarkedSet, Model, Rates, Report, Settings,
    StepReport, TokenTask, TrainError, Trainer,
};

/// A model without a classifier of tokens, and texts of two segments.
struct Toy(tempfile::TempDir);

impl Toy {
    fn new() -> Self {
        let toy = Self(tempfile::tempdir().unwrap());
        let line = |(index, topic): (usize, &&str)| {
            let other = TOPICS[(index + 5) % TOPICS.len()];
            format!(
                "{}\n",
                serde_json::json!({"segments": [passage(topic), format!("Now {other}, now rain.")]})
            )
        };
        fs::write(toy.output("data.jsonl"), TOPICS.iter().enumerate().map(line).collect::<String>()).unwrap();
        toy
    }

    fn output(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn data(&self) -> MarkedFile {
        MarkedFile::open(&self.output("data.jsonl")).unwrap()
    }

    fn trainer(&self, model: &Path, settings: Settings, name: &str) -> Result<Trainer, TrainError> {
        let classifier = load(model, true);
        let network = Model::tokens(&classifier, &Compute::Cpu)?;
        let task = TokenTask::new(classifier, vec![self.data()])?;
        let set = MarkedSet::new(&task, &[self.data()])?.into();
        let dev = Dev { set, every: Some(20), patience: None, saves_last: true };
        Trainer::tokens(task, network, Some(dev), settings, &self.output(name))
    }
}

fn load(model: &Path, with_new_labels: bool) -> TokenClassifier {
    let new_labels = with_new_labels.then(|| TokenTask::LABELS.map(str::to_owned).to_vec());
    // Texts are longer than a window.
    let options = TokenClassifierOptions { max_length: Some(24), new_labels, ..Default::default() };
    TokenClassifier::load(model, &options).unwrap()
}

fn fixture(name: &str) -> PathBuf {
    toller_testing::repository("tests/fixtures").join(name)
}

#[test]
fn a_new_classifier_learns_where_segments_end() {
    // Models of 16 dimensions need longer to find a boundary.
    for (model, prefix, length, rate) in [
        ("tiny-bert", "bert.", 120, 3e-3),
        ("cross-encoders/distilbert", "distilbert.", 600, 1e-2),
        ("cross-encoders/roberta", "roberta.", 600, 1e-2),
    ] {
        let toy = Toy::new();
        let settings =
            Settings { length: Length::Steps(length), rate, dropout: Rates::default(), ..settings() };
        let (mut steps, mut evaluations): (Vec<StepReport>, Vec<Evaluation>) = Default::default();
        let mut trainer = toy.trainer(&fixture(model), settings, "out").unwrap();
        let on_report = |report: Report<'_>| match report {
            Report::Step(step) => steps.push(*step),
            Report::Evaluated(evaluation) => evaluations.push(evaluation.clone()),
            Report::Evaluating | Report::Crowded(_) => {}
        };
        trainer.run(&false.into(), "card", on_report).unwrap();
        assert!((steps[0].loss - 2.0_f64.ln()).abs() < 1e-6, "{model}: zeros are even: {}", steps[0].loss);
        let last = steps.last().unwrap().loss;
        assert!(last < 0.3, "{model}: {last}");
        let f1 = |evaluation: &Evaluation| evaluation.measures["F1"];
        let (first, last) = (f1(&evaluations[0]), f1(evaluations.last().unwrap()));
        assert!(first == 0.0 && last >= 0.9, "{model}: {first} before, {last} after");

        // The saved model finds what the evaluation found, from only its own files.
        let trained = load(&toy.output("out"), false);
        assert_eq!(trained.labels(), TokenTask::LABELS);
        let (data, mut right, mut all, mut found) = (toy.data(), 0, 0, 0);
        for index in 0..data.len() {
            let marked = data.get(index).unwrap();
            let document = trained.document(&marked.text, None).unwrap();
            let labels = marked.labels(&document.places);
            let shares = trained.shares(&trained.logits(&[document], 1).unwrap()[0], 1);
            for (label, share) in labels[..labels.len() - 1].iter().zip(shares) {
                all += usize::from(*label);
                found += usize::from(share > 0.5);
                right += usize::from(*label && share > 0.5);
            }
        }
        let measured = 2.0 * f64::from(right as u32) / f64::from((all + found) as u32);
        assert!((measured - last).abs() < 1e-9, "{model}: {measured} for {last}");

        // The layout is the one of transformers.
        let names: Vec<String> = Parameters::open(&toy.output("out")).unwrap().names().cloned().collect();
        let fits = |name: &String| name.starts_with(prefix) || name.starts_with("classifier.");
        assert!(names.iter().all(fits), "{model}: {names:?}");
        assert!(!toy.output("out/modules.json").exists() && !toy.output("out/1_Pooling").exists());
        let config = fs::read_to_string(toy.output("out/config.json")).unwrap();
        assert!(config.contains(&trained.class().name()), "{config}");
        let scored = CrossEncoder::load(&toy.output("out"), &CrossEncoderOptions::default()).err();
        assert!(scored.unwrap().to_string().contains("a classifier of tokens"));
    }
}

#[test]
fn an_interrupted_run_ends_with_the_same_bytes() {
    let toy = Toy::new();
    let model = fixture("token-classifiers/bert");
    let weights = |name: &str| fs::read(toy.output(name).join("model.safetensors")).unwrap();
    let settings = || Settings { accumulate: 2, ..settings() };
    assert_eq!(run(toy.trainer(&model, settings(), "whole").unwrap(), u64::MAX).0, Ending::Trained);
    assert_eq!(run(toy.trainer(&model, settings(), "stopped").unwrap(), 4).0, Ending::Stopped);
    let again = Settings { chunks: Chunks::Sequences(3), ..settings() };
    assert_eq!(run(toy.trainer(&model, again, "stopped").unwrap(), u64::MAX).0, Ending::Trained);
    assert!(weights("stopped") == weights("whole"));
    let line = "{\"segments\": [\"a\", \"b\"]}\n";
    fs::write(toy.output("data.jsonl"), line.repeat(12)).unwrap();
    let other = toy.trainer(&model, settings(), "whole").err();
    assert!(matches!(other, Some(TrainError::OtherRun { what, .. }) if what == "not the same data"));
}

#[test]
fn a_task_needs_two_labels_and_a_dev_set_boundaries() {
    let toy = Toy::new();
    let options = |labels: &[&str]| {
        let new_labels = Some(labels.iter().map(|label| (*label).to_owned()).collect());
        TokenClassifierOptions { new_labels, ..Default::default() }
    };
    let three = TokenClassifier::load(&fixture("tiny-bert"), &options(&["a", "b", "c"])).unwrap();
    let refused = TokenTask::new(three, vec![toy.data()]).err().unwrap().to_string();
    assert_eq!(refused, "the model's classifier of tokens has 3 labels, not 2");
    let task = TokenTask::new(load(&fixture("tiny-bert"), true), Vec::new()).unwrap();
    fs::write(toy.output("data.jsonl"), "{\"segments\": [\"a text of one segment\"]}\n").unwrap();
    let refused = MarkedSet::new(&task, &[toy.data()]).err().unwrap().to_string();
    assert_eq!(refused, "no text of the dev set has a boundary before its end");
}
