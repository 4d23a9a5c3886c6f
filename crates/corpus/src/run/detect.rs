//! The formats of runs, and their detection.

use std::io::{BufRead, Read};
use std::path::Path;

use toller_files::{Input, InputReader};
use toller_ir::named;

use crate::error::CorpusError;
use crate::format::{Sniff, tab_columns, usual_columns};
use crate::text::{Shape, parse_score, tabs_or_spaces};

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
        /// DPR's JSON array of `{"question", "ctxs": [{"id", "score"}]}`; query identifiers are positions.
        Dpr = "dpr",
        /// DuReader-retrieval's predictions: one JSON object of lists of documents, best first.
        DuReaderJson = "dureader-json",
    }
}

/// No line of a run is as long.
const LONGEST_LINE: u64 = 1 << 16;

/// Detects the format from the beginning of a file.
///
/// # Errors
/// [`CorpusError::UnknownFormat`] with the formats that it could be.
pub(crate) fn detect(sniff: &Sniff) -> Result<RunFormat, CorpusError> {
    let unknown = |candidates: &[RunFormat]| sniff.unknown("a run", candidates, RunFormat::name);
    let lines: Vec<&str> =
        sniff.lines().into_iter().filter(|line| !line.trim_start().starts_with('#')).collect();
    // An identifier may begin as JSON does.
    if lines.first().is_some_and(|line| is_trec(line)) {
        return Ok(RunFormat::Trec);
    }
    match sniff.json() {
        Some(Shape::Array) => return Ok(RunFormat::Dpr),
        Some(Shape::Object) if sniff.nests_objects() => {
            return Err(sniff.unsupported(
                "runs are not read from a JSON object of objects, as pytrec_eval and ranx keep them",
                "write the run in TREC's form, as ranx does with run.save(\"run.trec\")",
            ));
        }
        Some(Shape::Object) => return Ok(RunFormat::DuReaderJson),
        None => {}
    }
    if lines.is_empty() {
        return Ok(RunFormat::Trec);
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
        _ => Err(unknown(&RunFormat::ALL)),
    }
}

/// Whether a file, compressed or not, begins with a line of a TREC run.
#[must_use]
pub fn is_trec_run(path: &Path) -> bool {
    let Ok(reader) = InputReader::open(&Input::File(path.to_owned())) else { return false };
    let mut line = Vec::new();
    reader
        .take(LONGEST_LINE)
        .read_until(b'\n', &mut line)
        .is_ok_and(|_| str::from_utf8(&line).is_ok_and(is_trec))
}

/// Whether a line is certainly one of a TREC run: `Q0`, a rank and a score are in their columns.
fn is_trec(line: &str) -> bool {
    let mut cells = [""; 6];
    let width = tabs_or_spaces(line, &mut cells);
    let [_, constant, _, rank, score, _] = cells;
    width >= 6 && constant == "Q0" && rank.parse::<u64>().is_ok() && parse_score(score).is_some()
}

/// The third column of MS MARCO's runs are the ranks 1, 2, ... of each query. A fraction, an exponent, a sign
/// or a value below the one before it shows scores. Anything else could be either.
fn three_columns(lines: &[&str]) -> Option<RunFormat> {
    let mut last = ("", 0);
    let mut ranks = true;
    for line in lines {
        let mut cells = [""; 3];
        tabs_or_spaces(line, &mut cells);
        let [query, _, value] = cells;
        let Ok(value) = value.parse::<u64>() else { return Some(RunFormat::Tevatron) };
        let same_query = last.0 == query;
        if same_query && value < last.1 {
            return Some(RunFormat::Tevatron);
        }
        ranks &= value == if same_query { last.1 + 1 } else { 1 };
        last = (query, value);
    }
    ranks.then_some(RunFormat::MsMarco)
}

#[cfg(test)]
mod tests {
    use super::{RunFormat, three_columns};

    #[test]
    fn ranks_and_scores_are_told_apart() {
        let detect = |lines: &[(&str, &str)]| {
            let lines: Vec<_> = lines.iter().map(|(query, value)| format!("{query}\td\t{value}")).collect();
            three_columns(&lines.iter().map(String::as_str).collect::<Vec<_>>())
        };
        assert_eq!(detect(&[("1", "1"), ("1", "2"), ("2", "1")]), Some(RunFormat::MsMarco));
        assert_eq!(detect(&[("1", "3"), ("1", "2"), ("2", "1")]), Some(RunFormat::Tevatron));
        assert_eq!(detect(&[("1", "1"), ("1", "0.5")]), Some(RunFormat::Tevatron));
        assert_eq!(detect(&[("1", "-1")]), Some(RunFormat::Tevatron));
        assert_eq!(detect(&[("1", "1"), ("1", "3")]), None);
        assert_eq!(detect(&[("1", "2"), ("2", "2")]), None);
    }
}
