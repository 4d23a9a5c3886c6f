//! A sample of records by their identifiers, in memory that does not grow with the collection.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A uniform sample: the records whose identifiers have the smallest hashes. It depends only on the seed and
/// the identifiers, not on the order of the records. A larger sample of the same seed has all of a smaller
/// one.
#[derive(Clone, Debug)]
pub struct Sample<T> {
    size: usize,
    seed: u64,
    /// By hash and identifier.
    kept: BTreeMap<(u64, String), T>,
}

impl<T> Sample<T> {
    /// An empty sample that will have at most `size` records.
    #[must_use]
    pub fn new(size: usize, seed: u64) -> Self {
        Self { size, seed, kept: BTreeMap::new() }
    }

    /// Offers a record. `make` is called only if the record is in the sample of the records so far. Of
    /// several with one identifier the first counts.
    pub fn offer(&mut self, id: &str, make: impl FnOnce() -> T) {
        let hash = xxh3_64_with_seed(id.as_bytes(), self.seed);
        let last = self.kept.last_key_value().map(|((hash, id), _)| (*hash, id.as_str()));
        if self.kept.len() < self.size || last.is_some_and(|last| (hash, id) < last) {
            self.kept.entry((hash, id.to_owned())).or_insert_with(make);
            if self.kept.len() > self.size {
                self.kept.pop_last();
            }
        }
    }

    /// The records with their identifiers, in an order that depends only on the seed and the identifiers.
    pub fn into_records(self) -> impl Iterator<Item = (String, T)> {
        self.kept.into_iter().map(|((_, id), record)| (id, record))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use xxhash_rust::xxh3::xxh3_64_with_seed;

    use super::Sample;

    fn sample(ids: &[String], size: usize, seed: u64) -> Vec<(String, usize)> {
        let mut sample = Sample::new(size, seed);
        ids.iter().enumerate().for_each(|(place, id)| sample.offer(id, || place));
        sample.into_records().collect()
    }

    proptest! {
        /// The definition: all records sorted by hash, the first of each identifier, cut.
        #[test]
        fn the_smallest_hashes_are_kept(
            ids in proptest::collection::vec("[a-f]{1,2}", 0..60), size in 0_usize..20, seed in any::<u64>(),
        ) {
            let mut first: BTreeMap<&String, usize> = BTreeMap::new();
            ids.iter().enumerate().for_each(|(place, id)| { first.entry(id).or_insert(place); });
            let mut all: Vec<(&String, usize)> = first.into_iter().collect();
            all.sort_by_key(|(id, _)| (xxh3_64_with_seed(id.as_bytes(), seed), *id));
            let expected: Vec<_> = all.into_iter().take(size).map(|(id, place)| (id.clone(), place)).collect();
            prop_assert_eq!(sample(&ids, size, seed), expected);
        }
    }

    /// Each of 20 records is in a sample of 5 in a quarter of the seeds, within five standard deviations.
    #[test]
    fn a_sample_is_uniform() {
        let ids: Vec<String> = (0..20).map(|id| id.to_string()).collect();
        let mut drawn = [0_i32; 20];
        for seed in 0..4000 {
            sample(&ids, 5, seed).into_iter().for_each(|(_, place)| drawn[place] += 1);
        }
        assert!(drawn.iter().all(|count| (count - 1000).abs() < 5 * 28), "{drawn:?}");
    }
}
