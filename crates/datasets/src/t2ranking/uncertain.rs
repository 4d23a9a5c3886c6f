//! Which pairs are worth a judgment (T2Ranking, section 4.4).

use std::path::Path;

use toller_ir::{Qrels, Run, RunEntry};

use crate::error::DatasetError;
use crate::folder::Folder;
use crate::statistics::{Part, Statistics};

/// Which pairs are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uncertainty {
    /// Pairs of a lower score are taken for noise.
    pub low: f64,
    /// The model is sure of pairs of a higher score.
    pub high: f64,
}

/// What became of the pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Uncertain {
    /// The pairs to judge.
    pub run: Run,
    /// Pairs with a score below the limits.
    pub noise: usize,
    /// Pairs with a score above the limits.
    pub sure: usize,
    /// Pairs that are judged already.
    pub judged: usize,
}

impl Uncertain {
    /// Writes the pairs to judge as uncertain.run.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, output: &Path) -> Result<(Vec<String>, Statistics), DatasetError> {
        let mut folder = Folder::create(output)?;
        folder.run("uncertain.run", &self.run)?;
        let pairs = self.run.queries.values().map(Vec::len).sum::<usize>();
        let part = Part::new("pairs").count("uncertain", pairs).count("sure", self.sure);
        let part = part.count("noise", self.noise).count("judged", self.judged);
        Ok((folder.commit()?, Statistics(vec![part])))
    }
}

/// Keeps the pairs whose scores lie between the limits, both included. Pairs that `judged` has are left out.
#[must_use]
pub fn uncertain_pairs(run: &Run, limits: Uncertainty, judged: Option<&Qrels>) -> Uncertain {
    let mut result = Uncertain::default();
    result.run.tag.clone_from(&run.tag);
    for (query, entries) in &run.queries {
        let known = judged.and_then(|judged| judged.query(query));
        let mut keep = |entry: &&RunEntry| {
            if known.is_some_and(|known| known.contains_key(&entry.doc_id)) {
                result.judged += 1;
            } else if entry.score < limits.low {
                result.noise += 1;
            } else if entry.score > limits.high {
                result.sure += 1;
            } else {
                return true;
            }
            false
        };
        let kept: Vec<RunEntry> = entries.iter().filter(|entry| keep(entry)).cloned().collect();
        if !kept.is_empty() {
            result.run.queries.insert(query.clone(), kept);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use toller_ir::{Qrels, Run, RunEntry};

    use super::{Uncertainty, uncertain_pairs};

    #[test]
    fn between_the_limits() {
        let mut run = Run::default();
        let scores = [("a", 0.95), ("b", 0.9), ("c", 0.5), ("d", 0.1), ("e", 0.09)];
        let entry = |(id, score): (&str, f64)| RunEntry { doc_id: id.into(), score };
        run.queries.insert("q".into(), scores.map(entry).into());
        run.queries.insert("sure".into(), vec![entry(("a", 1.0))]);
        let mut judged = Qrels::new();
        judged.insert("q", "c", 0);
        let limits = Uncertainty { low: 0.1, high: 0.9 };
        let found = uncertain_pairs(&run, limits, Some(&judged));
        let kept: Vec<&str> = found.run.queries["q"].iter().map(|entry| entry.doc_id.as_str()).collect();
        assert_eq!((kept, found.run.queries.len()), (vec!["b", "d"], 1));
        assert_eq!((found.noise, found.sure, found.judged), (1, 2, 1));
        assert_eq!(uncertain_pairs(&run, limits, None).run.queries["q"].len(), 3);
    }
}
