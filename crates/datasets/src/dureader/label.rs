//! From DuReader's documents and answers to passages and judgments.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use toller_analysis::Analyzer;
use toller_files::Input;
use toller_ir::{Qrels, Query, named};
use xxhash_rust::xxh3::xxh3_128;

use crate::dureader::passages::join_paragraphs;
use crate::dureader::span_f1::SpanF1;
use crate::error::DatasetError;
use crate::folder::{Folder, UniqueIds};
use crate::lines::DocumentLine;
use crate::records::{Id, for_each_record};
use crate::statistics::{Lengths, Part, Statistics, mean};

named! {
    /// What a token of a span is; the paper does not say.
    #[derive(Default)]
    pub enum SpanUnit: "a unit of spans" {
        /// A character that is not white space, in lower case.
        #[default]
        Characters = "characters",
        /// A word, as jieba finds them.
        Words = "words",
    }
}

/// How passages are made and labelled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Labelling {
    /// When a paragraph has an answer.
    pub rule: SpanF1,
    /// What a token of a span is.
    pub unit: SpanUnit,
    /// The length that a passage is to exceed, in characters.
    pub length: usize,
    /// Keep the titles of documents.
    pub titles: bool,
}

impl Default for Labelling {
    fn default() -> Self {
        Self { rule: SpanF1::default(), unit: SpanUnit::default(), length: 256, titles: false }
    }
}

#[derive(Deserialize)]
struct Record {
    question_id: Id,
    question: String,
    #[serde(default)]
    answers: Vec<String>,
    documents: Vec<Document>,
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    title: String,
    paragraphs: Vec<String>,
}

const EXPECTED: &str =
    "DuReader: objects with question_id, question, answers and documents (title, paragraphs)";

/// Turns texts into tokens.
enum Tokens {
    Characters,
    Words(Analyzer),
}

impl Tokens {
    fn of(&self, text: &str) -> Vec<String> {
        match self {
            Self::Characters => {
                let characters = text.chars().filter(|c| !c.is_whitespace());
                characters.map(|c| c.to_lowercase().collect()).collect()
            }
            Self::Words(analyzer) => analyzer.analyze(text),
        }
    }
}

/// Writes corpus.jsonl, queries.tsv and qrels.txt. A passage's identifier is its row; equal texts are one
/// passage. Questions without a positive passage are left out, and their passages stay.
///
/// Titles are left out unless they are to be kept, and so is a paragraph that repeats its document's title.
///
/// # Errors
/// If a file cannot be read or written, or a record is not of DuReader's form.
pub fn label_dureader(
    inputs: &[Input],
    labelling: &Labelling,
    output: &Path,
) -> Result<(Vec<String>, Statistics), DatasetError> {
    let tokens = match labelling.unit {
        SpanUnit::Characters => Tokens::Characters,
        SpanUnit::Words => Tokens::Words(Analyzer::by_name("jieba")?),
    };
    let mut folder = Folder::create(output)?;
    let mut rows: HashMap<u128, usize> = HashMap::new();
    let (mut queries, mut qrels, mut ids) = (Vec::new(), Qrels::new(), UniqueIds::of_queries());
    let (mut all, mut positive, mut questions, mut asked) =
        (Lengths::default(), Lengths::default(), Lengths::default(), 0);
    let mut corpus = folder.file("corpus.jsonl")?;
    for input in inputs {
        for_each_record(input, EXPECTED, |record: Record| {
            asked += 1;
            let id = String::from(record.question_id);
            let answers: Vec<Vec<String>> = record.answers.iter().map(|answer| tokens.of(answer)).collect();
            for document in &record.documents {
                let is_title = |text: &str| text.trim() == document.title.trim();
                let kept = document.paragraphs.iter().map(|text| text.trim());
                let kept = kept.filter(|text| !text.is_empty() && (labelling.titles || !is_title(text)));
                let label = |text| {
                    let tokens = tokens.of(text);
                    (text, answers.iter().any(|answer| labelling.rule.is_in(&tokens, answer)))
                };
                let paragraphs: Vec<(&str, bool)> = kept.map(label).collect();
                for passage in join_paragraphs(&paragraphs, labelling.length) {
                    let next = rows.len();
                    let title = if labelling.titles { document.title.as_str() } else { "" };
                    let key = xxh3_128(format!("{title}\t{}", passage.text).as_bytes());
                    let row = *rows.entry(key).or_insert(next);
                    if row == next {
                        all.add(&passage.text);
                        let line = DocumentLine { id: row.to_string(), title, text: &passage.text };
                        corpus.json(&line)?;
                    }
                    if passage.positive && qrels.insert(&id, &row.to_string(), 1).is_none() {
                        positive.add(&passage.text);
                    }
                }
            }
            if qrels.query(&id).is_some() {
                questions.add(&record.question);
                let query = Query { id, text: record.question, answers: Vec::new() };
                ids.add_query(&query)?;
                queries.push(query);
            }
            Ok(())
        })?;
    }
    let labelled = Part::new("labelled")
        .count("questions", asked)
        .count("queries", queries.len())
        .count("positives", positive.texts())
        .real("positives_per_query", mean(positive.texts() as f64, queries.len()))
        .real("characters_per_query", questions.mean())
        .real("characters_per_positive", positive.mean());
    let collection = Part::new("collection").count("passages", all.texts()).lengths(&all);
    folder.queries("queries.tsv", &queries)?;
    folder.qrels("qrels.txt", &qrels)?;
    let names = folder.commit()?;
    Ok((names, Statistics(vec![collection, labelled])))
}
