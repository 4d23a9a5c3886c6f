//! Negatives by identifier: what `mine` writes as JSON lines or tab-separated, and MS MARCO's triples.
//! Millions fit the memory: each identifier is kept once, and a negative is its number.

use std::collections::HashMap;
use std::path::Path;

use indexmap::IndexSet;
use serde::Deserialize;
use toller_corpus::{JsonId, are_three_column_hits};
use toller_ir::in_words_of_json_line;

use super::Candidate;
use super::records::Records;
use crate::TrainError;

/// The negatives of queries.
#[derive(Debug, Default)]
pub struct Negatives {
    ids: IndexSet<Box<str>>,
    of_query: HashMap<String, OfQuery>,
}

/// The negatives of a query, in the order of their file.
#[derive(Debug, Default)]
struct OfQuery {
    /// Numbers of identifiers.
    ids: Vec<u32>,
    /// A score for each, NaN for none; or nothing if none has a score.
    scores: Vec<f64>,
    /// The positives that the file has: the numbers of their identifiers, and scores, NaN for none.
    of_positives: Vec<(u32, f64)>,
}

impl Negatives {
    /// The queries.
    pub(super) fn queries(&self) -> impl ExactSizeIterator<Item = &str> {
        self.of_query.keys().map(String::as_str)
    }

    /// The negatives of a query.
    pub(super) fn get(&self, query: &str) -> impl Iterator<Item = Candidate> {
        let of_query = self.of_query.get(query);
        of_query.into_iter().flat_map(|own| {
            let scores = own.scores.iter().map(|score| Some(*score).filter(|score| !score.is_nan()));
            own.ids.iter().zip(scores.chain(std::iter::repeat(None))).map(|(id, score)| Candidate {
                id: Some(self.ids[*id as usize].to_string()),
                score,
                ..Candidate::default()
            })
        })
    }

    /// The score of a query's positive, if the file has it.
    pub(super) fn score_of_positive(&self, query: &str, id: &str) -> Option<f64> {
        let of_positives = &self.of_query.get(query)?.of_positives;
        let number = self.ids.get_index_of(id)?;
        let found = of_positives.iter().find(|(positive, _)| *positive as usize == number);
        found.map(|(_, score)| *score).filter(|score| !score.is_nan())
    }

    /// Whether a relevant document of a query is a positive. Where the file has positives, no other is.
    pub(super) fn keeps_positive(&self, query: &str, id: &str) -> bool {
        let Some(own) = self.of_query.get(query).filter(|own| !own.of_positives.is_empty()) else {
            return true;
        };
        let number = self.ids.get_index_of(id);
        own.of_positives.iter().any(|(positive, _)| Some(*positive as usize) == number)
    }

    /// The number of an identifier. An error says what is wrong.
    fn number(&mut self, id: &str) -> Result<u32, String> {
        let number = match self.ids.get_index_of(id) {
            Some(number) => number,
            None => self.ids.insert_full(id.into()).0,
        };
        u32::try_from(number).map_err(|_| "more than 2^32 documents".to_owned())
    }

    /// Adds a negative of a query. An error says what is wrong with it.
    fn push(&mut self, query: String, id: &str, score: Option<f64>) -> Result<(), String> {
        let number = self.number(id)?;
        let own = self.of_query.entry(query).or_default();
        if score.is_some() && own.scores.is_empty() {
            own.scores.resize(own.ids.len(), f64::NAN);
        }
        own.ids.push(number);
        if score.is_some() || !own.scores.is_empty() {
            own.scores.push(score.unwrap_or(f64::NAN));
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Line {
    query_id: JsonId,
    #[serde(default)]
    positives: Vec<Document>,
    negatives: Vec<Document>,
}

#[derive(Deserialize)]
struct Document {
    id: JsonId,
    score: Option<f64>,
}

/// Lines that show whether three columns are those of a run.
const SHOWING: usize = 200;

/// The negatives of each query, in the order of the file, which may be compressed.
///
/// # Errors
/// When the file cannot be read, is a run, or has a bad line.
pub fn read_negatives(path: &Path) -> Result<Negatives, TrainError> {
    let records = Records::open(path)?;
    let line = |index: usize| records.get(index).trim_ascii();
    let start = usize::from(records.len() > 0 && line(0).starts_with(b"qid\t"));
    let shown = start..records.len().min(start + SHOWING);
    let shown: Vec<&str> = shown.filter_map(|index| str::from_utf8(line(index)).ok()).collect();
    if are_three_column_hits(&shown) {
        return Err(records.error(start, of_run("a line of a run with ranks or scores")));
    }
    let mut found = Negatives::default();
    for index in start..records.len() {
        let parsed = parse(line(index)).map_err(|problem| records.error(index, problem))?;
        let query = String::from(parsed.query_id);
        for Document { id, score } in parsed.negatives {
            let pushed = found.push(query.clone(), &String::from(id), score);
            pushed.map_err(|problem| records.error(index, problem))?;
        }
        for Document { id, score } in parsed.positives {
            let score = score.unwrap_or(f64::NAN);
            let number = found.number(&String::from(id)).map_err(|problem| records.error(index, problem))?;
            found.of_query.entry(query.clone()).or_default().of_positives.push((number, score));
        }
    }
    Ok(found)
}

/// What is expected of a line, for messages.
const EXPECTED: &str = "expected qid<TAB>pid, MS MARCO's qid<TAB>positive<TAB>negative, mined qid, pid, rank and score, \
     or JSON with query_id and negatives";

/// What is wrong with a line of a run.
fn of_run(what: &str) -> String {
    format!("{what}; toller mine makes negatives of a run ({EXPECTED})")
}

fn parse(line: &[u8]) -> Result<Line, String> {
    if line.starts_with(b"{") {
        return serde_json::from_slice(line).map_err(in_words_of_json_line);
    }
    let line = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    let columns: Vec<&str> = line.split('\t').collect();
    if columns.len() == 6 || line.split_ascii_whitespace().count() == 6 && columns.len() == 1 {
        return Err(of_run("a line of a TREC run"));
    }
    let (query, id, score) = match columns[..] {
        [query, id] => (query, id, None),
        // The judgments say what is positive.
        [query, _, id] => (query, id, None),
        [query, id, _, score] => {
            let parsed: Option<f64> = score.parse().ok().filter(|score: &f64| score.is_finite());
            (query, id, Some(parsed.ok_or_else(|| format!("{score:?} is not a score"))?))
        }
        _ => return Err(EXPECTED.to_owned()),
    };
    let [query_id, id] = [query, id].map(|id| JsonId::Text(id.to_owned()));
    Ok(Line { query_id, positives: Vec::new(), negatives: vec![Document { id, score }] })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::read_negatives;

    #[test]
    fn all_forms_of_mined_negatives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("negatives");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_negatives(&path).map(|found| {
                let of_query = |query: &str| {
                    let ids = found.get(query).map(|c| format!("{}{:?}", c.id.unwrap(), c.score));
                    format!("{query}: {}", ids.collect::<Vec<_>>().join(" "))
                };
                let mut all: Vec<String> = found.queries().map(of_query).collect();
                all.sort();
                all
            })
        };
        let json = "{\"query_id\": \"1\", \"positives\": [], \"negatives\": [{\"id\": \"a\", \"rank\": 1, \"score\": 2.5}]}\n";
        assert_eq!(read(json).unwrap(), ["1: aSome(2.5)"]);
        assert_eq!(read("1\ta\n2\tb\n1\tc\n2\ta\n").unwrap(), ["1: aNone cNone", "2: bNone aNone"]);
        let some = "1\ta\n1\tb\t2\t0.5\n1\tc\n";
        assert_eq!(read(some).unwrap(), ["1: aNone bSome(0.5) cNone"], "some have scores");
        assert_eq!(read("qid\tpid\tindex\tscore\n1\ta\t3\t0.5\n").unwrap(), ["1: aSome(0.5)"]);
        assert_eq!(read("\u{feff}{\"query_id\": 1, \"negatives\": [{\"id\": 7}]}").unwrap(), ["1: 7None"]);
        assert_eq!(read("1\tp\ta\n2\tp\tb\n").unwrap(), ["1: aNone", "2: bNone"], "MS MARCO's triples");
        for run in ["q\tQ0\td\t1\t2.5\tx\n", "q Q0 d 1 2.5 x\n"] {
            assert!(read(run).err().unwrap().to_string().contains("line 1: a line of a TREC run"));
        }
        for (run, line) in
            [("1\tp\t1\n1\ta\t2\n", 1), ("1\tp\t2.5\n1\ta\t0.5\n", 1), ("qid\tpid\trank\n1\tp\t1\n", 2)]
        {
            let error = read(run).err().unwrap().to_string();
            let problem = "a line of a run with ranks or scores; toller mine makes negatives of a run";
            assert!(error.contains(&format!("line {line}: {problem}")), "{error}");
        }
        let numbers = "1\t7\t30\n1\t7\t20\n";
        assert_eq!(read(numbers).unwrap(), ["1: 30None 20None"], "a run has a document once");
        assert!(read("1\ta\tb\tc\td\n").err().unwrap().to_string().contains("line 1: expected qid"));
        assert!(read("1\ta\n\nx\n").err().unwrap().to_string().contains("line 3: expected qid"));
    }

    #[test]
    fn positives_keep_their_scores() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("negatives");
        let line = r#"{"query_id": 1, "positives": [{"id": "a", "score": 3}, {"id": "b"}], "negatives": [{"id": "c"}]}"#;
        std::fs::write(&path, line).unwrap();
        let found = read_negatives(&path).unwrap();
        let scores = ["a", "b", "c"].map(|id| found.score_of_positive("1", id));
        assert_eq!(scores, [Some(3.0), None, None]);
        assert_eq!(found.score_of_positive("2", "a"), None);
        let kept = ["a", "b", "c", "d"].map(|id| found.keeps_positive("1", id));
        assert_eq!(kept, [true, true, false, false]);
        assert!(found.keeps_positive("2", "d"), "the file does not have the query");
    }
}
