//! Measuring searches: time, rates and shares of the machine's limits.

use std::time::Instant;

use toller_store::Store;
use toller_topk::{Scan, TopK};

use crate::limits::Limits;
use crate::vectors::Random;
use crate::{BenchError, Budget, Timings, measure, unit_vectors};

/// The sizes of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Vectors that are searched.
    pub vectors: usize,
    /// Queries of a batch.
    pub queries: usize,
    /// Hits of a query.
    pub k: usize,
    /// The precision in which vectors are nominated.
    pub scan: Scan,
}

/// A measured search.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its sizes.
    pub case: Case,
    /// Seconds of a search of the whole batch.
    pub timings: Timings,
    /// Bytes that a scan reads, once a batch.
    pub bytes: f64,
    /// Bytes of them that are copied to a GPU in every search.
    pub uploaded: f64,
    /// Multiplications and additions that scoring every vector takes.
    pub operations: f64,
    /// How many vectors were nominated to be scored again.
    pub nominated: Nominated,
}

/// Vectors that a scan nominates for a query, over all queries of all rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Nominated {
    /// On average.
    pub mean: f64,
    /// At most.
    pub max: usize,
}

/// Vectors to search with, `[count, dim]`: more than a batch, so that every search has others.
#[derive(Clone, Debug)]
pub struct QueryPool {
    values: Vec<f32>,
    dim: usize,
}

impl QueryPool {
    /// Queries that follow each other in `values`, `[count, dim]`.
    #[must_use]
    pub fn new(values: Vec<f32>, dim: usize) -> Self {
        Self { values, dim }
    }

    /// Random directions.
    ///
    /// # Errors
    /// [`BenchError::Memory`] if the machine refuses the memory.
    pub fn random(count: usize, dim: usize, seed: u64) -> Result<Self, BenchError> {
        Ok(Self::new(unit_vectors(count, dim, seed)?, dim))
    }

    /// All vectors of a store, in its order.
    #[must_use]
    pub fn all_of(store: &Store) -> Self {
        let mut values = vec![0.0; store.count() * store.dim()];
        let mut rest = values.as_mut_slice();
        for shard in store.shards() {
            let len = shard.rows() * shard.dim();
            let (out, after) = rest.split_at_mut(len);
            shard.embeddings().widen(0..len, out);
            rest = after;
        }
        Self::new(values, store.dim())
    }

    /// Vectors drawn at random, with repetition, from a store that holds some.
    #[must_use]
    pub fn drawn_from(store: &Store, count: usize, seed: u64) -> Self {
        let dim = store.dim();
        let mut values = vec![0.0; if store.count() == 0 { 0 } else { count * dim }];
        let mut random = Random::new(seed, 0);
        for vector in values.chunks_exact_mut(dim) {
            let (shard, row) = store.locate(toller_ir::DocOrd(random.index(store.count()) as u32));
            shard.embeddings().widen(row * dim..(row + 1) * dim, vector);
        }
        Self::new(values, dim)
    }

    /// The number of queries.
    #[must_use]
    pub fn count(&self) -> usize {
        self.values.len() / self.dim
    }

    /// The batch of a round, `[queries, dim]`: one after the other, from the start again when the rest is too
    /// few.
    ///
    /// # Panics
    /// If there are fewer queries.
    #[must_use]
    pub fn batch(&self, round: usize, queries: usize) -> &[f32] {
        let first = round % (self.count() / queries) * queries;
        &self.values[first * self.dim..(first + queries) * self.dim]
    }
}

/// Measures `search`, which is given `[case.queries, dim]`, with other queries each round. The scan reads
/// `bytes` a batch.
///
/// # Errors
/// [`BenchError::TooFewQueries`], and what the search fails with.
pub fn measure_search(
    case: Case,
    pool: &QueryPool,
    bytes: usize,
    budget: &Budget,
    mut search: impl FnMut(&[f32]) -> Result<TopK, BenchError>,
) -> Result<Point, BenchError> {
    let too_few = BenchError::TooFewQueries { batch: case.queries, queries: pool.count() };
    if case.queries == 0 || case.queries > pool.count() {
        return Err(too_few);
    }
    let (mut searched, mut sum, mut max) = (0, 0, 0);
    let timings = measure(budget, |round| {
        let queries = pool.batch(round, case.queries);
        let started = Instant::now();
        let found = std::hint::black_box(search(queries)?);
        let time = started.elapsed();
        searched += found.nominated.len();
        sum += found.nominated.iter().sum::<usize>();
        max = found.nominated.into_iter().fold(max, usize::max);
        Ok::<_, BenchError>(time)
    })?;
    let operations = 2.0 * case.vectors as f64 * pool.dim as f64 * case.queries as f64;
    let nominated = Nominated { mean: sum as f64 / searched.max(1) as f64, max };
    Ok(Point { case, timings, bytes: bytes as f64, uploaded: 0.0, operations, nominated })
}

impl Point {
    /// Queries a second, by the median round, like all rates here.
    #[must_use]
    pub fn queries_per_sec(&self) -> f64 {
        self.case.queries as f64 / self.timings.median()
    }

    /// Bytes that the scan reads a second: each counts once a batch.
    #[must_use]
    pub fn bytes_per_sec(&self) -> f64 {
        self.bytes / self.timings.median()
    }

    /// Multiplications and additions a second.
    #[must_use]
    pub fn operations_per_sec(&self) -> f64 {
        self.operations / self.timings.median()
    }

    /// The time that the limits allow, as a share of the time it took.
    #[must_use]
    pub fn share_of_floor(&self, limits: &Limits) -> f64 {
        limits.floor_secs(self.bytes, self.uploaded, self.operations) / self.timings.median()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use toller_topk::{Scan, TopK};

    use super::{Case, Nominated, QueryPool, measure_search};
    use crate::limits::Limits;
    use crate::{BenchError, Budget};

    #[test]
    fn rounds_have_other_queries_and_rates_follow_from_the_sizes() -> Result<(), BenchError> {
        let pool = QueryPool::new((0..10).map(|x| x as f32).collect(), 2);
        let case = Case { vectors: 1000, queries: 2, k: 1, scan: Scan::F32 };
        let budget = Budget::rounds(3);
        let mut seen = Vec::new();
        let point = measure_search(case, &pool, 8000, &budget, |queries| {
            seen.push(queries.to_vec());
            std::thread::sleep(Duration::from_millis(2));
            Ok(TopK { rankings: Vec::new(), nominated: vec![3, seen.len()] })
        })?;
        let (first, second) = (vec![0.0, 1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0, 7.0]);
        assert_eq!(seen, [first.clone(), second.clone(), first, second]);
        assert_eq!((point.bytes, point.operations), (8000.0, 8000.0));
        // Three each, and 1 to 4.
        assert_eq!(point.nominated, Nominated { mean: 22.0 / 8.0, max: 4 });
        let seconds = point.timings.median();
        assert!(seconds >= 0.002, "{seconds}");
        assert_eq!(point.queries_per_sec(), 2.0 / seconds);
        assert_eq!((point.bytes_per_sec(), point.operations_per_sec()), (8000.0 / seconds, 8000.0 / seconds));
        let limits = Limits { read_rate: 8000.0, upload_rate: f64::INFINITY, matrix_rate: 4000.0 };
        assert_eq!(point.share_of_floor(&limits), 2.0 / seconds);
        Ok(())
    }

    #[test]
    fn batches_beyond_the_pool_are_errors() -> Result<(), BenchError> {
        let pool = QueryPool::random(3, 4, 1)?;
        let budget = Budget::rounds(1);
        for queries in [0, 4] {
            let case = Case { vectors: 1, queries, k: 1, scan: Scan::F32 };
            let result = measure_search(case, &pool, 4, &budget, |_| Ok(TopK::default()));
            assert!(matches!(result, Err(BenchError::TooFewQueries { queries: 3, .. })), "{result:?}");
        }
        Ok(())
    }
}
