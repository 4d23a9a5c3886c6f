//! What the tests share.
#![allow(dead_code, clippy::unwrap_used, clippy::print_stderr)]

use std::io::Cursor;
use std::path::PathBuf;

use toller_corpus::{
    CollectionFormat, CorpusError, ReadOptions, SkipReport, read_collection_from, read_qrels_from,
    read_queries_from, read_run_from,
};
use toller_files::{Input, InputReader};
use toller_ir::{Explain, Passage, Qrels, Query, Run};

/// A test collection. If it is missing, prints that the test is skipped.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    toller_testing::shared(&format!("data/{path}"))
}

/// A reader of `content` as if it were the file `name`.
pub(crate) fn open(name: &str, content: impl AsRef<[u8]>) -> InputReader {
    InputReader::from_reader(Input::File(name.into()), Cursor::new(content.as_ref().to_vec())).unwrap()
}

pub(crate) fn skipping<F>() -> ReadOptions<F> {
    ReadOptions { skip_bad_lines: true, ..ReadOptions::default() }
}

pub(crate) fn with_format<F>(format: F) -> ReadOptions<F> {
    ReadOptions { format: Some(format), ..ReadOptions::default() }
}

pub(crate) fn passages(name: &str, content: impl AsRef<[u8]>) -> Result<Vec<Passage>, CorpusError> {
    passages_with(name, content, &ReadOptions::default()).map(|(passages, _)| passages)
}

pub(crate) fn passages_with(
    name: &str,
    content: impl AsRef<[u8]>,
    options: &ReadOptions<CollectionFormat>,
) -> Result<(Vec<Passage>, SkipReport), CorpusError> {
    let mut reader = read_collection_from(open(name, content), options)?;
    let passages = reader.by_ref().collect::<Result<_, _>>()?;
    Ok((passages, reader.skipped().clone()))
}

pub(crate) fn passage(id: &str, title: &str, text: &str) -> Passage {
    Passage {
        id: id.into(),
        title: Some(title.to_owned()).filter(|title| !title.is_empty()),
        text: text.into(),
        context: None,
    }
}

pub(crate) fn queries(name: &str, content: impl AsRef<[u8]>) -> Result<Vec<Query>, CorpusError> {
    read_queries_from(open(name, content), &ReadOptions::default()).map(|(queries, _)| queries)
}

pub(crate) fn query(id: &str, text: &str, answers: &[&str]) -> Query {
    Query {
        id: id.into(),
        text: text.into(),
        answers: answers.iter().map(|answer| (*answer).to_owned()).collect(),
    }
}

pub(crate) fn qrels(content: impl AsRef<[u8]>) -> Result<Qrels, CorpusError> {
    read_qrels_from(open("qrels.txt", content), &ReadOptions::default()).map(|(qrels, _)| qrels)
}

/// The judgments as triples.
pub(crate) fn triples(qrels: &Qrels) -> Vec<(String, String, i32)> {
    let pairs =
        qrels.iter().flat_map(|(query, docs)| docs.iter().map(move |(doc, grade)| (query, doc, *grade)));
    pairs.map(|(query, doc, grade)| (query.to_owned(), doc.clone(), grade)).collect()
}

pub(crate) fn run(content: impl AsRef<[u8]>) -> Result<Run, CorpusError> {
    read_run_from(open("run.txt", content), &ReadOptions::default()).map(|(run, _)| run)
}

/// The entries as triples.
pub(crate) fn entries(run: &Run) -> Vec<(&str, &str, f64)> {
    let hits = run.queries.iter().flat_map(|(query, hits)| hits.iter().map(move |hit| (query, hit)));
    hits.map(|(query, hit)| (query.as_str(), hit.doc_id.as_str(), hit.score)).collect()
}

/// The message of an error, checked to hold every one of `parts`.
#[track_caller]
pub(crate) fn assert_error<T>(result: Result<T, CorpusError>, parts: &[&str]) -> CorpusError {
    let Err(error) = result else { panic!("no error, but one with {parts:?} was expected") };
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    assert!(error.remedy().is_some(), "no hint for {message:?}");
    error
}

pub(crate) fn unknown_candidates(error: &CorpusError) -> Vec<&'static str> {
    match error {
        CorpusError::UnknownFormat { candidates, .. } => candidates.clone(),
        other => panic!("not an unknown format: {other}"),
    }
}
