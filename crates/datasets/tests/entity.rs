//! EntityQuestions: sets, buckets and results.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use toller_corpus::QueriesOfFile;
use toller_datasets::{
    Fact, Facts, Figure, MatchMode, PopularityBuckets, QuestionSets, Retrieved, write_dpr_results,
    write_popularity_buckets, write_question_sets,
};
use toller_ir::{Passage, Query, RunEntry};

fn read(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

fn facts(subjects: &[(&str, &str)]) -> Facts {
    let fact = |(subject, object): &(&str, &str)| Fact {
        subject: (*subject).to_owned(),
        objects: vec![(*object).to_owned()],
    };
    [("P19", subjects.iter().map(fact).collect())].into_iter().collect()
}

#[test]
fn training_shares_nothing_with_the_test() {
    let many: Vec<(String, String)> =
        (0..200).map(|at| (format!("n{at} f{}", at % 150), format!("c{}", at % 180))).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let folder = tempfile::tempdir().unwrap();
    let sets = QuestionSets { test: 20, train: 100, dev: 10, similar: true, seed: 42 };
    let (names, statistics) = write_question_sets(&facts(&many), &sets, folder.path()).unwrap();
    assert_eq!(
        names,
        ["P19.test.json", "P19.train.json", "P19.similar.train.json", "P19.dev.json", "P19.similar.dev.json"]
    );
    let tokens = |name: &str| -> HashSet<String> {
        let set = read(folder.path(), name);
        let of = |question: &Value| {
            let subject = question["question"].as_str().unwrap();
            let subject = subject.strip_prefix("Where was ").unwrap().strip_suffix(" born?").unwrap();
            format!("{subject} {}", question["answers"][0].as_str().unwrap())
        };
        set.as_array()
            .unwrap()
            .iter()
            .map(of)
            .flat_map(|text| text.split(' ').map(str::to_owned).collect::<Vec<_>>())
            .collect()
    };
    assert!(tokens("P19.train.json").is_disjoint(&tokens("P19.test.json")));
    assert!(tokens("P19.dev.json").is_disjoint(&tokens("P19.test.json")));
    let train = read(folder.path(), "P19.train.json");
    let similar = read(folder.path(), "P19.similar.train.json");
    let subject = train[0]["question"].as_str().unwrap().replace("Where was ", "").replace(" born?", "");
    assert_eq!(similar[0]["question"], format!("What is the birthplace of {subject}?"));
    let count = statistics.part("P19 train").unwrap().figure("questions");
    assert_eq!(count, Some(Figure::Count(train.as_array().unwrap().len() as u64)));
    assert_eq!(statistics.part("P19 dev").unwrap().figure("questions"), Some(Figure::Count(10)));
}

#[test]
fn few_facts_are_shared_in_proportion() {
    let many: Vec<String> = (0..60).map(|at| format!("n{at}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), name.as_str())).collect();
    let folder = tempfile::tempdir().unwrap();
    let counts = |train: usize, dev: usize| {
        let sets = QuestionSets { test: 15, train, dev, similar: false, seed: 42 };
        let (_, statistics) = write_question_sets(&facts(&many), &sets, folder.path()).unwrap();
        ["P19 train", "P19 dev"].map(|name| {
            match statistics.part(name).and_then(|part| part.figure("questions")) {
                Some(Figure::Count(count)) => count,
                _ => 0,
            }
        })
    };
    assert_eq!(counts(8000, 1000), [40, 5]);
    assert_eq!(counts(30, 15), [30, 15]);
    assert_eq!(counts(usize::MAX, usize::MAX), [23, 22]);
    assert_eq!(counts(0, 1000), [0, 45]);
    assert_eq!(counts(8000, 1), [45, 0]);
}

#[test]
fn buckets_and_seen_subjects() {
    let folder = tempfile::tempdir().unwrap();
    let frequencies: HashMap<String, u64> =
        [("a", 6), ("b", 3), ("c", 3)].into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    let seen = HashSet::from(["c".to_owned()]);
    let wanted =
        PopularityBuckets { frequencies: &frequencies, count: 2, sample: 1, seen: Some(&seen), seed: 1 };
    let facts = facts(&[("b", "x"), ("c", "y"), ("a", "z")]);
    let (names, statistics) = write_popularity_buckets(&facts, &wanted, folder.path()).unwrap();
    assert_eq!(names.len(), 4);
    assert_eq!(
        read(folder.path(), "P19.bucket-1.json"),
        json!([{"question": "Where was a born?", "answers": ["z"]}])
    );
    assert_eq!(read(folder.path(), "P19.bucket-2.json").as_array().unwrap().len(), 1);
    assert_eq!(read(folder.path(), "P19.seen.bucket-1.json"), json!([]));
    assert_eq!(
        read(folder.path(), "P19.seen.bucket-2.json"),
        json!([{"question": "Where was c born?", "answers": ["y"]}])
    );
    let figure = |part: &str, name: &str| statistics.part(part).unwrap().figure(name).unwrap();
    assert_eq!(figure("P19 bucket 1", "frequency"), figure("P19 bucket 2", "frequency"));
    assert_eq!(figure("P19 bucket 2", "facts"), Figure::Count(2));
}

#[test]
fn frequencies_of_any_size_are_summed() {
    let folder = tempfile::tempdir().unwrap();
    let frequencies = HashMap::from([("a".to_owned(), u64::MAX), ("b".to_owned(), u64::MAX)]);
    let wanted = PopularityBuckets { frequencies: &frequencies, count: 1, sample: 1, seen: None, seed: 1 };
    let facts = facts(&[("a", "x"), ("b", "y")]);
    let (_, statistics) = write_popularity_buckets(&facts, &wanted, folder.path()).unwrap();
    let sum = statistics.part("P19 bucket 1").unwrap().figure("frequency");
    assert_eq!(sum, Some(Figure::Count(u64::MAX)));
}

#[test]
fn results_are_dprs() {
    let query = Query { id: "0".into(), text: "Where was Ann born?".into(), answers: vec!["Oslo".into()] };
    let passages: HashMap<String, Passage> = [("1", "in Bergen"), ("2", "in OSLO")]
        .map(|(id, text)| {
            (
                id.to_owned(),
                Passage { id: id.into(), title: Some("Ann".into()), text: text.into(), context: None },
            )
        })
        .into();
    let entries = [("1", 2.5), ("2", 1.0)].map(|(id, score)| RunEntry { doc_id: id.into(), score });
    let folder = tempfile::tempdir().unwrap();
    let retrieved = [Retrieved { query: &query, entries: entries.iter().collect() }];
    let write = |retrieved: &[Retrieved<'_>], files: &[QueriesOfFile]| {
        write_dpr_results(retrieved, files, &passages, MatchMode::Tokens, folder.path())
    };
    let (_, statistics) = write(&retrieved, &[]).unwrap();
    let context = |id: &str, text: &str, score: f64, has_answer: bool| json!({"id": id, "title": "Ann", "text": text, "score": score, "has_answer": has_answer});
    let expected = json!([{
        "question": "Where was Ann born?",
        "answers": ["Oslo"],
        "ctxs": [context("1", "in Bergen", 2.5, false), context("2", "in OSLO", 1.0, true)],
    }]);
    assert_eq!(read(folder.path(), "results.json"), expected);
    let accuracy = |name: &str| statistics.part("results").unwrap().figure(name);
    assert_eq!(accuracy("accuracy_at_1"), Some(Figure::Real(Some(0.0))));
    assert_eq!(accuracy("accuracy_at_5"), Some(Figure::Real(Some(1.0))));
    let entry = RunEntry { doc_id: "9".into(), score: 1.0 };
    let unknown = [Retrieved { query: &query, entries: vec![&entry] }];
    assert!(write(&unknown, &[]).is_err());

    // Of several files of questions, each has its results.
    let file = |name: &str, places| QueriesOfFile { name: name.to_owned(), places };
    let (none, [retrieved]) = (Retrieved { query: &query, entries: Vec::new() }, retrieved);
    let both = [none, retrieved];
    let (names, statistics) = write(&both, &[file("P19", 0..1), file("P20", 1..2)]).unwrap();
    assert_eq!(names, ["P19.results.json", "P20.results.json"]);
    assert_eq!(read(folder.path(), "P20.results.json"), expected);
    let at_5 = |name: &str| statistics.part(name).unwrap().figure("accuracy_at_5");
    assert_eq!(
        ["P19", "P20", "results"].map(at_5),
        [0.0, 1.0, 0.5].map(|share| Some(Figure::Real(Some(share))))
    );
    assert!(write(&both, &[file("P19", 0..1), file("P19", 1..2)]).is_err());
}
