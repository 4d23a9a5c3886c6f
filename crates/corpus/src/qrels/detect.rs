//! The formats of qrels, and their detection.

use toller_ir::named;

use crate::error::CorpusError;
use crate::format::{EXCHANGED, Sniff, tab_columns, usual_columns};
use crate::text::{Shape, header_index, is_hit, parse_grade, tabs_or_spaces};

named! {
    /// The formats of qrels.
    pub enum QrelsFormat: "a format of qrels" {
        /// TREC's four columns: query, iteration (not used), document, grade.
        Trec = "trec",
        /// BEIR's three tab-separated columns: query, document, grade; with or without a header.
        Beir = "beir",
        /// T2Ranking's two columns: query, document; the grade is 1.
        Pairs = "pairs",
        /// One JSON object a line: `query-id`, `corpus-id`, `score`. Without other fields than the first two,
        /// the grade is 1.
        Jsonl = "jsonl",
        /// One JSON object of objects: the grade of each document of each query, as pytrec_eval and ranx have
        /// it.
        Json = "json",
        /// A Parquet file with the columns `query-id`, `corpus-id` and `score`, or only the first two.
        Parquet = "parquet",
    }
}

/// The names of columns in headers.
pub(crate) const QUERY: &[&str] =
    &["query-id", "query_id", "qid", "q_id", "query", "question_id", "topic_id", "topic-id", "topic"];
pub(crate) const DOCUMENT: &[&str] = &[
    "corpus-id", "corpus_id", "doc-id", "doc_id", "docid", "docno", "pid", "passage_id", "passage-id",
    "doc_key", "document_id", "doc", "document", "passage",
];

/// The columns of queries and documents, if a line is a header that names both. Of two columns, it may name
/// only the first. A header holds no grade.
pub(crate) fn of_header(cells: &[&str]) -> Option<(usize, usize)> {
    if cells.iter().any(|cell| parse_grade(cell).is_some()) {
        return None;
    }
    match (header_index(cells, QUERY), header_index(cells, DOCUMENT)) {
        (Some(query), Some(document)) => Some((query, document)),
        (Some(0), None) if cells.len() == 2 => Some((0, 1)),
        (None, Some(0)) if cells.len() == 2 => Some((1, 0)),
        _ => None,
    }
}

/// Detects the format from the name and the beginning of a file.
///
/// # Errors
/// [`CorpusError::UnknownFormat`] with the formats that it could be.
pub(crate) fn detect(sniff: &Sniff) -> Result<QrelsFormat, CorpusError> {
    if sniff.is_parquet() {
        return Ok(QrelsFormat::Parquet);
    }
    if sniff.named(&["jsonl", "ndjson"]) {
        return Ok(QrelsFormat::Jsonl);
    }
    let lines = sniff.lines();
    let judgments: Vec<&str> = lines.into_iter().filter(|line| !line.trim_start().starts_with('#')).collect();
    // An identifier may begin as JSON does.
    if !judgments.first().is_some_and(|line| ends_in_grade(line)) {
        if sniff.nests_numbers() {
            return Ok(QrelsFormat::Json);
        }
        if sniff.nests_objects() {
            return Err(sniff.unsupported(
                "a JSON object of objects that are not grades of documents",
                "write each query with its documents and their grades, {\"q1\": {\"d1\": 1}}",
            ));
        }
        if sniff.json() == Some(Shape::Object) {
            return Ok(QrelsFormat::Jsonl);
        }
    }
    if judgments.is_empty() {
        return Ok(QrelsFormat::Trec);
    }
    let in_commas = || {
        let remedy = "separate the columns by tabs, as in sed 's/,/\\t/g'";
        sniff.unsupported("judgments are not read from CSV", remedy)
    };
    if of_header(&judgments[0].split(',').collect::<Vec<_>>()).is_some() {
        return Err(in_commas());
    }
    if is_hit(judgments[0]) {
        return Err(sniff.unsupported("a run, where judgments are expected", EXCHANGED));
    }
    let columns = usual_columns(&judgments, |line| match tab_columns(line) {
        // Identifiers with spaces are between tabs.
        tabs @ 2..=4 => tabs,
        _ => tabs_or_spaces(line, &mut [""; 4]),
    });
    match columns {
        4 => Ok(QrelsFormat::Trec),
        3 => Ok(QrelsFormat::Beir),
        2 => Ok(QrelsFormat::Pairs),
        1 if judgments[0].contains(',') => Err(in_commas()),
        _ => Err(sniff.unknown("qrels", &QrelsFormat::ALL, QrelsFormat::name)),
    }
}

/// Whether a line is certainly a judgment in TREC's or BEIR's form: a grade is in its last column.
fn ends_in_grade(line: &str) -> bool {
    let mut cells = [""; 4];
    match tabs_or_spaces(line, &mut cells) {
        4 => parse_grade(cells[3]).is_some(),
        3 => tab_columns(line) == 3 && parse_grade(cells[2]).is_some(),
        _ => false,
    }
}
