//! The formats of runs, and their detection.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Read};
use std::path::Path;

use serde::Deserialize;
use toller_files::{Input, InputReader};
use toller_ir::{Command, named, remedy};

use crate::error::CorpusError;
use crate::format::{EXCHANGED, Sniff, tab_columns, usual_columns};
use crate::text::{Shape, is_hit, is_judgment, parse_score, tabs_or_spaces};

named! {
    /// The formats of runs.
    pub enum RunFormat: "a format of runs" {
        /// TREC's six columns: query, `Q0`, document, rank (not used), score, tag.
        Trec = "trec",
        /// MS MARCO's three columns: query, document, rank.
        MsMarco = "msmarco",
        /// Tevatron's three columns: query, document, score.
        Tevatron = "tevatron",
        /// DuReader-retrieval's four tab-separated columns: the query's text, document, rank, score.
        DuReader = "dureader",
        /// DPR's JSON objects `{"question", "ctxs": [{"id", "score"}]}`, in one array or one after another;
        /// query identifiers are positions.
        Dpr = "dpr",
        /// DuReader-retrieval's predictions: one JSON object of lists of documents, best first.
        DuReaderJson = "dureader-json",
        /// One JSON object of objects: the score of each document of each query, as pytrec_eval and ranx have
        /// it.
        Json = "json",
        /// A Parquet file with the columns `query-id`, `corpus-id` and `score`, as ranx and tables of results
        /// have them under names of their own; a rank is not used.
        Parquet = "parquet",
    }
}

/// The name of the format of partial runs, which is in their first line.
pub const PARTIAL_RUN: &str = "toller-partial-run";

/// No line of a run is as long.
const LONGEST_LINE: u64 = 1 << 16;

/// Detects the format from the beginning of a file, and Parquet also from its name.
///
/// # Errors
/// [`CorpusError::UnknownFormat`] with the formats that it could be.
pub(crate) fn detect(sniff: &Sniff) -> Result<RunFormat, CorpusError> {
    if sniff.is_parquet() {
        return Ok(RunFormat::Parquet);
    }
    let unknown = |candidates: &[RunFormat]| sniff.unknown("a run", candidates, RunFormat::name);
    let lines: Vec<&str> =
        sniff.lines().into_iter().filter(|line| !line.trim_start().starts_with('#')).collect();
    // An identifier may begin as JSON does.
    if lines.first().is_some_and(|line| is_hit(line)) {
        return Ok(RunFormat::Trec);
    }
    match sniff.json() {
        Some(Shape::Array) => return Ok(RunFormat::Dpr),
        Some(Shape::Object) if sniff.first_object_has("ctxs") => return Ok(RunFormat::Dpr),
        Some(Shape::Object) if sniff.nests_numbers() => return Ok(RunFormat::Json),
        Some(Shape::Object) if sniff.nests_objects() => {
            return Err(sniff.unsupported(
                "a JSON object of objects that are not scores of documents",
                "write each query with its documents and their scores, {\"q1\": {\"d1\": 0.5}}",
            ));
        }
        Some(Shape::Object) if is_partial(&lines) => {
            let remedy = remedy!("join the partial runs of all shares with {}", Command::Merge);
            return Err(sniff.unsupported("a partial run of a search in shares", remedy));
        }
        Some(Shape::Object) => return Ok(RunFormat::DuReaderJson),
        None => {}
    }
    if lines.is_empty() {
        return Ok(RunFormat::Trec);
    }
    // DuReader's second column is a document, which a query has once.
    if lines.iter().all(|line| is_judgment(line)) {
        return Err(sniff.unsupported("judgments, where a run is expected", EXCHANGED));
    }
    let columns = |line: &str| match tab_columns(line) {
        // Identifiers with spaces are between tabs.
        tabs @ 3..=4 => tabs,
        _ => tabs_or_spaces(line, &mut [""; 6]).min(6),
    };
    match usual_columns(&lines, columns) {
        6 => Ok(RunFormat::Trec),
        4 if lines.iter().any(|line| tab_columns(line) == 4) => Ok(RunFormat::DuReader),
        3 => {
            let usual: Vec<&str> = lines.into_iter().filter(|line| columns(line) == 3).collect();
            three_columns(&usual).ok_or_else(|| unknown(&[RunFormat::MsMarco, RunFormat::Tevatron]))
        }
        // Columns are missing; the reader says which there must be.
        4..=5 => Ok(RunFormat::Trec),
        1 if lines[0].contains(',') => {
            let remedy = "write lines of query, Q0, document, rank, score and tag, with spaces between them";
            Err(sniff.unsupported("runs are not read from CSV", remedy))
        }
        _ => Err(unknown(&RunFormat::ALL)),
    }
}

/// Whether a file begins with the header of a partial run.
fn is_partial(lines: &[&str]) -> bool {
    #[derive(Deserialize)]
    struct Header {
        format: String,
    }
    let header = lines.first().and_then(|line| serde_json::from_str::<Header>(line).ok());
    header.is_some_and(|header| header.format == PARTIAL_RUN)
}

/// Whether a file, compressed or not, begins with a line of a TREC run.
#[must_use]
pub fn is_trec_run(path: &Path) -> bool {
    let Ok(reader) = InputReader::open(&Input::File(path.to_owned())) else { return false };
    let mut line = Vec::new();
    reader
        .take(LONGEST_LINE)
        .read_until(b'\n', &mut line)
        .is_ok_and(|_| str::from_utf8(&line).is_ok_and(is_hit))
}

/// Whether lines are certainly hits in MS MARCO's or Tevatron's format: the third of three columns is a rank
/// or a score. A query has each document once, unlike the positive of its triples.
#[must_use]
pub fn are_three_column_hits(lines: &[&str]) -> bool {
    let mut seen = HashSet::new();
    let are_hits = lines.iter().all(|line| {
        let mut cells = [""; 3];
        let width = tabs_or_spaces(line, &mut cells);
        let [query, document, value] = cells;
        width == 3 && parse_score(value).is_some() && seen.insert((query, document))
    });
    !lines.is_empty() && are_hits && three_columns(lines).is_some()
}

/// The third column of MS MARCO's runs are the ranks 1 to n of each query, in any order. A fraction, an
/// exponent or a sign shows scores, and so do integers that fall, but not by one each. Anything else could be
/// either: the ranks of a part of a file are not 1 to n, and scores that fall to 1 by one may be made of
/// ranks.
fn three_columns(lines: &[&str]) -> Option<RunFormat> {
    let mut values: HashMap<&str, Vec<u64>> = HashMap::new();
    for line in lines {
        let mut cells = [""; 3];
        tabs_or_spaces(line, &mut cells);
        let [query, _, value] = cells;
        match value.parse::<u64>() {
            Ok(value) => values.entry(query).or_default().push(value),
            Err(_) if parse_score(value).is_some() => return Some(RunFormat::Tevatron),
            // A header or a bad line says nothing.
            Err(_) => {}
        }
    }
    let steps = || values.values().flat_map(|values| values.iter().zip(values.iter().skip(1)));
    let falls = steps().all(|(before, value)| before >= value);
    let ranks = values.values().all(|values| {
        let mut sorted = values.clone();
        sorted.sort_unstable();
        sorted.into_iter().eq(1..=values.len() as u64)
    });
    if ranks && (!falls || steps().next().is_none()) {
        Some(RunFormat::MsMarco)
    } else if !ranks && falls && steps().any(|(before, value)| before - value != 1) {
        Some(RunFormat::Tevatron)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{RunFormat, are_three_column_hits, three_columns};

    #[test]
    fn ranks_and_scores_are_told_apart() {
        let detect = |lines: &[(&str, &str)]| {
            let lines: Vec<_> = lines.iter().map(|(query, value)| format!("{query}\td\t{value}")).collect();
            three_columns(&lines.iter().map(String::as_str).collect::<Vec<_>>())
        };
        assert_eq!(detect(&[("1", "1"), ("1", "2"), ("2", "1")]), Some(RunFormat::MsMarco));
        assert_eq!(detect(&[("1", "3"), ("1", "1"), ("2", "1"), ("1", "2")]), Some(RunFormat::MsMarco));
        assert_eq!(detect(&[("1", "1"), ("2", "1"), ("1", "2"), ("2", "2")]), Some(RunFormat::MsMarco));
        assert_eq!(detect(&[("q", "rank"), ("1", "2"), ("1", "1"), ("1", "3")]), Some(RunFormat::MsMarco));
        assert_eq!(detect(&[("1", "30"), ("1", "20"), ("2", "1")]), Some(RunFormat::Tevatron));
        assert_eq!(detect(&[("1", "9"), ("1", "9"), ("2", "7")]), Some(RunFormat::Tevatron));
        assert_eq!(detect(&[("1", "1"), ("1", "0.5")]), Some(RunFormat::Tevatron));
        assert_eq!(detect(&[("1", "-1")]), Some(RunFormat::Tevatron));
        assert_eq!(detect(&[("1", "1"), ("1", "3")]), None);
        assert_eq!(detect(&[("1", "2"), ("2", "2")]), None);
        assert_eq!(detect(&[("1", "3"), ("1", "2"), ("1", "1")]), None);
        assert_eq!(detect(&[("1", "70"), ("1", "3"), ("1", "12")]), None);
    }

    #[test]
    fn hits_are_told_from_triples() {
        for hits in [&["1\ta\t1", "1\tb\t2"][..], &["1\ta\t2.5", "2\ta\t-1"], &["1 a 30", "1 b 20"]] {
            assert!(are_three_column_hits(hits), "{hits:?}");
        }
        for triples in [&[""; 0][..], &["1\tp\ta"], &["1\t7\t30", "1\t7\t20"], &["1\t7\t30", "2\t8\t20"]] {
            assert!(!are_three_column_hits(triples), "{triples:?}");
        }
    }
}
