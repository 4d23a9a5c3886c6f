//! Paragraph retrieval from SQuAD JSON: what is written, and what cannot be.

use std::error::Error;
use std::fs;

use serde_json::{Value, json};
use toller_datasets::{DatasetError, Squad, SquadParagraphs, write_squad_paragraphs};

type TestResult = Result<(), Box<dyn Error>>;

fn squad(paragraphs: Value) -> Result<Squad, serde_json::Error> {
    serde_json::from_value(json!({"data": [{"title": "T", "paragraphs": paragraphs}]}))
}

fn question(id: &str, text: &str) -> Value {
    json!({"id": id, "question": text, "answers": []})
}

#[test]
fn a_question_retrieves_its_paragraph() -> TestResult {
    let sets = [
        squad(json!([{"context": "one", "qas": [question("a", "1?"), question("b", "one?")]}]))?,
        squad(json!([{"context": "none", "qas": []}, {"context": "two", "qas": [question("c", "2?")]}]))?,
    ];
    let directory = tempfile::tempdir()?;
    let written = write_squad_paragraphs(&sets, true, directory.path())?;
    assert_eq!(written, SquadParagraphs { paragraphs: 3, questions: 3, unanswered: 3 });
    let read = |name: &str| fs::read_to_string(directory.path().join(name));
    assert_eq!(read("qrels.txt")?, "a 0 p0 1\nb 0 p0 1\nc 0 p2 1\n");
    assert_eq!(read("corpus.jsonl")?.lines().next(), Some(r#"{"_id":"p0","title":"T","text":"one"}"#));
    assert_eq!(read("queries.jsonl")?.lines().last(), Some(r#"{"_id":"c","text":"2?"}"#));
    write_squad_paragraphs(&sets, false, directory.path())?;
    assert_eq!(read("corpus.jsonl")?.lines().nth(2), Some(r#"{"_id":"p2","text":"two"}"#));
    Ok(())
}

#[test]
fn paragraphs_of_one_text_are_one() -> TestResult {
    let answered = |id: &str, impossible: bool| {
        let answers = json!([{"text": "one", "answer_start": 0}]);
        json!({"id": id, "question": "?", "answers": answers, "is_impossible": impossible})
    };
    let sets = [
        squad(json!([
            {"context": "one", "qas": [answered("a", false)]},
            {"context": "two", "qas": [answered("b", true)]},
            {"context": "one", "qas": [question("c", "?")]},
        ]))?,
        squad(json!([{"context": "one", "qas": [answered("d", false)]}, {"context": "three", "qas": []}]))?,
    ];
    let directory = tempfile::tempdir()?;
    let written = write_squad_paragraphs(&sets, false, directory.path())?;
    assert_eq!(written, SquadParagraphs { paragraphs: 3, questions: 4, unanswered: 2 });
    let read = |name: &str| fs::read_to_string(directory.path().join(name));
    assert_eq!(read("qrels.txt")?, "a 0 p0 1\nc 0 p0 1\nd 0 p0 1\nb 0 p1 1\n");
    let corpus = [("p0", "one"), ("p1", "two"), ("p2", "three")];
    let corpus = corpus.map(|(id, text)| format!("{{\"_id\":\"{id}\",\"text\":\"{text}\"}}\n"));
    assert_eq!(read("corpus.jsonl")?, corpus.concat());
    Ok(())
}

#[test]
fn bad_questions_are_named() -> TestResult {
    let directory = tempfile::tempdir()?;
    let refused = |questions: Vec<Value>| {
        let set = squad(json!([{"context": "one", "qas": questions}]))?;
        let written = write_squad_paragraphs(&[set], true, &directory.path().join("none"));
        written.err().ok_or_else(|| Box::<dyn Error>::from("it was written"))
    };
    assert!(matches!(refused(vec![])?, DatasetError::NothingAsked { .. }));
    let blank = refused(vec![question("a b", "?")])?;
    assert!(blank.to_string().contains("has a question with the id 'a b'"), "{blank}");
    let twice = refused(vec![question("a", "?"), question("a", "?")])?;
    assert!(twice.to_string().contains("paragraph 1 ('T') repeats the question id 'a'"), "{twice}");
    let empty = refused(vec![question("a", " ")])?;
    assert!(empty.to_string().contains("has the question 'a' without a text"), "{empty}");
    assert!(!directory.path().join("none").exists());
    Ok(())
}
