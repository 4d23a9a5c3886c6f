//! Rankings as a run.

use rayon::prelude::*;
use toller_corpus::Score;
use toller_ir::{Hit, Query, Ranking, Run, RunEntry, Searcher};

/// What `searcher` found for `queries`, as a run that was written to a file and read again. Queries without
/// hits are not in it.
#[must_use]
pub fn as_run(searcher: &dyn Searcher, queries: &[Query], rankings: &[Ranking]) -> Run {
    let entry = |hit: &Hit| RunEntry {
        doc_id: searcher.doc_id(hit.doc).into_owned(),
        score: Score::F32(hit.score).as_read(),
    };
    let entries = |(query, ranking): (&Query, &Ranking)| {
        (query.id.clone(), ranking.hits.iter().map(entry).collect::<Vec<RunEntry>>())
    };
    let found = queries.par_iter().zip(rankings).filter(|(_, ranking)| !ranking.hits.is_empty());
    // The threads make the entries; a map of their order is made of them in turn.
    let entries: Vec<_> = found.map(entries).collect();
    Run { queries: entries.into_iter().collect(), ..Run::default() }
}
