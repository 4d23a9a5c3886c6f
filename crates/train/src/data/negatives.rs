//! Files of negatives by identifier: what `mine` writes as JSON lines or tab-separated.

use std::path::Path;

use indexmap::IndexMap;
use serde::Deserialize;
use toller_corpus::JsonId;

use super::Candidate;
use super::records::Records;
use crate::TrainError;

#[derive(Deserialize)]
struct Line {
    query_id: JsonId,
    negatives: Vec<Negative>,
}

#[derive(Deserialize)]
struct Negative {
    id: JsonId,
    score: Option<f64>,
}

/// The negatives of each query, in the order of the file, which may be compressed.
///
/// # Errors
/// When the file cannot be read, or has a bad line.
pub fn read_negatives(path: &Path) -> Result<IndexMap<String, Vec<Candidate>>, TrainError> {
    let records = Records::open(path)?;
    let mut found: IndexMap<String, Vec<Candidate>> = IndexMap::new();
    for index in 0..records.len() {
        let line = records.get(index).trim_ascii();
        if index == 0 && line.starts_with(b"qid\t") {
            continue;
        }
        let parsed = parse(line).map_err(|problem| records.error(index, problem))?;
        let of_query = found.entry(parsed.query_id.into()).or_default();
        of_query.extend(parsed.negatives.into_iter().map(|negative| Candidate {
            id: Some(negative.id.into()),
            score: negative.score,
            ..Candidate::default()
        }));
    }
    Ok(found)
}

/// What is expected of a line, for messages.
const EXPECTED: &str = "expected qid<TAB>pid, or JSON with query_id and negatives";

fn parse(line: &[u8]) -> Result<Line, String> {
    if line.starts_with(b"{") {
        return serde_json::from_slice(line).map_err(|error| error.to_string());
    }
    let line = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    let columns: Vec<&str> = line.split('\t').collect();
    if columns.len() == 6 || line.split_ascii_whitespace().count() == 6 && columns.len() == 1 {
        return Err(format!("a line of a TREC run; toller mine makes negatives of a run ({EXPECTED})"));
    }
    let [query, id, rest @ ..] = &columns[..] else { return Err(EXPECTED.to_owned()) };
    let score =
        rest.get(1).map(|score| score.parse().map_err(|_| format!("{score:?} is no score"))).transpose()?;
    let [query_id, id] = [query, id].map(|id| JsonId::Text((*id).to_owned()));
    Ok(Line { query_id, negatives: vec![Negative { id, score }] })
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
                let ids = |(query, of_query): (&String, &Vec<super::Candidate>)| {
                    let ids = of_query.iter().map(|c| format!("{}{:?}", c.id.as_deref().unwrap(), c.score));
                    format!("{query}: {}", ids.collect::<Vec<_>>().join(" "))
                };
                found.iter().map(ids).collect::<Vec<_>>()
            })
        };
        let json = "{\"query_id\": \"1\", \"positives\": [], \"negatives\": [{\"id\": \"a\", \"rank\": 1, \"score\": 2.5}]}\n";
        assert_eq!(read(json).unwrap(), ["1: aSome(2.5)"]);
        assert_eq!(read("1\ta\n2\tb\n1\tc\n").unwrap(), ["1: aNone cNone", "2: bNone"]);
        assert_eq!(read("qid\tpid\tindex\tscore\n1\ta\t3\t0.5\n").unwrap(), ["1: aSome(0.5)"]);
        assert_eq!(read("\u{feff}{\"query_id\": 1, \"negatives\": [{\"id\": 7}]}").unwrap(), ["1: 7None"]);
        for run in ["q\tQ0\td\t1\t2.5\tx\n", "q Q0 d 1 2.5 x\n"] {
            assert!(read(run).err().unwrap().to_string().contains("line 1: a line of a TREC run"));
        }
        assert!(read("1\ta\n\nx\n").err().unwrap().to_string().contains("line 3: expected qid"));
    }
}
