//! Files of negatives by identifier: what `mine` writes as JSON lines or tab-separated.

use std::path::Path;

use indexmap::IndexMap;
use serde::Deserialize;
use toller_files::{FileError, read_regular};

use super::Candidate;
use crate::TrainError;

#[derive(Deserialize)]
struct Line {
    query_id: String,
    negatives: Vec<Negative>,
}

#[derive(Deserialize)]
struct Negative {
    id: String,
    score: Option<f64>,
}

/// The negatives of each query, in the order of the file.
///
/// # Errors
/// When the file cannot be read, or has a bad line.
pub fn read_negatives(path: &Path) -> Result<IndexMap<String, Vec<Candidate>>, TrainError> {
    let bytes = read_regular(path).map_err(FileError::on("read", path))?;
    let mut found: IndexMap<String, Vec<Candidate>> = IndexMap::new();
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() || index == 0 && line.starts_with(b"qid\t") {
            continue;
        }
        let parsed = parse(line).map_err(|problem| TrainError::Record {
            path: path.to_owned(),
            line: index + 1,
            problem,
        })?;
        let of_query = found.entry(parsed.query_id).or_default();
        of_query.extend(parsed.negatives.into_iter().map(|negative| Candidate {
            id: Some(negative.id),
            score: negative.score,
            ..Candidate::default()
        }));
    }
    Ok(found)
}

fn parse(line: &[u8]) -> Result<Line, String> {
    if line.starts_with(b"{") {
        return serde_json::from_slice(line).map_err(|error| error.to_string());
    }
    let line = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    let columns: Vec<&str> = line.split('\t').collect();
    let [query, id, rest @ ..] = &columns[..] else {
        return Err("expected qid<TAB>pid, or JSON with query_id and negatives".to_owned());
    };
    let score =
        rest.get(1).map(|score| score.parse().map_err(|_| format!("{score:?} is no score"))).transpose()?;
    Ok(Line { query_id: (*query).to_owned(), negatives: vec![Negative { id: (*id).to_owned(), score }] })
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
        assert!(read("1\ta\n\nx\n").err().unwrap().to_string().contains("line 3: expected qid"));
    }
}
