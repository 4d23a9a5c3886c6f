//! The formats of queries, and their detection.

use toller_ir::named;

use crate::ColumnNames;
use crate::error::CorpusError;
use crate::format::{Sniff, tab_columns, usual_columns};
use crate::text::{Shape, parse_quoted, parse_string_list};

named! {
    /// The formats of queries.
    pub enum QueryFormat: "a format of queries" {
        /// One JSON object a line: BEIR, DPR, DuReader-retrieval.
        Jsonl = "jsonl",
        /// JSON objects over any number of lines, one after another or in one array: EntityQuestions.
        Json = "json",
        /// `id<TAB>text`, with or without a header.
        Tsv = "tsv",
        /// Comma-separated columns, quoted as Python's csv module quotes, with a header.
        Csv = "csv",
        /// DPR's `question<TAB>['answer', "answer"]`; identifiers are row numbers.
        Dpr = "dpr",
        /// RocketQA's one column `text`, or four `text<TAB>-<TAB>-<TAB>0`; identifiers are row numbers.
        RocketQa = "rocketqa",
        /// TREC topics: `<top>` with `<num>` and `<title>`, `<topic number="...">` with `<query>` or
        /// with text alone, or `<doc>` with `<docno>`.
        Trec = "trec",
        /// A Parquet file with columns named as the fields of JSONL.
        Parquet = "parquet",
    }
}

/// Detects the format from the name and the beginning of a file.
///
/// # Errors
/// [`CorpusError::UnknownFormat`] with the formats that it could be.
pub(crate) fn detect(sniff: &Sniff, columns: &ColumnNames) -> Result<QueryFormat, CorpusError> {
    let unknown = |candidates: &[QueryFormat]| sniff.unknown("queries", candidates, QueryFormat::name);
    if sniff.is_parquet() {
        return Ok(QueryFormat::Parquet);
    }
    match sniff.json() {
        Some(Shape::Array) => return Ok(QueryFormat::Json),
        Some(Shape::Object) if sniff.first_object_has_lines() => return Ok(QueryFormat::Json),
        Some(Shape::Object) => return Ok(QueryFormat::Jsonl),
        None if sniff.named(&["jsonl", "ndjson"]) => return Ok(QueryFormat::Jsonl),
        None if sniff.begins_with_tag() => return Ok(QueryFormat::Trec),
        None => {}
    }
    let lines = sniff.lines();
    // An empty file holds no queries in any format; the reader says so.
    let Some(first) = lines.first() else { return Ok(QueryFormat::Tsv) };
    let cells: Vec<&str> = first.split('\t').collect();
    let names = columns.in_header_of_queries();
    // The reader says which column of a header is missing.
    if names.of_header(&cells).is_some() || names.begin_header(&cells) && cells.len() > 1 {
        return Ok(QueryFormat::Tsv);
    }
    // DPR calls tab-separated files .csv.
    let is_csv = sniff.named(&["csv"]) && !first.contains('\t');
    if is_csv || names.of_header(&parse_quoted(first, ',').unwrap_or_default()).is_some() {
        return Ok(QueryFormat::Csv);
    }
    let columns = usual_columns(&lines, tab_columns);
    let usual: Vec<&str> = lines.iter().copied().filter(|line| tab_columns(line) == columns).collect();
    match columns {
        1 if sniff.named(&["tsv"]) => Ok(QueryFormat::Tsv),
        // A line without tabs may be a query, or an identifier and a query with a space between.
        1 if sniff.named(&["q"]) => Ok(QueryFormat::RocketQa),
        1 if sniff.lists_strings() => Err(sniff.unsupported(
            "a JSON array of strings; queries need objects with a text",
            "write each query as an object, {\"id\": ..., \"text\": ...}",
        )),
        1 => Err(unknown(&[QueryFormat::RocketQa, QueryFormat::Tsv])),
        2 if usual.iter().all(|line| has_answers(line)) => Ok(QueryFormat::Dpr),
        2 => Ok(QueryFormat::Tsv),
        4 if usual.iter().all(|line| line.ends_with("\t-\t-\t0")) => Ok(QueryFormat::RocketQa),
        3.. => Err(unknown(&[])),
        _ => Err(unknown(&QueryFormat::ALL)),
    }
}

fn has_answers(line: &str) -> bool {
    let fields = parse_quoted(line, '\t').unwrap_or_default();
    fields.len() == 2 && fields.get(1).is_some_and(|answers| parse_string_list(answers).is_some())
}
