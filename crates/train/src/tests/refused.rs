//! What is refused before the first step, and batches without duplicates.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use toller_encoder::{CrossEncoder, CrossEncoderOptions, TextPooling};
use toller_ir::Explain;

use super::run::{Toy, run, settings};
use crate::data::{ExampleFile, Source};
use crate::{
    Compute, CrossLoss, DualLoss, DualRun, Ending, Inspected, Length, Model, Report, Settings, Task,
    TrainError, Trainer,
};

/// The same line for each number.
fn lines(line: impl Fn(usize) -> String) -> String {
    (0..12).map(|number| line(number) + "\n").collect()
}

fn dual(toy: &Toy, loss: Option<DualLoss>, settings: Settings, data: String) -> Result<Trainer, TrainError> {
    fs::write(toy.output("data.jsonl"), data).unwrap();
    let (mut task, model) = toy.dual_task();
    if let (Task::Dual { loss: own, .. }, Some(loss)) = (&mut task, loss) {
        *own = loss;
    }
    toy.trainer(task, model, None, settings, "out")
}

#[test]
fn a_bad_example_is_named_before_the_first_step() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let own = DualLoss::Contrastive { temperature: 1.0, in_batch: false, symmetric: false };
    // The tenth line is different.
    let data = |usual: &str, tenth: &str| lines(|number| if number == 9 { tenth } else { usual }.to_owned());
    let triplet = r#"{"query": "q", "positive": "p", "negative": "n"}"#;
    let scored = r#"{"query": "q", "pos": ["p"], "neg": ["n"], "pos_scores": [1], "neg_scores": [0]}"#;
    for (loss, usual, tenth, problem) in [
        (None, triplet, r#"{"query": "q", "positives": [{"id": "d9"}]}"#, "passage \"d9\" has no text"),
        (None, triplet, r#"{"query": "q", "passage": "p", "label": 0.5}"#, "the label 0.5; a dual"),
        (Some(own), triplet, r#"{"query": "q", "positive": "p"}"#, "no negative, and a query"),
        (
            Some(DualLoss::MarginMse),
            scored,
            r#"{"query": "q", "pos": ["p"], "neg": ["n"]}"#,
            "without a score",
        ),
    ] {
        let error = dual(&toy, loss, settings(), data(usual, tenth)).err().unwrap().to_string();
        assert!(error.contains("data.jsonl, line 10: ") && error.contains(problem), "{error}");
        assert!(!toy.output("out").exists());
    }
    let empty = dual(&toy, None, settings(), String::new()).err();
    assert!(matches!(empty, Some(TrainError::NoRecords(_))));
    let none = Settings { negatives: 0, ..settings() };
    let refused = dual(&toy, Some(own), none, data(triplet, triplet)).err();
    assert!(matches!(refused, Some(TrainError::Options { .. })));
    // In a batch of one, the passages of other queries are not negatives.
    let alone = Settings { batch_size: 1, ..settings() };
    let usual = data(triplet, r#"{"query": "q", "positive": "p"}"#);
    let error = dual(&toy, None, alone.clone(), usual).err().unwrap().to_string();
    assert!(error.contains("data.jsonl, line 10: no negative, and a query is compared"), "{error}");
    let refused = dual(&toy, None, Settings { negatives: 0, ..alone }, data(triplet, triplet)).err();
    assert!(matches!(refused, Some(TrainError::Options { .. })));
    assert!(!toy.output("out").exists());

    let Some(toy) = Toy::new("bert-ce") else { return };
    let cross = |loss: CrossLoss, data: String| {
        fs::write(toy.output("data.jsonl"), data).unwrap();
        let options = CrossEncoderOptions { max_length: Some(12), ..CrossEncoderOptions::default() };
        let encoder = CrossEncoder::load(&toy.model, &options).unwrap();
        let model = Model::cross(&encoder, &Compute::Cpu).unwrap();
        let task = Task::Cross { encoder, loss, separator: " ".to_owned() };
        toy.trainer(task, model, None, settings(), "out")
    };
    let labelled = |label: &str| format!(r#"{{"query": "q", "passage": "p", "label": {label}}}"#);
    let long = format!(r#"{{"query": "{}", "passage": "p", "label": 1}}"#, "long ".repeat(30));
    for (tenth, problem) in [(labelled("4.5"), "the label 4.5, and"), (long, "too long for 12 tokens")] {
        let error = cross(CrossLoss::Binary, data(&labelled("0"), &tenth)).err().unwrap().to_string();
        assert!(error.contains("data.jsonl, line 10: ") && error.contains(problem), "{error}");
    }
    let ranked =
        |label: &str| format!(r#"{{"query": "q", "positive": "p", "negative": "n", "label": {label}}}"#);
    for (loss, label, problem) in [
        (CrossLoss::Listwise, "0", "takes the positive, whose label is 1"),
        (CrossLoss::RankNet, "0", "needs a positive's label above 0"),
        (CrossLoss::Lambda, "-1", "needs a positive's label above 0"),
    ] {
        let error = cross(loss, data(&ranked("1"), &ranked(label))).err().unwrap().to_string();
        assert!(error.contains("data.jsonl, line 10: ") && error.contains(problem), "{error}");
    }
    for label in ["0", "1"] {
        let error = cross(CrossLoss::Binary, data(&labelled(label), &labelled(label))).err();
        assert!(matches!(error, Some(TrainError::OneLabel(_))));
    }
    // Batches of one label are not an error where the data have both.
    let trainer = cross(CrossLoss::Binary, data(&labelled("1"), &labelled("0"))).unwrap();
    assert_eq!(run(trainer, u64::MAX).0, Ending::Trained);
}

#[test]
fn lists_with_grades_are_learned_from() {
    let graded = |number: usize| {
        format!(r#"{{"query": "q{number}", "docs": ["a", "b{number}", "c", "d"], "labels": [0, 3, 2, 0]}}"#)
    };
    if let Some(toy) = Toy::new("bert-mean") {
        assert_eq!(run(dual(&toy, None, settings(), lines(graded)).unwrap(), u64::MAX).0, Ending::Trained);
    }
    let Some(toy) = Toy::new("bert-ce") else { return };
    for loss in [CrossLoss::Binary, CrossLoss::Listwise, CrossLoss::RankNet, CrossLoss::Lambda] {
        fs::write(toy.output("data.jsonl"), lines(graded)).unwrap();
        let encoder = CrossEncoder::load(&toy.model, &CrossEncoderOptions::default()).unwrap();
        let model = Model::cross(&encoder, &Compute::Cpu).unwrap();
        let task = Task::Cross { encoder, loss, separator: " ".to_owned() };
        let trainer = toy.trainer(task, model, None, settings(), loss.name()).unwrap();
        assert_eq!(run(trainer, u64::MAX).0, Ending::Trained, "{loss}");
    }
    // Grades are learned without a negative, and need one where they do not differ.
    let encoder = || CrossEncoder::load(&toy.model, &CrossEncoderOptions::default()).unwrap();
    let trainer = |loss: CrossLoss, labels: &str, name: &str| {
        let line = |_| format!(r#"{{"query": "q", "docs": ["a", "b"], "labels": {labels}}}"#);
        fs::write(toy.output("data.jsonl"), lines(line)).unwrap();
        let model = Model::cross(&encoder(), &Compute::Cpu).unwrap();
        let task = Task::Cross { encoder: encoder(), loss, separator: " ".to_owned() };
        toy.trainer(task, model, None, settings(), name)
    };
    run(trainer(CrossLoss::Lambda, "[2, 1]", "grades").unwrap(), u64::MAX);
    for (loss, labels) in [(CrossLoss::Lambda, "[1, 1]"), (CrossLoss::Listwise, "[2, 1]")] {
        let error = trainer(loss, labels, "none").err().unwrap().to_string();
        assert!(error.contains("line 1: no negative, and a query is compared"), "{error}");
    }
}

#[test]
fn batches_without_duplicates() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    // Four examples of each of three positives: a batch of three has each once.
    let data = || lines(|number| format!(r#"{{"query": "q{number}", "positive": "p{}"}}"#, number % 3));
    let of = |no_duplicates: bool, batch_size: usize| Settings {
        no_duplicates,
        batch_size,
        length: Length::Steps(40),
        rate: 1e-30,
        ..settings()
    };
    let trainer = dual(&toy, None, of(false, 3), data()).unwrap();
    let found = Inspected { examples: 12, repeated: 9, ..Inspected::default() };
    assert_eq!(trainer.inspected(), Some(&found));
    assert_eq!(
        found.problems().map(|problem| problem.to_string()).collect::<Vec<_>>(),
        [
            "9 examples with a query or a passage of another example; in one batch, a positive may be taken for \
             a negative (no_duplicates keeps such examples apart)"
        ]
    );
    drop(trainer);
    fs::remove_dir_all(toy.output("out")).unwrap();
    let refused = dual(&toy, None, of(true, 4), data()).err();
    assert!(matches!(refused, Some(TrainError::Duplicates { batch: 4 })));
    let trainer = dual(&toy, None, of(true, 3), data()).unwrap();
    assert_eq!(trainer.inspected().unwrap().repeated, 0, "they come into different batches");
    let (ending, reports) = run(trainer, u64::MAX);
    assert_eq!((ending, reports.len()), (Ending::Trained, 40));
    let own = DualLoss::Contrastive { temperature: 1.0, in_batch: false, symmetric: false };
    let refused = dual(&toy, Some(own), of(true, 3), data()).err();
    assert!(matches!(refused, Some(TrainError::NoEffect { setting: "no_duplicates", .. })));
}

#[test]
fn a_run_goes_on_where_no_other_example_fits() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    // The first example has a positive of each other one.
    let first = "{\"query\": \"q\", \"positives\": [\"p1\", \"p2\", \"p3\"]}\n".to_owned();
    let others = (1..4).map(|number| format!("{{\"query\": \"q{number}\", \"positive\": \"p{number}\"}}\n"));
    let data = first + &others.collect::<String>();
    let settings = || Settings {
        no_duplicates: true,
        batch_size: 2,
        length: Length::Steps(40),
        rate: 1e-30,
        ..settings()
    };
    let crowded = |trainer: Result<Trainer, TrainError>, until: u64| {
        let (stop, mut found) = (AtomicBool::new(false), Vec::new());
        let on_report = |report: Report<'_>| match report {
            Report::Step(step) => stop.store(step.step >= until, Ordering::Relaxed),
            Report::Crowded(crowded) => found.push(crowded),
            _ => {}
        };
        trainer.unwrap().run(&stop, "", on_report).unwrap();
        found
    };
    let found = crowded(dual(&toy, None, settings(), data.clone()), u64::MAX);
    assert!((1..15).contains(&found.len()), "{} of 20 epochs", found.len());
    assert!(found.iter().all(|own| (own.batches, own.all) == (1, 2)), "{found:?}");
    let epoch = found[0].epoch;
    assert_eq!(
        found[0].to_string(),
        format!(
            "epoch {epoch}: 1 of 2 batches has examples with a query or a passage in common, since no other \
             example fits"
        )
    );
    // An interruption in such an epoch changes nothing.
    fs::remove_dir_all(toy.output("out")).unwrap();
    assert_eq!(crowded(dual(&toy, None, settings(), data.clone()), 2 * epoch - 1), found[..1]);
    assert_eq!(crowded(dual(&toy, None, settings(), data), u64::MAX), found);
}

#[test]
fn queries_that_repeat_and_negatives_that_are_positives_are_counted() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let queries = lines(|number| format!(r#"{{"query": "q{}", "positive": "p{number}"}}"#, number % 6));
    let trainer = dual(&toy, None, settings(), queries).unwrap();
    assert_eq!(trainer.inspected().unwrap().repeated, 6, "a query of which another has the answer");
    drop(trainer);
    fs::remove_dir_all(toy.output("out")).unwrap();
    let same = lines(|number| {
        let negative = if number > 9 { format!("p{number}") } else { format!("n{number}") };
        format!(r#"{{"query": "q{number}", "positive": "p{number}", "negative": "{negative}"}}"#)
    });
    let trainer = dual(&toy, None, settings(), same).unwrap();
    let found = trainer.inspected().unwrap();
    assert_eq!((found.contradictory, found.repeated), (2, 0));
    let problem = found.problems().next().unwrap().to_string();
    assert!(
        problem.starts_with("2 examples with a negative that is a positive of the same query, the first: ")
    );
    assert!(problem.ends_with("data.jsonl, line 11"), "{problem}");
}

#[test]
fn examples_that_teach_nothing_are_left_out_on_request() {
    let Some(toy) = Toy::new("bert-mean") else { return };
    let line = |number: usize| match number % 3 {
        0 => format!(r#"{{"query": "q{number}", "positive": "p"}}"#),
        _ => format!(r#"{{"query": "q{number}", "positive": "p", "negative": "n"}}"#),
    };
    let trainer = |data: String| {
        fs::write(toy.output("data.jsonl"), data).unwrap();
        let source = Source::new(vec![ExampleFile::open(&toy.output("data.jsonl")).unwrap()], None, None);
        let (mut task, model) = toy.dual_task();
        if let Task::Dual { loss, .. } = &mut task {
            *loss = DualLoss::Contrastive { temperature: 1.0, in_batch: false, symmetric: false };
        }
        Trainer::new(task, model, source.skipping(), None, settings(), &toy.output("out"))
    };
    let found = trainer(lines(line)).unwrap().inspected().unwrap().clone();
    assert_eq!((found.examples, found.with_negatives, found.left_out), (8, 8, 4));
    let first = found.first_left_out.clone().unwrap();
    assert!(first.contains("data.jsonl, line 1: no negative"), "{first}");
    assert!(found.problems().next().unwrap().to_string().starts_with("left out 4 examples, the first: "));
    let none = trainer(lines(|number| line(3 * number))).err();
    assert!(matches!(none, Some(TrainError::Example { .. })), "nothing is left");
}

#[test]
fn a_norm_after_the_pooling_is_refused_with_what_can_be_trained() {
    let model = toller_testing::repository("tests/fixtures/realm");
    for pooling in [None, Some("pooler"), Some("cls")] {
        let pooling = pooling.map(|name| TextPooling::all().find(|pooling| pooling.name() == name).unwrap());
        let run = DualRun { model: model.clone(), pooling, ..DualRun::default() };
        let error = run.open(&Compute::Cpu).err().unwrap();
        assert!(matches!(error, TrainError::Untrainable(_)), "{error}");
        assert!(error.remedy().unwrap().to_string().contains("DistilBERT"));
    }
}
