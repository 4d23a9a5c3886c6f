//! The pool that annotators' candidates are taken from (DuReader-retrieval, section 2.3).

use std::path::Path;

use toller_ir::{Run, RunEntry};
use toller_mining::{Pooled, pool};

use crate::error::DatasetError;
use crate::folder::Folder;
use crate::statistics::{Part, Statistics, mean};

/// The pool of the runs as a run to rerank.
fn pooled_run(runs: Vec<Run>, depth: usize) -> Run {
    let entries = |documents: Vec<Pooled>| {
        let scores = (1..=documents.len()).rev();
        let entry =
            |(document, score): (Pooled, usize)| RunEntry { doc_id: document.id, score: score as f64 };
        documents.into_iter().zip(scores).map(entry).collect()
    };
    let queries = pool(runs, depth).into_iter().map(|(query, documents)| (query, entries(documents)));
    Run { tag: "pool".to_owned(), queries: queries.collect() }
}

/// Writes the pool of runs as pool.run.
///
/// # Errors
/// If the file cannot be written.
pub fn write_pool(
    runs: Vec<Run>,
    depth: usize,
    output: &Path,
) -> Result<(Vec<String>, Statistics), DatasetError> {
    let count = runs.len();
    let pool = pooled_run(runs, depth);
    let mut folder = Folder::create(output)?;
    folder.run("pool.run", &pool)?;
    let pairs: usize = pool.queries.values().map(Vec::len).sum();
    let part = Part::new("pool").count("runs", count).count("queries", pool.queries.len());
    let part = part.count("pairs", pairs).real("pairs_per_query", mean(pairs as f64, pool.queries.len()));
    Ok((folder.commit()?, Statistics(vec![part])))
}

#[cfg(test)]
mod tests {
    use toller_ir::{Run, RunEntry};

    use super::pooled_run;

    #[test]
    fn scores_fall_by_one() {
        let entry = |doc_id: &str, score| RunEntry { doc_id: doc_id.to_owned(), score };
        let mut runs = [Run::default(), Run::default()];
        runs[0].queries.insert("q".into(), vec![entry("a", 0.5), entry("b", 0.1)]);
        runs[1].queries.insert("q".into(), vec![entry("c", 90.0), entry("b", 80.0)]);
        let pooled = pooled_run(runs.to_vec(), 2);
        assert_eq!(pooled.queries["q"], [entry("a", 3.0), entry("c", 2.0), entry("b", 1.0)]);
    }
}
