//! The pool: the first documents of several runs for each query.

use std::collections::HashSet;

use toller_eval::ranked_documents;
use toller_ir::{Qrels, Run};

use crate::error::AnnotationError;

/// A query and a document that are to be judged.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pair {
    /// The query.
    pub query_id: String,
    /// The document.
    pub doc_id: String,
}

/// Pairs to judge, each once.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    /// In the order in which they were added.
    pub pairs: Vec<Pair>,
    known: HashSet<Pair>,
}

impl Pool {
    /// Adds a pair, unless the pool has it.
    pub fn add(&mut self, pair: Pair) {
        if self.known.insert(pair.clone()) {
            self.pairs.push(pair);
        }
    }

    /// Adds the first `depth` documents of each query of a run. Pairs that are judged in `judged` are left
    /// out.
    ///
    /// # Errors
    /// If a document is listed twice for a query, or a score is not a number.
    pub fn add_run(
        &mut self,
        run: &Run,
        depth: usize,
        judged: Option<&Qrels>,
    ) -> Result<(), AnnotationError> {
        for (query_id, entries) in &run.queries {
            let known = judged.and_then(|judged| judged.query(query_id));
            for entry in ranked_documents(query_id, entries)?.into_iter().take(depth) {
                if known.is_none_or(|known| !known.contains_key(&entry.doc_id)) {
                    self.add(Pair { query_id: query_id.clone(), doc_id: entry.doc_id.clone() });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use toller_ir::{Qrels, Run, RunEntry};

    use super::Pool;

    fn run(documents: &[&str]) -> Run {
        let mut run = Run::default();
        let entry = |(at, doc_id): (i32, &&str)| RunEntry { doc_id: (*doc_id).into(), score: f64::from(-at) };
        run.queries.insert("q".into(), (0..).zip(documents).map(entry).collect());
        run
    }

    #[test]
    fn the_first_documents_of_all_runs_are_pooled_once() {
        let mut judged = Qrels::new();
        judged.insert("q", "b", 0);
        let mut pool = Pool::default();
        pool.add_run(&run(&["a", "b", "c"]), 2, Some(&judged)).unwrap();
        pool.add_run(&run(&["d", "a", "e"]), 2, Some(&judged)).unwrap();
        let ids: Vec<&str> = pool.pairs.iter().map(|pair| pair.doc_id.as_str()).collect();
        assert_eq!(ids, ["a", "d"]);
        assert!(pool.add_run(&run(&["a", "a"]), 2, None).is_err());
    }
}
