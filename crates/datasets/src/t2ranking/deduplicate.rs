//! One passage of each cluster of near duplicates.

use std::collections::HashMap;
use std::path::Path;

use toller_eval::ranked_documents;
use toller_ir::{Run, RunEntry};

use crate::error::DatasetError;
use crate::folder::Folder;
use crate::statistics::{Part, Statistics, mean};
use crate::t2ranking::ward::ward_clusters;

/// What is left of the passages of each query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deduplicated {
    /// The best passage of each cluster.
    pub run: Run,
    /// The query, the passage that is kept, and one that is left out for it.
    pub left_out: Vec<(String, String, String)>,
}

impl Deduplicated {
    /// Writes kept.run, and left-out.tsv with the query, the passage that is kept and the one that is left
    /// out.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, output: &Path) -> Result<(Vec<String>, Statistics), DatasetError> {
        let mut folder = Folder::create(output)?;
        folder.run("kept.run", &self.run)?;
        let mut file = folder.file("left-out.tsv")?;
        for (query, kept, left_out) in &self.left_out {
            file.line(format_args!("{query}\t{kept}\t{left_out}"))?;
        }
        let (kept, queries) =
            (self.run.queries.values().map(Vec::len).sum::<usize>(), self.run.queries.len());
        let part = Part::new("passages").count("queries", queries).count("kept", kept);
        let part =
            part.count("left_out", self.left_out.len()).real("kept_per_query", mean(kept as f64, queries));
        Ok((folder.commit()?, Statistics(vec![part])))
    }
}

/// Clusters the passages of each query by Ward's method, up to a distance of `threshold`, and keeps the best
/// of each cluster.
///
/// # Errors
/// If a passage has no vector, is listed twice, or has a score that is not a number.
pub fn deduplicate(
    run: &Run,
    vectors: &HashMap<String, Vec<f32>>,
    threshold: f64,
) -> Result<Deduplicated, DatasetError> {
    let mut result = Deduplicated::default();
    result.run.tag.clone_from(&run.tag);
    for (query, entries) in &run.queries {
        let entries = ranked_documents(query, entries)?;
        let vector = |entry: &&RunEntry| {
            let vector = vectors.get(&entry.doc_id).map(Vec::as_slice);
            vector.ok_or_else(|| DatasetError::NoVector(entry.doc_id.clone()))
        };
        let points = entries.iter().map(vector).collect::<Result<Vec<&[f32]>, _>>()?;
        let mut kept: Vec<RunEntry> = Vec::new();
        for cluster in ward_clusters(&points, threshold) {
            let mut members = cluster.into_iter().filter_map(|at| entries.get(at));
            let Some(first) = members.next() else { continue };
            let row = |other: &&RunEntry| (query.clone(), first.doc_id.clone(), other.doc_id.clone());
            result.left_out.extend(members.map(row));
            kept.push((*first).clone());
        }
        result.run.queries.insert(query.clone(), kept);
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use toller_ir::{Run, RunEntry};

    use super::deduplicate;

    #[test]
    fn the_best_of_a_cluster_stays() {
        let mut run = Run::default();
        let entry = |(id, score): (&str, f64)| RunEntry { doc_id: id.into(), score };
        run.queries.insert("q".into(), [("a", 1.0), ("b", 3.0), ("c", 2.0)].map(entry).into());
        let vectors: HashMap<String, Vec<f32>> =
            [("a", 0.0), ("b", 0.1), ("c", 5.0)].map(|(id, x)| (id.to_owned(), vec![x])).into();
        let found = deduplicate(&run, &vectors, 1.0).unwrap();
        let kept: Vec<&str> = found.run.queries["q"].iter().map(|entry| entry.doc_id.as_str()).collect();
        assert_eq!(kept, ["b", "c"]);
        assert_eq!(found.left_out, [("q".to_owned(), "b".to_owned(), "a".to_owned())]);
        assert!(deduplicate(&run, &HashMap::new(), 1.0).is_err());
    }
}
