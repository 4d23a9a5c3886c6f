//! The pool that annotators' candidates are taken from (DuReader-retrieval, section 2.3).

use std::collections::HashMap;
use std::path::Path;

use indexmap::IndexMap;
use toller_ir::{Run, RunEntry};

use crate::error::DatasetError;
use crate::folder::Folder;
use crate::rankings::best_first;
use crate::statistics::{Part, Statistics, mean};

/// The first `depth` documents of each query in each of the runs, as a run to rerank. Documents are ordered
/// by their best rank in any run, and then by the first run that has them there.
#[must_use]
pub fn pool_runs(runs: &[Run], depth: usize) -> Run {
    let mut pooled: IndexMap<&str, HashMap<&str, (usize, usize)>> = IndexMap::new();
    for (number, run) in runs.iter().enumerate() {
        for (query, entries) in &run.queries {
            let places = pooled.entry(query).or_default();
            for (rank, entry) in best_first(entries).into_iter().take(depth).enumerate() {
                let place = places.entry(&entry.doc_id).or_insert((rank, number));
                *place = (rank, number).min(*place);
            }
        }
    }
    let list = |places: HashMap<&str, (usize, usize)>| {
        let mut places: Vec<((usize, usize), &str)> =
            places.into_iter().map(|(document, place)| (place, document)).collect();
        places.sort_unstable();
        let scores = (1..=places.len()).rev();
        let entry = |((_, document), score): ((_, &str), usize)| RunEntry {
            doc_id: document.to_owned(),
            score: score as f64,
        };
        places.into_iter().zip(scores).map(entry).collect()
    };
    let queries = pooled.into_iter().map(|(query, places)| (query.to_owned(), list(places))).collect();
    Run { tag: "pool".to_owned(), queries }
}

/// Writes the pool of runs as pool.run.
///
/// # Errors
/// If the file cannot be written.
pub fn write_pool(
    runs: &[Run],
    depth: usize,
    output: &Path,
) -> Result<(Vec<String>, Statistics), DatasetError> {
    let pool = pool_runs(runs, depth);
    let mut folder = Folder::create(output)?;
    folder.run("pool.run", &pool)?;
    let pairs: usize = pool.queries.values().map(Vec::len).sum();
    let part = Part::new("pool").count("runs", runs.len()).count("queries", pool.queries.len());
    let part = part.count("pairs", pairs).real("pairs_per_query", mean(pairs as f64, pool.queries.len()));
    Ok((folder.commit()?, Statistics(vec![part])))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toller_ir::{Run, RunEntry};

    use super::pool_runs;

    fn run(documents: &[u8]) -> Run {
        let entry =
            |(at, document): (usize, &u8)| RunEntry { doc_id: document.to_string(), score: -(at as f64) };
        let mut run = Run::default();
        run.queries.insert("q".into(), documents.iter().enumerate().map(entry).collect());
        run
    }

    #[test]
    fn best_ranks_come_first() {
        let pooled = pool_runs(&[run(&[1, 2, 3]), run(&[4, 3, 9])], 2);
        let ids: Vec<&str> = pooled.queries["q"].iter().map(|entry| entry.doc_id.as_str()).collect();
        assert_eq!(ids, ["1", "4", "2", "3"]);
    }

    proptest! {
        #[test]
        fn the_union_of_the_first(
            lists in prop::collection::vec(prop::collection::btree_set(0_u8..20, 0..9), 1..4), depth in 1_usize..6,
        ) {
            let runs: Vec<Run> = lists.iter().map(|list| run(&list.iter().copied().collect::<Vec<_>>())).collect();
            let pooled = pool_runs(&runs, depth);
            let mut found: Vec<&str> = pooled.queries["q"].iter().map(|entry| entry.doc_id.as_str()).collect();
            let mut expected: Vec<String> =
                lists.iter().flat_map(|list| list.iter().take(depth).map(u8::to_string)).collect();
            found.sort_unstable();
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(found, expected);
        }
    }
}
