//! The out-of-domain sets: cMedQA 2 and cCOVID-News.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toller_files::{Input, InputReader};
use toller_ir::{Position, Qrels, Query, counted, named};

use crate::error::DatasetError;
use crate::folder::{Folder, UniqueIds, check_judged};
use crate::lines::DocumentLine;
use crate::statistics::{Lengths, Part, Statistics};

named! {
    /// A set of another domain.
    pub enum OtherDomain: "an out-of-domain set" {
        /// Medical questions and answers: question.csv, answer.csv, test_candidates.txt.
        Cmedqa = "cmedqa",
        /// News about COVID-19: the articles, and questions with the article that answers each.
        CovidNews = "covid-news",
    }
}

/// The files of a set.
#[derive(Clone, Debug)]
pub struct DomainFiles {
    /// cMedQA: answer.csv; cCOVID-News: the file of articles.
    pub passages: Input,
    /// cMedQA: question.csv; cCOVID-News: the file of questions.
    pub questions: Input,
    /// cMedQA: test_candidates.txt or its like; cCOVID-News has none.
    pub candidates: Option<Input>,
}

#[derive(Deserialize)]
struct MedicalAnswer {
    #[serde(alias = "answer_id")]
    ans_id: String,
    content: String,
}

#[derive(Deserialize)]
struct MedicalQuestion {
    #[serde(alias = "que_id")]
    question_id: String,
    content: String,
}

#[derive(Deserialize)]
struct Candidate {
    question_id: String,
    #[serde(alias = "answer_id", alias = "pos_ans_id")]
    ans_id: String,
    label: Option<i32>,
}

#[derive(Deserialize)]
struct Article {
    docid: String,
    text: String,
}

#[derive(Deserialize)]
struct CovidQuestion {
    id: String,
    docid: String,
    question: String,
}

/// Writes corpus.jsonl with all passages, queries.tsv with the questions that have a relevant passage, and
/// qrels.txt.
///
/// # Errors
/// If a file cannot be read or written, or has no such columns, or the passages do not have a relevant one.
pub fn write_other_domain(
    domain: OtherDomain,
    files: &DomainFiles,
    output: &Path,
) -> Result<(Vec<String>, Statistics), DatasetError> {
    let mut folder = Folder::create(output)?;
    let (mut lengths, mut queries, mut qrels) = (Lengths::default(), Vec::new(), Qrels::new());
    let (mut ids, mut ids_of_queries) = (UniqueIds::of_passages(), UniqueIds::of_queries());
    let mut corpus = folder.file("corpus.jsonl")?;
    let mut passage = |id: String, text: &str| {
        ids.add(&id)?;
        lengths.add(text);
        corpus.json(&DocumentLine { id, title: "", text })
    };
    let mut query = |id: String, text: String| -> Result<(), DatasetError> {
        let query = Query { id, text, answers: Vec::new() };
        ids_of_queries.add_query(&query)?;
        queries.push(query);
        Ok(())
    };
    match domain {
        OtherDomain::Cmedqa => {
            for_each_row(&files.passages, |row: MedicalAnswer| passage(row.ans_id, &row.content))?;
            if let Some(candidates) = &files.candidates {
                for_each_row(candidates, |row: Candidate| {
                    if row.label != Some(0) {
                        qrels.insert(&row.question_id, &row.ans_id, 1);
                    }
                    Ok(())
                })?;
            }
            for_each_row(&files.questions, |row: MedicalQuestion| {
                let is_judged = qrels.query(&row.question_id).is_some();
                if is_judged { query(row.question_id, row.content) } else { Ok(()) }
            })?;
        }
        OtherDomain::CovidNews => {
            for_each_row(&files.passages, |row: Article| passage(row.docid, &row.text))?;
            for_each_row(&files.questions, |row: CovidQuestion| {
                qrels.insert(&row.id, &row.docid, 1);
                query(row.id, row.question)
            })?;
        }
    }
    check_judged(&queries, &qrels, Some(&files.questions))?;
    let mut relevant = qrels.iter().flat_map(|(_, judged)| judged.keys());
    if let Some(missing) = relevant.find(|id| !ids.has(id)) {
        let file = Some(files.passages.to_string());
        return Err(DatasetError::NoText { file, id: missing.clone() });
    }
    folder.queries("queries.tsv", &queries)?;
    folder.qrels("qrels.txt", &qrels)?;
    let names = folder.commit()?;
    let questions: Lengths = queries.iter().map(|query| query.text.as_str()).collect();
    let collection = Part::new("collection").count("passages", lengths.texts()).lengths(&lengths);
    let split = Part::new("test").count("queries", queries.len()).lengths(&questions).judgments(&qrels);
    Ok((names, Statistics(vec![collection, split])))
}

const EXPECTED: &str =
    "cMedQA's columns (ans_id, question_id, content, label) or cCOVID-News' (docid, text, id, question)";

/// What is wrong, without the place.
fn problem(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{}, but the header has {expected_len}", counted(*len as usize, "column"))
        }
        csv::ErrorKind::Deserialize { err, .. } => err.to_string(),
        _ => error.to_string(),
    }
}

/// Calls `take` with each row of a file with a header, whose columns are separated by commas, or by tabs if
/// the header has one. Its errors get the place of the row.
fn for_each_row<T: DeserializeOwned>(
    input: &Input,
    mut take: impl FnMut(T) -> Result<(), DatasetError>,
) -> Result<(), DatasetError> {
    let mut reader = InputReader::open(input)?;
    let head = reader.peek(1 << 12);
    let header = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let delimiter = if header.contains(&b'\t') { b'\t' } else { b',' };
    // The reader counts one line too few if lines end in "\r\n".
    let uncounted = u64::from(header.ends_with(b"\r"));
    let mut rows = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(reader);
    let line = |position: Option<&csv::Position>| position.map(|position| position.line() + uncounted);
    let bad = |error: csv::Error| DatasetError::Record {
        file: input.to_string(),
        line: line(error.position()).unwrap_or(0),
        problem: problem(&error),
        expected: EXPECTED,
    };
    let header = rows.headers().map_err(bad)?.clone();
    let mut is_empty = true;
    for row in rows.records() {
        let row = row.map_err(bad)?;
        let position = line(row.position()).map(Position::Line);
        take(row.deserialize(Some(&header)).map_err(bad)?).map_err(|error| error.at(input, position))?;
        is_empty = false;
    }
    if is_empty {
        Err(DatasetError::NoRecord { file: input.to_string(), expected: EXPECTED })
    } else {
        Ok(())
    }
}
