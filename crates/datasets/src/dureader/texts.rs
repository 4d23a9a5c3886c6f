//! Runs whose queries are texts, as DuReader-retrieval's own code writes them.

use std::collections::{HashMap, HashSet};

use toller_ir::{Query, Run};

use crate::error::DatasetError;

/// The run with the identifiers of `queries` in place of their texts. Queries of one text get the same
/// results. An identifier stays.
///
/// # Errors
/// If a query of the run is neither the identifier nor the text of one of these.
pub fn with_query_ids(run: Run, queries: &[Query]) -> Result<Run, DatasetError> {
    let ids: HashSet<&str> = queries.iter().map(|query| query.id.as_str()).collect();
    let mut by_text: HashMap<&str, Vec<&str>> = HashMap::new();
    for query in queries {
        by_text.entry(query.text.trim()).or_default().push(&query.id);
    }
    let (mut named, mut unknown) = (Run { tag: run.tag, ..Run::default() }, Vec::new());
    for (query, entries) in run.queries {
        if ids.contains(query.as_str()) {
            named.queries.insert(query, entries);
        } else if let Some(ids) = by_text.get(query.trim()) {
            named.queries.extend(ids.iter().map(|id| ((*id).to_owned(), entries.clone())));
        } else {
            unknown.push(query);
        }
    }
    let count = unknown.len();
    match unknown.into_iter().next() {
        Some(example) => Err(DatasetError::UnknownQueries { count, example }),
        None => Ok(named),
    }
}

#[cfg(test)]
mod tests {
    use toller_ir::{Query, Run, RunEntry};

    use super::with_query_ids;

    #[test]
    fn texts_become_identifiers() {
        let query = |(id, text): (&str, &str)| Query { id: id.into(), text: text.into(), ..Query::default() };
        let queries = [("q1", "谁 来 "), ("q2", "何时"), ("q3", "何时")].map(query);
        let run = |names: &[&str]| {
            let entry =
                |name: &&str| ((*name).to_owned(), vec![RunEntry { doc_id: (*name).into(), score: 1.0 }]);
            Run { tag: "t".into(), queries: names.iter().map(entry).collect() }
        };
        let named = with_query_ids(run(&["何时", "谁 来"]), &queries).unwrap();
        let found: Vec<(&str, &str)> = named
            .queries
            .iter()
            .map(|(query, entries)| (query.as_str(), entries[0].doc_id.as_str()))
            .collect();
        assert_eq!(found, [("q2", "何时"), ("q3", "何时"), ("q1", "谁 来")]);
        assert_eq!(with_query_ids(run(&["q1"]), &queries).unwrap(), run(&["q1"]));
        let error = with_query_ids(run(&["q1", "哪里", "为何"]), &queries).unwrap_err().to_string();
        assert!(error.contains("2 queries") && error.contains("哪里"), "{error}");
    }
}
