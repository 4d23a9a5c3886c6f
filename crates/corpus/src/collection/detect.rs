//! The formats of collections, and their detection.

use toller_ir::{Setting, named, remedy};

use crate::ColumnNames;
use crate::collection::columns::Columns;
use crate::error::CorpusError;
use crate::format::{Sniff, tab_columns, usual_columns};
use crate::text::{Shape, parse_quoted};

named! {
    /// The formats of collections.
    pub enum CollectionFormat: "a format of collections" {
        /// One JSON object a line: `_id`, `id`, `pid` or `docid`; `title`; `text`, `contents`, `passage`, ...
        Jsonl = "jsonl",
        /// The same objects over any number of lines, one after another or in one array.
        Json = "json",
        /// `id<TAB>text`, with or without a header; with a header, columns in any order.
        Tsv = "tsv",
        /// Comma-separated columns, quoted as Python's csv module quotes, with a header.
        Csv = "csv",
        /// DPR's `id<TAB>text<TAB>title`, quoted as Python's csv module quotes, with or without a header.
        Dpr = "dpr",
        /// RocketQA's `title<TAB>text` or `-<TAB>title<TAB>text<TAB>0`; identifiers are row numbers.
        RocketQa = "rocketqa",
        /// `<doc>` elements with `<docno>`, `<title>` and `<text>` or plain text.
        Trec = "trec",
        /// A Parquet file with columns named as the fields of JSONL.
        Parquet = "parquet",
    }
}

/// Detects the format from the name and the beginning of a file.
///
/// # Errors
/// [`CorpusError::UnknownFormat`] with the formats that it could be.
pub(crate) fn detect(sniff: &Sniff, columns: &ColumnNames) -> Result<CollectionFormat, CorpusError> {
    let unknown =
        |candidates: &[CollectionFormat]| sniff.unknown("a collection", candidates, CollectionFormat::name);
    if sniff.is_parquet() {
        return Ok(CollectionFormat::Parquet);
    }
    let json = sniff.json();
    if json == Some(Shape::Array) || json == Some(Shape::Object) && sniff.first_object_has_lines() {
        return Ok(CollectionFormat::Json);
    }
    if json == Some(Shape::Object) || sniff.named(&["jsonl", "ndjson"]) {
        return Ok(CollectionFormat::Jsonl);
    }
    if sniff.begins_with_tag() {
        return Ok(CollectionFormat::Trec);
    }
    let lines = sniff.lines();
    let Some(first) = lines.first() else {
        // An empty file holds no passages in any format; the reader says so.
        return Ok(CollectionFormat::Tsv);
    };
    let cells: Vec<&str> = first.split('\t').collect();
    let names = columns.in_passages();
    if Columns::of_header(&cells, &names).is_some() {
        // Files with DPR's header come from Python's csv module.
        let is_dpr = cells == ["id", "text", "title"];
        return Ok(if is_dpr { CollectionFormat::Dpr } else { CollectionFormat::Tsv });
    }
    let commas = parse_quoted(first, ',').unwrap_or_default();
    // DPR calls tab-separated files .csv.
    let is_csv = sniff.named(&["csv"]) && !first.contains('\t');
    if is_csv || Columns::of_header(&commas, &names).is_some() {
        return Ok(CollectionFormat::Csv);
    }
    // The reader says which column is missing.
    if (names.are_given || names.begin_header(&cells)) && first.contains('\t') {
        return Ok(CollectionFormat::Tsv);
    }
    let columns = usual_columns(&lines, tab_columns);
    let usual: Vec<&str> = lines.iter().copied().filter(|line| tab_columns(line) == columns).collect();
    match columns {
        1 if sniff.named(&["tsv"]) => Ok(CollectionFormat::Tsv),
        2 => two_columns(&usual).ok_or_else(|| unknown(&[CollectionFormat::Tsv, CollectionFormat::RocketQa])),
        3 => Err(unknown(&[CollectionFormat::Dpr])),
        4 if usual.iter().all(|line| line.starts_with("-\t") && line.ends_with("\t0")) => {
            Ok(CollectionFormat::RocketQa)
        }
        4.. => Err(unknown(&[])),
        _ => Err(sniff.unsupported(
            "plain text files are not read as a collection",
            remedy!(
                "write one JSON object a line, {\"id\": ..., \"text\": ...}; if the file has another format, \
                 name it with {}",
                Setting::Format
            ),
        )),
    }
}

/// Two columns are `id text` if the values of the first are distinct and without spaces, and `title text` if
/// one of them is `-`. Otherwise a title looks like an identifier with spaces, and a repeated title like a
/// duplicate.
fn two_columns(lines: &[&str]) -> Option<CollectionFormat> {
    let mut firsts: Vec<&str> = lines.iter().filter_map(|line| line.split('\t').next()).collect();
    if firsts.contains(&"-") {
        return Some(CollectionFormat::RocketQa);
    }
    if firsts.iter().any(|first| first.trim().contains(char::is_whitespace)) {
        return None;
    }
    let count = firsts.len();
    firsts.sort_unstable();
    firsts.dedup();
    // A few repeated identifiers are duplicates, to be reported as such; many are titles.
    (firsts.len() * 2 > count).then_some(CollectionFormat::Tsv)
}
