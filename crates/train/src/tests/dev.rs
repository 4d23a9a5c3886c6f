//! Evaluation during training: its measures, the best model, early ends, and interruptions.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use indexmap::IndexMap;
use serde_json::Value;
use toller_encoder::{CrossEncoder, CrossEncoderOptions};
use toller_eval::parse_measures;
use toller_files::Input;
use toller_ir::{Passage, Qrels, Query, Run, RunEntry};
use toller_texts::{Texts, TextsOptions};

use super::run::{TOPICS, Toy, accuracy, passage, query, run, settings};
use crate::{
    Compute, CrossLoss, Dev, Ending, Judge, Length, Model, RankedSet, Rates, Settings, Task, TrainError,
    Trainer, Warmup,
};

fn queries() -> Vec<Query> {
    let query =
        |topic: &&str| Query { id: format!("about {topic}"), text: query(topic), answers: Vec::new() };
    TOPICS.iter().map(query).collect()
}

fn judge(measures: &str) -> Judge {
    let mut qrels = Qrels::new();
    TOPICS.iter().for_each(|topic| assert!(qrels.insert(&format!("about {topic}"), topic, 1).is_none()));
    Judge { qrels, measures: parse_measures(measures).unwrap(), relevance_level: 1 }
}

/// A trainer of a dual encoder that is evaluated on the topics.
fn trainer(toy: &Toy, settings: Settings, name: &str, change: impl FnOnce(&mut Dev)) -> Trainer {
    let (task, model) = toy.dual_task();
    let passages = TOPICS.iter().map(|topic| {
        Ok::<_, TrainError>(Passage { id: (*topic).to_owned(), text: passage(topic), ..Passage::default() })
    });
    let set = RankedSet::search(&task, &queries(), passages, judge("Success@1 RR"), &false.into()).unwrap();
    let mut dev = Dev { set: set.into(), every: Some(4), patience: None, saves_last: false };
    change(&mut dev);
    toy.trainer(task, model, Some(dev), settings, name).unwrap()
}

/// The evaluations of a run, without their times.
fn evaluations(toy: &Toy, name: &str) -> Vec<(u64, f64)> {
    let text = fs::read_to_string(toy.output(name).join("evaluations.jsonl")).unwrap();
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        (line["step"].as_u64().unwrap(), line["measures"]["Success@1"].as_f64().unwrap())
    };
    text.lines().map(line).collect()
}

#[test]
fn measures_are_those_of_the_saved_model() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let settings = Settings { length: Length::Steps(42), ..settings() };
    let ending = run(trainer(&toy, settings, "out", |dev| dev.saves_last = true), u64::MAX).0;
    assert_eq!(ending, Ending::Trained);
    let found = evaluations(&toy, "out");
    let steps: Vec<u64> = found.iter().map(|(step, _)| *step).collect();
    assert_eq!(steps, [0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 42]);
    let (first, last) = (found[0].1, found[11].1);
    assert!(
        (first - accuracy(&toy.model)).abs() < 1e-9 && (last - accuracy(&toy.output("out"))).abs() < 1e-9
    );
    assert!(last > first, "{first} before, {last} after");
    let svg = fs::read_to_string(toy.output("out/training.svg")).unwrap();
    assert!(svg.contains("step 42 of 42") && svg.contains("Success@1"));
}

#[test]
fn the_best_model_is_saved_whatever_interrupts_the_run() {
    // The model of the repository does not forget as fast.
    if toller_testing::shared("golden/bert-mean").is_none() {
        return;
    }
    let Some(toy) = Toy::new("bert-mean") else { return };
    // So fast that it forgets what it has learned.
    let settings = || Settings { length: Length::Steps(30), rate: 1e-2, keep: 1, ..settings() };
    let weights = |name: &str| fs::read(toy.output(name).join("model.safetensors")).unwrap();
    assert_eq!(run(trainer(&toy, settings(), "whole", |_| ()), u64::MAX).0, Ending::Trained);
    let found = evaluations(&toy, "whole");
    let highest = found.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    assert!(found.last().unwrap().1 < highest, "{found:?}");
    assert!((accuracy(&toy.output("whole")) - highest).abs() < 1e-9);
    let card = fs::read_to_string(toy.output("whole/README.md")).unwrap();
    assert!(card.contains(&format!("- Success@1: {highest:.4}")), "{card}");
    for (name, stop) in [("before an evaluation", 7), ("at one", 8)] {
        assert_eq!(run(trainer(&toy, settings(), name, |_| ()), stop).0, Ending::Stopped);
        assert_eq!(run(trainer(&toy, settings(), name, |_| ()), u64::MAX).0, Ending::Trained);
        assert!(weights(name) == weights("whole"), "{name}");
        assert_eq!(evaluations(&toy, name), found);
    }
    // Once more: there is nothing left to do, and the model is the same.
    assert!(run(trainer(&toy, settings(), "whole", |_| ()), u64::MAX).1.is_empty());
    assert!(weights("at one") == weights("whole"));
    let other = toy.dual(settings(), "whole").err();
    assert!(matches!(other, Some(TrainError::OtherRun { what, .. }) if what == "not the same dev set"));
}

#[test]
fn a_dev_set_without_a_relevant_document_is_refused() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let (task, _) = toy.dual_task();
    let refused = |judge: Judge| {
        let passages = Vec::<Result<_, TrainError>>::new();
        RankedSet::search(&task, &queries(), passages, judge, &false.into())
            .err()
            .map(|error| error.to_string())
    };
    let strict = Judge { relevance_level: 2, ..judge("RR") };
    assert_eq!(refused(strict).as_deref(), Some("no query of the dev set has a relevant document"));
    let unjudged = Judge { qrels: Qrels::new(), ..judge("RR") };
    assert_eq!(refused(unjudged).as_deref(), Some("no query of the dev set is judged"));
}

#[test]
fn a_dev_set_is_tokenized_in_blocks_until_it_is_stopped() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let (task, _) = toy.dual_task();
    let stop = AtomicBool::new(false);
    let passage = |number: usize| {
        stop.fetch_or(number == 4999, Ordering::Relaxed);
        let id = TOPICS.get(number).map_or_else(|| number.to_string(), |topic| (*topic).to_owned());
        Ok::<_, TrainError>(Passage { id, text: "snow".to_owned(), ..Passage::default() })
    };
    let set = |passages: usize| {
        let set = RankedSet::search(&task, &queries(), (0..passages).map(passage), judge("RR"), &stop);
        set.map(|set| set.missing_documents())
    };
    assert_eq!(set(4998).unwrap(), (0, 12));
    assert!(matches!(set(100_000), Err(TrainError::Stopped)));
}

#[test]
fn a_run_without_progress_ends_early() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let settings = Settings { rate: 1e-30, length: Length::Steps(100), ..settings() };
    let trainer = || trainer(&toy, settings.clone(), "out", |dev| dev.patience = Some(2));
    let (ending, steps) = run(trainer(), u64::MAX);
    assert_eq!((ending, steps.len()), (Ending::Trained, 8), "evaluated at 0, 4 and 8");
    let again = trainer();
    assert!(again.is_over() && again.step() < again.total());
}

#[test]
fn a_model_that_has_diverged_is_not_evaluated() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let settings = Settings { rate: 1e39, length: Length::Steps(9), warmup: Warmup::Steps(0), ..settings() };
    let mut trainer = trainer(&toy, settings, "out", |dev| dev.every = Some(1));
    let error = trainer.run(&false.into(), "", |_| ()).err();
    assert!(matches!(error, Some(TrainError::NotFinite { what: "weights", step: 1 })), "{error:?}");
}

#[test]
fn a_cross_encoder_ranks_the_hits_of_a_run() {
    let Some(toy) = Toy::new("bert-ce") else { return };
    let encoder = CrossEncoder::load(&toy.model, &CrossEncoderOptions::default()).unwrap();
    let model = Model::cross(&encoder, &Compute::Cpu).unwrap();
    let task = Task::Cross { encoder, loss: CrossLoss::Listwise, separator: " ".to_owned() };
    let collection = toy.output("corpus.tsv");
    fs::write(&collection, TOPICS.map(|topic| format!("{topic}\t{}\n", passage(topic))).concat()).unwrap();
    let cache = Some(toy.output("cache"));
    let inputs = [Input::parse(collection)];
    let texts = Texts::open(&inputs, &TextsOptions { cache, ..TextsOptions::default() }, |_| {}).unwrap();
    // The right passage is the third of four hits.
    let hits = |index: usize| {
        let hit = |(rank, offset): (usize, &usize)| RunEntry {
            doc_id: TOPICS[(index + offset) % TOPICS.len()].to_owned(),
            score: -(rank as f64),
        };
        (format!("about {}", TOPICS[index]), [5, 7, 0, 3].iter().enumerate().map(hit).collect())
    };
    let run_of_hits =
        Run { tag: String::new(), queries: (0..TOPICS.len()).map(hits).collect::<IndexMap<_, _>>() };
    let set = |depth: usize| {
        RankedSet::rerank(&task, &queries(), &run_of_hits, depth, &texts, judge("Success@1 R@2")).unwrap()
    };
    let dev = Dev { set: set(3).into(), every: Some(30), patience: None, saves_last: true };
    assert_ne!(set(3).fingerprint(), set(2).fingerprint());
    assert_eq!(set(3).missing(), (0, 12));
    let mut first = run_of_hits.clone();
    first.queries.truncate(5);
    let of_five = RankedSet::rerank(&task, &queries()[2..], &first, 3, &texts, judge("RR")).unwrap();
    assert_eq!(of_five.missing(), (9, 12), "nine queries are not given, or not in the run");
    let none = Vec::<Result<_, TrainError>>::new();
    assert!(RankedSet::search(&task, &queries(), none, judge("RR"), &false.into()).is_err());
    let settings = Settings { length: Length::Steps(60), dropout: Rates::default(), ..settings() };
    let mut evaluated = Vec::new();
    let mut trainer = toy.trainer(task, model, Some(dev), settings, "out").unwrap();
    let on_report = |report: crate::Report<'_>| {
        if let crate::Report::Evaluated(evaluation) = report {
            evaluated.push(evaluation.measures["Success@1"]);
        }
    };
    trainer.run(&false.into(), "card", on_report).unwrap();
    assert_eq!(evaluated.len(), 3);
    let trained = CrossEncoder::load(&toy.output("out"), &CrossEncoderOptions::default()).unwrap();
    let score = |index: usize, offset: usize| {
        let (own, other) = (TOPICS[index], TOPICS[(index + offset) % TOPICS.len()]);
        trained.score(&[trained.tokenize_pair(&query(own), &passage(other)).unwrap()]).unwrap()[0]
    };
    let first = |&index: &usize| score(index, 0) > score(index, 5).max(score(index, 7));
    let found = (0..TOPICS.len()).filter(first).count() as f64 / TOPICS.len() as f64;
    assert!((found - evaluated[2]).abs() < 1e-9 && found > evaluated[0] + 0.2, "{found}: {evaluated:?}");
}
