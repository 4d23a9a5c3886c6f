//! Both stages at the same time: one thread searches some queries ahead, the caller's thread reranks.

use std::mem;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use toller_ir::{Query, Ranking, SearchError};

use super::{RerankError, RerankReport, Reranker, Stop};
use crate::SearchJob;

/// Queries that go from stage to stage together: enough to keep threads busy with pairs, few enough that
/// progress shows. Where the first stage wants no more, it searches this many, so that reranking starts soon.
const QUERIES: usize = 32;

/// Such blocks that wait for reranking.
const BLOCKS_AHEAD: usize = 2;

/// Queries that are searched, and whose hits are reranked.
pub struct RetrieveJob<'a> {
    /// The first stage. Its `k` hits are as many as are reranked and returned, or more.
    pub search: SearchJob<'a>,
    /// The second stage.
    pub reranker: &'a Reranker,
    /// Hits of a query that are returned, at most.
    pub k: usize,
}

/// What was retrieved for a block of queries.
pub struct Retrieved<'a> {
    /// The queries.
    pub queries: &'a [Query],
    /// The hits of the first stage.
    pub first_stage: Vec<Ranking>,
    /// The reranked hits.
    pub rankings: Vec<Ranking>,
    /// How long the first stage searched, without waiting for the second; of queries that were searched
    /// together, the first block has the time of all.
    pub search: Duration,
    /// What the second stage did, and how long, without waiting for the first.
    pub reranked: RerankReport,
}

/// The hits of a block of queries, and the time of the search, unless the block before has it.
struct Found<'a> {
    queries: &'a [Query],
    rankings: Vec<Ranking>,
    time: Duration,
}

/// Why the first stage ends early.
enum Ended {
    Failed(SearchError),
    /// The second stage has ended, which reports its own reason.
    Unheard,
}

impl From<SearchError> for Ended {
    fn from(error: SearchError) -> Self {
        Self::Failed(error)
    }
}

impl<'a> RetrieveJob<'a> {
    /// Retrieves for all queries. `take` gets the hits of each block, in the order of the queries. The result
    /// is the same as reranking the run that the first stage writes.
    ///
    /// # Errors
    /// Those of either stage and of `take`; [`RerankError::Stopped`] once `stop` says so.
    pub fn run<E: From<SearchError> + From<RerankError>>(
        &self,
        stop: Stop<'_>,
        mut take: impl FnMut(Retrieved<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        thread::scope(|scope| {
            let (sender, found) = sync_channel(BLOCKS_AHEAD);
            scope.spawn(move || search(&self.search, &sender));
            // Leaving the loop drops the receiver, which ends the search.
            for found in found {
                let Found { queries, rankings: first_stage, time } = found?;
                let searcher = self.search.searcher;
                let (rankings, reranked) =
                    self.reranker.rerank_rankings(searcher, queries, &first_stage, self.k, stop)?;
                take(Retrieved { queries, first_stage, rankings, search: time, reranked })?;
            }
            Ok(())
        })
    }
}

/// The first stage: sends what it finds, or why it failed.
fn search<'a>(job: &SearchJob<'a>, sender: &SyncSender<Result<Found<'a>, SearchError>>) {
    let mut began = Instant::now();
    let searched = job.run_by(job.at_once(QUERIES), |queries, response| {
        let mut time = began.elapsed();
        let mut rankings = response.rankings.into_iter();
        for queries in queries.chunks(QUERIES) {
            let rankings = rankings.by_ref().take(queries.len()).collect();
            let found = Found { queries, rankings, time: mem::take(&mut time) };
            sender.send(Ok(found)).map_err(|_| Ended::Unheard)?;
        }
        began = Instant::now();
        Ok(())
    });
    if let Err(Ended::Failed(error)) = searched {
        // Sending fails if the second stage has ended, which reports its own reason.
        let _ = sender.send(Err(error));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use toller_ir::DocOrd;

    use super::{Found, search};
    use crate::QueryFilter;
    use crate::search_job::tests::{Counting, job, queries};

    #[test]
    fn what_is_searched_together_is_handed_on_by_and_by() {
        let (queries, filter) = (queries(150), QueryFilter::default());
        for (wanted, searched) in [(None, vec![32, 32, 32, 32, 22]), (Some(100), vec![100, 50])] {
            let searcher = Counting::new(wanted, 10);
            let (sender, receiver) = sync_channel(150);
            search(&job(&searcher, &queries, 1, &filter), &sender);
            drop(sender);
            let found: Vec<Found<'_>> = receiver.into_iter().map(Result::unwrap).collect();
            assert_eq!(searcher.requests(), searched);
            assert!(found.iter().all(|found| found.queries.len() <= 32));
            let handed_on = found.iter().flat_map(|found| found.queries.iter().zip(&found.rankings));
            let hits = handed_on.map(|(query, ranking)| (&query.id, ranking.hits[0].doc));
            assert!(hits.eq(queries.iter().map(|query| (&query.id, DocOrd(query.id.parse().unwrap())))));
        }
    }
}
