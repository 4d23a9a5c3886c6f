//! How many queries are searched together, and how many candidates each may have.

use super::abi::{BEST_IN_SHARED, Candidate, KernelHit, QUERY_FACTS_BYTES, QueryPair};
use super::kernels::{DType, MOST_PAIRS_OF_QUERY};

/// The sizes of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Queries.
    pub(crate) queries: usize,
    /// Numbers of a vector.
    pub(crate) dim: usize,
    /// Hits of a query; not more than there are rows.
    pub(crate) k: usize,
    /// Candidates that a query's buffer holds.
    pub(crate) capacity: usize,
}

/// The least candidates of a buffer besides 2 k, unless there are fewer rows.
const LEAST_CAPACITY: usize = 1024;
/// The candidates of a buffer that suffice, besides those for each of k hits: samples are small, and vary.
const GOOD_CAPACITY: usize = 8 << 10;
/// The same if larger buffers would mean more groups of queries.
const ENOUGH_CAPACITY: usize = GOOD_CAPACITY / 2;
/// The candidates of a buffer that suffice, for each of k hits: the samples leave about 1, and the rows after
/// them nominate 3.
const GOOD_CAPACITY_OF_HIT: usize = 8;
/// The same for the wide bounds of codes: up to 21 were nominated in all (8.8 million random vectors of 768
/// dimensions, k 1,000).
const GOOD_CAPACITY_OF_CODED_HIT: usize = 24;
/// Queries from which on a group's chunks grow slowly.
const MANY_QUERIES: usize = 64;
/// The most queries of a group: enough that reading the rows again for the next group costs nothing.
pub(crate) const MOST_QUERIES: usize = 8192;

impl Sizes {
    /// The sizes of a group of up to `queries` queries over `rows` rows, `coded` or not, that fits in
    /// `bytes`, if any does.
    pub(crate) fn within(
        bytes: u64,
        queries: usize,
        rows: usize,
        coded: bool,
        k: usize,
        dim: usize,
    ) -> Option<Self> {
        let of_hit = if coded { GOOD_CAPACITY_OF_CODED_HIT } else { GOOD_CAPACITY_OF_HIT };
        let with = |candidates: usize| Self {
            queries: 1,
            dim,
            k,
            capacity: (candidates + of_hit * k).min(rows.max(1)),
        };
        let (good, enough) = (with(GOOD_CAPACITY), with(ENOUGH_CAPACITY));
        let most = ((bytes / enough.bytes()) as usize).min(MOST_QUERIES);
        if most > 0 && queries > 0 {
            // Groups that are alike, and no more of them than needed: each reads all rows.
            let queries = queries.div_ceil(queries.div_ceil(most));
            let spare = (bytes / queries as u64 - enough.bytes()) / size_of::<Candidate>() as u64;
            let capacity = good.capacity.min(enough.capacity + spare as usize);
            return Some(Self { queries, capacity, ..good });
        }
        let least = Self::least(rows, k, dim);
        let spare = bytes.checked_sub(least.bytes())? / size_of::<Candidate>() as u64;
        Some(Self { capacity: least.capacity + spare as usize, ..least })
    }

    /// The least sizes for a search of `rows` rows.
    pub(crate) fn least(rows: usize, k: usize, dim: usize) -> Self {
        Self { queries: 1, dim, k, capacity: (2 * k + LEAST_CAPACITY).min(rows.max(1)) }
    }

    /// Bytes of a group without its lists of excluded documents.
    pub(crate) fn bytes(&self) -> u64 {
        let Self { queries, dim, k, capacity } = *self;
        // Prepared queries of up to four types.
        let pairs = MOST_PAIRS_OF_QUERY * size_of::<QueryPair>();
        let of_types = 4 * (DType::F32.stride(dim) + QUERY_FACTS_BYTES + pairs);
        let vectors = dim * size_of::<f32>() + of_types;
        let hits = k * size_of::<KernelHit>()
            + if k > BEST_IN_SHARED as usize { 2 * k * size_of::<u64>() } else { 0 };
        let query = vectors + hits + capacity * size_of::<Candidate>() + 7 * size_of::<u32>();
        // Each array is rounded up to 256 bytes.
        query as u64 * queries as u64 + 22 * 256
    }

    /// How many times larger than the last chunk the next one may be. Small steps raise the thresholds
    /// sooner, which matters where nominations cost more than the waits between chunks: with many queries.
    pub(crate) fn growth(&self) -> usize {
        if self.queries < MANY_QUERIES { 64 } else { 4 }
    }

    /// How many rows the next chunk may have, after `seen` rows with at most `held` candidates of a query. As
    /// large a share of its rows is expected to be nominated, with a margin of 30%.
    pub(crate) fn fitting_rows(&self, seen: usize, held: usize) -> usize {
        let room = self.capacity - held;
        let expected = seen as f64 * room as f64 / (1.3 * held.max(1) as f64);
        (expected as usize).max(room)
    }

    /// The same after a chunk of `scanned` rows that did not fit: half of them. (Its limit may have been many
    /// times more: half of that would be the same chunk.)
    pub(crate) fn fewer_rows(&self, scanned: usize, held: usize) -> usize {
        (scanned / 2).max(self.capacity - held)
    }
}

#[cfg(test)]
mod tests {
    use super::Sizes;

    #[test]
    fn groups_keep_within_their_memory_and_can_always_go_on() {
        for bytes in [100_000, 1 << 20, 1 << 30, 8_u64 << 30] {
            for (queries, rows, k, dim) in [
                (1, 10, 10, 8),
                (6980, 8_841_823, 1000, 768),
                (6980, 8_841_823, 100_000, 768),
                (3, 1_000_000, 1, 4096),
            ] {
                let coded = bytes % 3 == 1;
                let Some(sizes) = Sizes::within(bytes, queries, rows, coded, k, dim) else {
                    assert!(Sizes::least(rows, k, dim).bytes() > bytes, "k {k} in {bytes} bytes");
                    continue;
                };
                assert!(sizes.bytes() <= bytes, "{sizes:?}");
                assert!(sizes.capacity > sizes.k || sizes.capacity == rows, "{sizes:?}");
                assert!(sizes.queries == queries || sizes.queries * 2 > (bytes / sizes.bytes()) as usize);
                assert!(sizes.growth() >= 2);
            }
        }
    }

    /// In an eighth of 6 GB. A group more would read all vectors again.
    #[test]
    fn there_are_no_more_groups_than_needed() {
        let of = |k| Sizes::within(750_000_000, 6980, 8_841_823, false, k, 768);
        assert!(of(10).is_some_and(|sizes| sizes.queries == 6980 && (4096..8192).contains(&sizes.capacity)));
        assert!(
            of(1000).is_some_and(|sizes| sizes.queries == 3490 && (14_000..16_192).contains(&sizes.capacity))
        );
    }

    #[test]
    fn chunks_are_as_large_as_buffers_allow() {
        let sizes = Sizes { queries: 6980, dim: 768, k: 1000, capacity: 16_384 };
        // Nothing is known yet; then 1,000 of 16,384 rows are held; or 3,500, as with wide bounds.
        assert_eq!(sizes.fitting_rows(0, 0), 16_384);
        let (narrow, wide) = (sizes.fitting_rows(16_384, 1000), sizes.fitting_rows(16_384, 3500));
        for (rows, held) in [(narrow, 1000), (wide, 3500)] {
            let nominated = rows * held / 16_384;
            assert!(held + nominated < sizes.capacity && held + nominated * 3 / 2 > sizes.capacity, "{rows}");
        }
        assert_eq!(sizes.fitting_rows(20_000, 16_384), 0);
        // A chunk that did not fit is halved, but what the buffers have room for always fits.
        assert_eq!((sizes.fewer_rows(100_000, 1000), sizes.fewer_rows(20_000, 1000)), (50_000, 15_384));
    }
}
