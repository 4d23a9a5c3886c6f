//! Which documents of a ranking are taken for negatives.

use std::ops::RangeInclusive;

use toller_ir::named;
use xxhash_rust::xxh3::Xxh3;

/// Which documents of a ranking are taken for negatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The ranks to take them from, counted from 1. Positives are not taken, but keep their rank.
    pub ranks: RangeInclusive<usize>,
    /// How many, at most.
    pub count: Count,
    /// Which of those.
    pub choice: Choice,
    /// The seed of a sample: another seed, another sample.
    pub seed: u64,
}

/// How many documents are taken for a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// This number.
    PerQuery(usize),
    /// This number for each of its positives.
    PerPositive(usize),
}

impl Count {
    /// The number for a query with this number of positives.
    #[must_use]
    pub fn with_positives(self, positives: usize) -> usize {
        match self {
            Self::PerQuery(count) => count,
            Self::PerPositive(count) => count.saturating_mul(positives),
        }
    }
}

named! {
    /// Which of the documents that may be taken are.
    #[derive(Default)]
    pub enum Choice: "a choice of negatives" {
        /// A uniform sample. It depends only on the seed, the query's identifier and the eligible documents:
        /// not on other queries, their order, or threads.
        #[default]
        Sample = "sample",
        /// The best.
        Top = "top",
    }
}

impl Selection {
    /// The places of `count` documents in a query's `ranking`, counted from 0, best first. The ranking has
    /// ranks and documents. Only documents that `may_be_taken` are chosen.
    pub fn choose<'a>(
        &self,
        query_id: &str,
        count: usize,
        ranking: impl IntoIterator<Item = (usize, &'a str)>,
        may_be_taken: impl Fn(&str) -> bool,
    ) -> Vec<usize> {
        let eligible = ranking
            .into_iter()
            .enumerate()
            .filter(|(_, (rank, document))| self.ranks.contains(rank) && may_be_taken(document))
            .map(|(place, (_, document))| (place, document));
        match self.choice {
            Choice::Top => eligible.take(count).map(|(place, _)| place).collect(),
            Choice::Sample => {
                // Taking the documents with the smallest hashes is a random draw.
                let hashed = |(place, document): (usize, &str)| (hash(self.seed, query_id, document), place);
                let mut drawn: Vec<(u64, usize)> = eligible.map(hashed).collect();
                drawn.sort_unstable();
                drawn.truncate(count);
                let mut places: Vec<usize> = drawn.into_iter().map(|(_, place)| place).collect();
                places.sort_unstable();
                places
            }
        }
    }
}

fn hash(seed: u64, query_id: &str, document: &str) -> u64 {
    let mut hash = Xxh3::with_seed(seed);
    // The length says where the query's identifier ends.
    hash.update(&(query_id.len() as u64).to_le_bytes());
    hash.update(query_id.as_bytes());
    hash.update(document.as_bytes());
    hash.digest()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Choice, Count, Selection};

    fn ids(count: usize) -> Vec<String> {
        (0..count).map(|doc| format!("d{doc}")).collect()
    }

    fn choose(selection: &Selection, query: &str, ids: &[String], positives: &[usize]) -> Vec<usize> {
        let positives: Vec<&str> = positives.iter().map(|at| ids[*at].as_str()).collect();
        let count = selection.count.with_positives(positives.len());
        selection
            .choose(query, count, (1..).zip(ids.iter().map(String::as_str)), |id| !positives.contains(&id))
    }

    #[test]
    fn the_best_of_the_ranks_without_positives() {
        let best = Selection { ranks: 1..=9, count: Count::PerPositive(2), choice: Choice::Top, seed: 0 };
        let top = |ranks, count| Selection { ranks, count: Count::PerQuery(count), ..best.clone() };
        assert_eq!(choose(&top(1..=4, 9), "q", &ids(6), &[0, 2]), [1, 3]);
        assert_eq!(choose(&top(3..=5, 2), "q", &ids(6), &[2]), [3, 4]);
        assert_eq!(choose(&top(5..=20, 9), "q", &ids(6), &[]), [4, 5]);
        assert_eq!(choose(&top(7..=20, 9), "q", &ids(6), &[]), [0; 0]);
        assert_eq!(choose(&top(1..=2, 0), "q", &ids(6), &[]), [0; 0]);
        assert_eq!(choose(&best, "q", &ids(9), &[0, 2]), [1, 3, 4, 5]);
        assert_eq!(choose(&best, "q", &ids(9), &[]), [0; 0]);
    }

    proptest! {
        #[test]
        fn a_sample_is_of_what_may_be_taken(
            from in 1_usize..10, length in 0_usize..30, count in 0_usize..30, seed in any::<u64>(),
            documents in 0_usize..40, positives in proptest::collection::vec(0_usize..40, 0..10),
        ) {
            let ids = ids(documents);
            let positives: Vec<usize> = positives.into_iter().filter(|at| *at < documents).collect();
            let ranks = from..=from + length;
            let of = |choice, count| {
                let count = Count::PerQuery(count);
                choose(&Selection { ranks: ranks.clone(), count, choice, seed }, "q", &ids, &positives)
            };
            let eligible = of(Choice::Top, usize::MAX);
            let sample = of(Choice::Sample, count);
            prop_assert_eq!(sample.len(), count.min(eligible.len()));
            prop_assert!(sample.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(sample.iter().all(|place| eligible.contains(place)));
            prop_assert_eq!(&sample, &of(Choice::Sample, count));
        }
    }

    #[test]
    fn a_sample_is_uniform_and_depends_on_seed_and_query() {
        let ids = ids(20);
        let sample = |query: &str, seed| {
            let (count, choice) = (Count::PerQuery(5), Choice::Sample);
            choose(&Selection { ranks: 1..=20, count, choice, seed }, query, &ids, &[])
        };
        assert_ne!(sample("q", 1), sample("q", 2));
        assert_ne!(sample("q1", 1), sample("q2", 1));
        let mut drawn = [0; 20];
        for seed in 0..4000 {
            sample("q", seed).into_iter().for_each(|place| drawn[place] += 1);
        }
        // Expected 1,000 each, with a deviation of 27.
        assert!(drawn.iter().all(|count| (860..1140).contains(count)), "{drawn:?}");
    }
}
