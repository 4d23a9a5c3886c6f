//! DuReader-retrieval's own formats, read and written.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use toller_corpus::{CollectionFormat, ReadOptions, open_collection};
use toller_eval::ranked_documents;
use toller_files::Input;
use toller_ir::{Qrels, Query, Run};

use crate::error::{DatasetError, names_of};
use crate::folder::{Folder, UniqueIds, check_judged};
use crate::lines::DocumentLine;
use crate::records::{Id, for_each_record, read_json};
use crate::statistics::{Lengths, Part, Statistics};

/// The identifiers of passages by their rows: `passage2id.map.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassageIds(Vec<Box<str>>);

impl PassageIds {
    /// Reads the map.
    ///
    /// # Errors
    /// If the file cannot be read, its keys are not the rows from 0, or two rows have one identifier.
    pub fn read(input: &Input) -> Result<Self, DatasetError> {
        let ids: Self =
            read_json(input, "an object whose keys are the rows \"0\", \"1\", ..., in any order")?;
        let mut unique = UniqueIds::of_passages();
        ids.0.iter().try_for_each(|id| unique.add(id)).map_err(|error| error.at(input, None))?;
        Ok(ids)
    }

    /// The identifier of the passage in this row.
    #[must_use]
    pub fn of_row(&self, row: &str) -> Option<&str> {
        Some(self.0.get(row.parse::<usize>().ok()?)?)
    }

    fn rows(&self) -> HashMap<&str, usize> {
        self.0.iter().zip(0..).map(|(id, row)| (id.as_ref(), row)).collect()
    }
}

impl<'de> Deserialize<'de> for PassageIds {
    /// Row by row, since the map has eight million.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Rows;
        impl<'de> Visitor<'de> for Rows {
            type Value = PassageIds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of identifiers by rows")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PassageIds, A::Error> {
                let mut found: Vec<(usize, Box<str>)> = Vec::new();
                while let Some((row, id)) = map.next_entry::<String, Box<str>>()? {
                    let row = row
                        .parse()
                        .map_err(|_| serde::de::Error::custom(format!("{row:?} is not a row number")))?;
                    found.push((row, id));
                }
                found.sort_by_key(|(row, _)| *row);
                match found.iter().zip(0..).find(|((row, _), expected)| row != expected) {
                    None => Ok(PassageIds(found.into_iter().map(|(_, id)| id).collect())),
                    Some((_, row)) => Err(serde::de::Error::custom(format!("row {row} is not there once"))),
                }
            }
        }
        deserializer.deserialize_map(Rows)
    }
}

#[derive(Deserialize)]
struct Line {
    question_id: Id,
    question: String,
    answer_paragraphs: Vec<AnswerParagraph>,
}

#[derive(Deserialize, Serialize)]
struct AnswerParagraph {
    paragraph_id: String,
    paragraph_text: String,
}

#[derive(Serialize)]
struct LineOut<'a> {
    question_id: &'a str,
    question: &'a str,
    answer_paragraphs: Vec<AnswerParagraph>,
}

/// Reads `dev.json` or `train.json`, and writes queries.tsv and qrels.txt; with the map of identifiers, also
/// qrels.rows.txt, whose documents are rows; with the parts of the collection and the map, also corpus.jsonl.
///
/// # Errors
/// If a file cannot be read or written, a passage is in no row, or the parts do not have a passage for each
/// row.
pub fn read_official(
    input: &Input,
    passages: &[Input],
    ids: Option<&PassageIds>,
    output: &Path,
) -> Result<(Vec<String>, Statistics), DatasetError> {
    const EXPECTED: &str =
        "objects with question_id, question and answer_paragraphs (paragraph_id, paragraph_text)";
    let (mut queries, mut qrels, mut lengths) = (Vec::new(), Qrels::new(), Lengths::default());
    let mut ids_of_queries = UniqueIds::of_queries();
    for_each_record(input, EXPECTED, |line: Line| {
        let id = String::from(line.question_id);
        for paragraph in line.answer_paragraphs {
            qrels.insert(&id, &paragraph.paragraph_id, 1);
            lengths.add(&paragraph.paragraph_text);
        }
        let query = Query { id, text: line.question, answers: Vec::new() };
        ids_of_queries.add_query(&query)?;
        queries.push(query);
        Ok(())
    })?;
    let mut folder = Folder::create(output)?;
    folder.queries("queries.tsv", &queries)?;
    folder.qrels("qrels.txt", &qrels)?;
    let mut statistics = Statistics::default();
    if let Some(ids) = ids {
        folder.qrels("qrels.rows.txt", &by_rows(&qrels, ids)?)?;
        if !passages.is_empty() {
            let part = write_passages(&mut folder, passages, ids)?;
            statistics.0.push(part);
        }
    }
    let questions: Lengths = queries.iter().map(|query| query.text.as_str()).collect();
    let part = Part::new("queries").count("queries", queries.len()).judgments(&qrels);
    let part = part.real("characters_per_query", questions.mean());
    statistics.0.push(part.real("characters_per_positive", lengths.mean()));
    let names = folder.commit()?;
    Ok((names, statistics))
}

fn by_rows(qrels: &Qrels, ids: &PassageIds) -> Result<Qrels, DatasetError> {
    let rows = ids.rows();
    let mut by_rows = Qrels::new();
    for (query, judged) in qrels.iter() {
        for (id, grade) in judged {
            let row = rows.get(id.as_str()).ok_or_else(|| DatasetError::NoRow(id.clone()))?;
            by_rows.insert(query, &row.to_string(), *grade);
        }
    }
    Ok(by_rows)
}

fn write_passages(folder: &mut Folder, parts: &[Input], ids: &PassageIds) -> Result<Part, DatasetError> {
    let options = ReadOptions { format: Some(CollectionFormat::RocketQa), ..ReadOptions::default() };
    let mut lengths = Lengths::default();
    let mut file = folder.file("corpus.jsonl")?;
    for passage in open_collection(parts, &options)? {
        let passage = passage?;
        let id = ids.of_row(&passage.id).ok_or_else(|| DatasetError::NoRow(passage.id.clone()))?;
        lengths.add(&passage.text);
        file.json(&DocumentLine { id: id.to_owned(), title: "", text: &passage.text })?;
    }
    if lengths.texts() != ids.0.len() {
        let problem = format!("the parts have {} passages, the map {}", lengths.texts(), ids.0.len());
        return Err(DatasetError::Record {
            file: names_of(parts),
            line: 0,
            problem,
            expected: "all parts, in their order",
        });
    }
    Ok(Part::new("collection").count("passages", lengths.texts()).lengths(&lengths))
}

/// How many passages of a query the official script reads.
pub const PREDICTION_DEPTH: usize = 50;

/// Writes `prediction.json`, which the official script reads: for each query the identifiers of its first
/// passages. With the map of identifiers, the run's documents are rows.
///
/// # Errors
/// If a document is in no row, or the file cannot be written.
pub fn write_prediction(
    run: &Run,
    depth: usize,
    ids: Option<&PassageIds>,
    output: &Path,
) -> Result<(Vec<String>, Statistics), DatasetError> {
    let mut predicted = serde_json::Map::new();
    let mut passages = 0;
    for (query, entries) in &run.queries {
        let entries = ranked_documents(query, entries)?;
        let name = |id: &String| match ids {
            None => Ok(id.clone()),
            Some(ids) => ids.of_row(id).map(str::to_owned).ok_or_else(|| DatasetError::NoRow(id.clone())),
        };
        let names = entries.iter().take(depth).map(|entry| name(&entry.doc_id));
        let names = names.collect::<Result<Vec<String>, DatasetError>>()?;
        passages += names.len();
        predicted.insert(query.clone(), names.into());
    }
    let queries = predicted.len();
    let mut folder = Folder::create(output)?;
    folder.file("prediction.json")?.json(&predicted)?;
    let names = folder.commit()?;
    let part = Part::new("prediction").count("queries", queries).count("passages", passages);
    Ok((names, Statistics(vec![part])))
}

/// Writes `dev.json` from queries, judgments (grades above 0 count) and the texts of the relevant passages.
///
/// # Errors
/// If a judged query is missing, a relevant passage has no text, or the file cannot be written.
pub fn write_official(
    queries: &[Query],
    qrels: &Qrels,
    texts: &HashMap<String, String>,
    output: &Path,
) -> Result<(Vec<String>, Statistics), DatasetError> {
    check_judged(queries, qrels, None)?;
    let mut folder = Folder::create(output)?;
    let mut file = folder.file("dev.json")?;
    for query in queries {
        let relevant = qrels.query(&query.id).into_iter().flatten().filter(|(_, grade)| **grade > 0);
        let paragraph = |(id, _): (&String, &i32)| {
            let text = texts.get(id).ok_or_else(|| DatasetError::NoText { file: None, id: id.clone() })?;
            Ok(AnswerParagraph { paragraph_id: id.clone(), paragraph_text: text.clone() })
        };
        let answer_paragraphs = relevant.map(paragraph).collect::<Result<Vec<_>, DatasetError>>()?;
        file.json(&LineOut { question_id: &query.id, question: &query.text, answer_paragraphs })?;
    }
    let names = folder.commit()?;
    let part = Part::new("queries").count("queries", queries.len()).judgments(qrels);
    Ok((names, Statistics(vec![part])))
}
