//! Running the stages: the run that is written, the progress, and the times.

use std::io::Write;
use std::sync::atomic::AtomicBool;

use toller_corpus::TrecRunWriter;
use toller_ir::Setting;
use toller_pipeline::rerank::{RerankError, RerankReport, RetrieveJob, Retrieved};

use super::RERANK_MAX_LENGTH;
use crate::commands::rerank::Journal;
use crate::commands::search::Unfound;
use crate::error::{Context, Failure};
use crate::interrupt::{Interrupted, is_asked};
use crate::ui::Ui;

/// The times of the stages.
#[derive(Default)]
pub(super) struct Times {
    /// Seconds that the first stage searched, without waiting for the second.
    pub(super) search_secs: f64,
    /// Hits of the first stage.
    pub(super) hits: u64,
    pub(super) unfound: Unfound,
    /// What the second stage did, and how long, without waiting for the first.
    pub(super) reranked: RerankReport,
}

/// Retrieves for all queries, and writes the run.
pub(super) fn run(
    job: &RetrieveJob<'_>,
    run: &mut TrecRunWriter<&mut dyn Write>,
    journal: &Journal,
    stop: &AtomicBool,
    ui: &Ui,
) -> crate::Result<Times> {
    let all = job.search.queries.len();
    let bar = ui.progress("retrieving", "queries", all as u64);
    let mut times = Times::default();
    let mut done = 0;
    let take = |Retrieved { queries, first_stage, rankings, search, reranked }: Retrieved<'_>| {
        run.write_rankings(queries, &rankings, job.search.searcher)?;
        times.search_secs += search.as_secs_f64();
        for (query, ranking) in queries.iter().zip(&first_stage) {
            times.hits += ranking.hits.len() as u64;
            times.unfound.note(&query.id, ranking.hits.len());
        }
        times.reranked.add(reranked);
        done += queries.len();
        bar.set(done as u64);
        let RerankReport { pairs, known_pairs, duration, .. } = times.reranked;
        let rate = (pairs - known_pairs) as f64 / duration.as_secs_f64().max(1e-9);
        bar.message(format!("{rate:.0} pairs/s"));
        Ok::<_, Failure>(())
    };
    let retrieved = job.run(&|| is_asked(stop), take).or_else(|error: Failure| {
        // --max-length is the first stage's.
        let is_reranking = error.downcast_ref::<RerankError>().is_some();
        if is_reranking { Err(error).with_flag(Setting::MaxLength, RERANK_MAX_LENGTH) } else { Err(error) }
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

/// Whether the work ended because it was to stop, in either stage.
fn is_stop(error: &Failure) -> bool {
    error.downcast_ref::<Interrupted>().is_some()
        || matches!(error.downcast_ref(), Some(RerankError::Stopped { .. }))
}
