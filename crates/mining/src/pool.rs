//! The pool of several runs.

use std::collections::HashMap;

use indexmap::IndexMap;
use toller_ir::{Run, RunEntry};

/// A document of a query's pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Pooled {
    /// Its identifier.
    pub id: String,
    /// Its best rank in any run, from 1.
    pub rank: usize,
    /// Its score in the first run that has it at this rank.
    pub score: f64,
}

/// The first `depth` documents of each query in each of the runs. Documents are ordered by their best rank in
/// any run, and then by the first run that has them there. Of a single run that is its order.
#[must_use]
pub fn pool(runs: impl IntoIterator<Item = Run>, depth: usize) -> IndexMap<String, Vec<Pooled>> {
    let mut places: IndexMap<String, HashMap<String, (usize, usize, f64)>> = IndexMap::new();
    for (number, run) in runs.into_iter().enumerate() {
        for (query, mut entries) in run.queries {
            entries.sort_by(RunEntry::best_first);
            entries.truncate(depth);
            let places = places.entry(query).or_default();
            for (RunEntry { doc_id, score }, rank) in entries.into_iter().zip(1..) {
                let place = places.entry(doc_id).or_insert((rank, number, score));
                if rank < place.0 {
                    *place = (rank, number, score);
                }
            }
        }
    }
    let ordered = |places: HashMap<String, (usize, usize, f64)>| {
        let mut places: Vec<(String, (usize, usize, f64))> = places.into_iter().collect();
        places.sort_unstable_by_key(|(_, (rank, number, _))| (*rank, *number));
        places.into_iter().map(|(id, (rank, _, score))| Pooled { id, rank, score }).collect()
    };
    places.into_iter().map(|(query, places)| (query, ordered(places))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toller_ir::{Run, RunEntry};

    use super::{Pooled, pool};

    fn run(documents: &[u8]) -> Run {
        let entry =
            |(at, document): (usize, &u8)| RunEntry { doc_id: document.to_string(), score: -(at as f64) };
        let mut run = Run::default();
        run.queries.insert("q".into(), documents.iter().enumerate().map(entry).collect());
        run
    }

    #[test]
    fn best_ranks_come_first() {
        let pooled = pool([run(&[1, 2, 3]), run(&[4, 3, 9])], 2);
        let places: Vec<(&str, usize, f64)> =
            pooled["q"].iter().map(|Pooled { id, rank, score }| (id.as_str(), *rank, *score)).collect();
        assert_eq!(places, [("1", 1, 0.0), ("4", 1, 0.0), ("2", 2, -1.0), ("3", 2, -1.0)]);
        // Of a single run, its best by their scores, whatever the order of the lines.
        let mut reversed = run(&[1, 2, 3]);
        reversed.queries["q"].reverse();
        assert_eq!(pool([reversed], 9), pool([run(&[1, 2, 3])], 9));
    }

    proptest! {
        #[test]
        fn the_union_of_the_first(
            lists in prop::collection::vec(prop::collection::btree_set(0_u8..20, 0..9), 1..4), depth in 1_usize..6,
        ) {
            let runs = lists.iter().map(|list| run(&list.iter().copied().collect::<Vec<_>>()));
            let pooled = pool(runs, depth);
            let mut found: Vec<&str> = pooled["q"].iter().map(|document| document.id.as_str()).collect();
            let mut expected: Vec<String> =
                lists.iter().flat_map(|list| list.iter().take(depth).map(u8::to_string)).collect();
            found.sort_unstable();
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(found, expected);
        }
    }
}
