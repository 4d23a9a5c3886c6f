//! Both stages at the same time: one thread searches some queries ahead, the caller's thread reranks and
//! writes.

use std::borrow::Cow;
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use toller_corpus::{Score, TrecRunWriter};
use toller_ir::{Query, Ranking, SearchResponse, Searcher, Setting};
use toller_pipeline::rerank::{Candidates, RerankError, RerankReport, Reranker};

use super::RERANK_MAX_LENGTH;
use crate::commands::rerank::Journal;
use crate::commands::search::{Sources, Unfound, block_of_queries};
use crate::error::{Context, Remedied};
use crate::interrupt::{Interrupted, is_asked};
use crate::ui::Ui;

/// Queries that go from stage to stage together: enough to keep threads busy with pairs, few enough that
/// reranking starts soon.
const QUERIES_PER_BLOCK: usize = 32;

/// Blocks that are searched ahead of reranking, whose hits are in memory.
const BLOCKS_AHEAD: usize = 2;

/// What the stages work with.
pub(in crate::commands) struct Stages<'a> {
    pub(in crate::commands) sources: &'a Sources,
    pub(in crate::commands) reranker: &'a Reranker,
    /// Hits of the first stage.
    pub(in crate::commands) searched: usize,
    /// Hits that are written.
    pub(in crate::commands) k: usize,
    pub(in crate::commands) stop: &'a AtomicBool,
}

/// The times of the stages.
#[derive(Default)]
pub(in crate::commands) struct Times {
    /// Seconds that the first stage searched, without waiting for the second.
    pub(in crate::commands) search_secs: f64,
    /// Hits of the first stage.
    pub(in crate::commands) hits: u64,
    pub(in crate::commands) unfound: Unfound,
    /// What the second stage did, and how long, without waiting for the first.
    pub(in crate::commands) reranked: RerankReport,
}

/// The hits of a block of queries, and the time of their search.
struct Found<'a> {
    queries: &'a [Query],
    rankings: Vec<Ranking>,
    seconds: f64,
}

impl Stages<'_> {
    /// Retrieves for all queries.
    pub(in crate::commands) fn run(
        &self,
        run: &mut TrecRunWriter<&mut dyn Write>,
        journal: &Journal,
        ui: &Ui,
    ) -> crate::Result<Times> {
        let all = self.sources.queries.len();
        let bar = ui.progress("retrieving", "queries", all as u64);
        let mut times = Times::default();
        let mut done = 0;
        let retrieved = thread::scope(|scope| {
            let (sender, found) = sync_channel(BLOCKS_AHEAD);
            scope.spawn(move || self.search(&sender));
            // Leaving the loop drops the receiver, which ends the search.
            for found in found {
                let found: Found<'_> = found?;
                times.search_secs += found.seconds;
                for (query, ranking) in found.queries.iter().zip(&found.rankings) {
                    times.hits += ranking.hits.len() as u64;
                    times.unfound.note(&query.id, ranking.hits.len());
                }
                times.reranked.add(self.rerank(&found, run)?);
                done += found.queries.len();
                bar.set(done as u64);
                let RerankReport { pairs, known_pairs, duration, .. } = times.reranked;
                let rate = (pairs - known_pairs) as f64 / duration.as_secs_f64().max(1e-9);
                bar.message(format!("{rate:.0} pairs/s"));
            }
            Ok(())
        });
        drop(bar);
        match retrieved {
            Ok(()) => Ok(times),
            Err(error) if is_stop(&error) => {
                let hint = journal.resume_hint();
                Err(Interrupted { resume: format!("{done} of {all} queries are done; {hint}") }.into())
            }
            Err(error) => Err(error),
        }
    }

    /// Retrieves for one query, one stage after the other. Gives the time of the first, and what the second
    /// did.
    pub(in crate::commands) fn run_one(
        &self,
        query: &Query,
        run: &mut TrecRunWriter<&mut dyn Write>,
    ) -> crate::Result<(Duration, RerankReport)> {
        let began = Instant::now();
        let SearchResponse { rankings, .. } = self.sources.search_one(query, self.searched)?;
        let time = began.elapsed();
        let queries = std::slice::from_ref(query);
        let found = Found { queries, rankings, seconds: time.as_secs_f64() };
        Ok((time, self.rerank(&found, run)?))
    }

    /// The first stage: sends what it finds, or why it ended.
    fn search<'a>(&'a self, sender: &SyncSender<crate::Result<Found<'a>>>) {
        let block = block_of_queries(self.searched, self.sources.searcher.doc_count()).min(QUERIES_PER_BLOCK);
        let queries = &self.sources.queries;
        let (mut at, mut began) = (0, Instant::now());
        let take = |block: &[Query], SearchResponse { rankings, .. }| {
            let seconds = began.elapsed().as_secs_f64();
            let queries = &queries[at..at + block.len()];
            at += block.len();
            // Sending fails if the second stage has ended, which reports its own reason.
            let taken = sender
                .send(Ok(Found { queries, rankings, seconds }))
                .map_err(|_| Remedied::without_remedy("reranking ended").into());
            began = Instant::now();
            taken
        };
        if let Err(error) = self.sources.search(self.searched, block, take) {
            // As above.
            let _ = sender.send(Err(error));
        }
    }

    /// The second stage, for a block.
    fn rerank(
        &self,
        found: &Found<'_>,
        run: &mut TrecRunWriter<&mut dyn Write>,
    ) -> crate::Result<RerankReport> {
        let searcher = &self.sources.searcher;
        let ids = |ranking: &Ranking| ranking.hits.iter().map(|hit| searcher.doc_id(hit.doc)).collect();
        let ids: Vec<Vec<Cow<'_, str>>> = found.rankings.iter().map(ids).collect();
        // Scores count as a reader of the first stage's run would get them, so that the result is the same as
        // with `toller rerank`.
        let candidates: Vec<Candidates<'_>> = found
            .queries
            .iter()
            .zip(found.rankings.iter().zip(&ids))
            .map(|(query, (ranking, ids))| {
                let scores = ranking.hits.iter().map(|hit| Score::F32(hit.score).as_read());
                let hits = ids.iter().map(AsRef::as_ref).zip(scores).collect();
                Candidates { query_id: &query.id, query_text: Some(&query.text), hits }
            })
            .collect();
        let reranked = self.reranker.rerank(&candidates, &|| is_asked(self.stop), |_| {});
        let reranked = reranked.with_flag(Setting::MaxLength, RERANK_MAX_LENGTH)?;
        for (query, ranked) in candidates.iter().zip(&reranked.queries) {
            let hits = ranked.iter().take(self.k).map(|hit| (query.hits[hit.place].0, hit.score));
            run.write_query(query.query_id, hits)?;
        }
        Ok(reranked.report)
    }
}

/// Whether the work ended because it was to stop, in either stage.
fn is_stop(error: &crate::error::Failure) -> bool {
    error.downcast_ref::<Interrupted>().is_some()
        || matches!(error.downcast_ref(), Some(RerankError::Stopped { .. }))
}
