//! The formats of qrels, and their detection.

use toller_ir::named;

use crate::error::CorpusError;
use crate::format::{Sniff, tab_columns, usual_columns};
use crate::text::{Shape, header_index, tabs_or_spaces};

named! {
    /// The formats of qrels.
    pub enum QrelsFormat: "a format of qrels" {
        /// TREC's four columns: query, iteration (not used), document, grade.
        Trec = "trec",
        /// BEIR's three tab-separated columns: query, document, grade; with or without a header.
        Beir = "beir",
        /// T2Ranking's two columns: query, document; the grade is 1.
        Pairs = "pairs",
        /// One JSON object a line: `query-id`, `corpus-id`, `score`.
        Jsonl = "jsonl",
    }
}

/// The names of columns in headers.
pub(crate) const QUERY: &[&str] = &["query-id", "query_id", "qid", "topic"];
pub(crate) const DOCUMENT: &[&str] = &["corpus-id", "corpus_id", "doc-id", "doc_id", "docid", "docno", "pid"];

/// Whether a line is a header: it names the query's column and the document's.
pub(crate) fn is_header(cells: &[&str]) -> bool {
    header_index(cells, QUERY).is_some() && header_index(cells, DOCUMENT).is_some()
}

/// Detects the format from the name and the beginning of a file.
///
/// # Errors
/// [`CorpusError::UnknownFormat`] with the formats that it could be.
pub(crate) fn detect(sniff: &Sniff) -> Result<QrelsFormat, CorpusError> {
    if sniff.nests_objects() {
        return Err(sniff.unsupported(
            "judgments are not read from a JSON object of objects, as pytrec_eval and ranx keep them",
            "write them in TREC's form, as ranx does with qrels.save(\"qrels.trec\")",
        ));
    }
    if sniff.json() == Some(Shape::Object) || sniff.named(&["jsonl", "ndjson"]) {
        return Ok(QrelsFormat::Jsonl);
    }
    let lines = sniff.lines();
    let judgments: Vec<&str> = lines.into_iter().filter(|line| !line.trim_start().starts_with('#')).collect();
    if judgments.is_empty() {
        return Ok(QrelsFormat::Trec);
    }
    if is_header(&judgments[0].split(',').collect::<Vec<_>>()) {
        let remedy = "separate the columns by tabs, as in sed 's/,/\\t/g'";
        return Err(sniff.unsupported("judgments are not read from CSV", remedy));
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
        _ => Err(sniff.unknown("qrels", &QrelsFormat::ALL, QrelsFormat::name)),
    }
}
