//! Rows of a store that were found, as a run.

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use toller_corpus::Score;
use toller_ir::{DocOrd, RunEntry};

use crate::error::Failed;
use crate::runs::Run;
use crate::store::Store;
use crate::work;

/// The hits of each query as a run, with the scores that a reader of the run gets: `scores` and `rows` are
/// [queries, hits], best first, as `FlatIndex.search` returns them. Queries without hits are not in it.
#[pyfunction]
pub(crate) fn run_of_rows(
    py: Python<'_>,
    store: &Bound<'_, Store>,
    queries: Vec<String>,
    scores: PyReadonlyArray2<'_, f32>,
    rows: PyReadonlyArray2<'_, i64>,
) -> PyResult<Run> {
    let (scores, rows) = (scores.as_array(), rows.as_array());
    let (count, hits) = scores.dim();
    if scores.dim() != rows.dim() || count != queries.len() {
        let message =
            format!("{:?} scores and {:?} rows for {} queries", scores.dim(), rows.dim(), queries.len());
        return Err(Failed::invalid(message).into());
    }
    let (scores, rows): (Vec<f32>, Vec<i64>) =
        (scores.iter().copied().collect(), rows.iter().copied().collect());
    let store = store.get().store.clone();
    work::run(py, None, move |session| {
        let entry = |(&score, &row): (&f32, &i64)| {
            let known = u32::try_from(row).ok().filter(|row| (*row as usize) < store.count());
            let missing = || Failed::invalid(format!("row {row} of a store of {}", store.count()));
            let doc_id = store.id(DocOrd(known.ok_or_else(missing)?)).to_owned();
            Ok(RunEntry { doc_id, score: Score::F32(score).as_read() })
        };
        let mut run = toller_ir::Run { tag: "toller".to_owned(), ..toller_ir::Run::default() };
        let of_queries = scores.chunks(hits.max(1)).zip(rows.chunks(hits.max(1)));
        for (query, (scores, rows)) in queries.into_iter().zip(of_queries) {
            session.check()?;
            let entries = scores.iter().zip(rows).map(entry).collect::<Result<_, Failed>>()?;
            run.queries.insert(query, entries);
        }
        Ok(Run::of(run))
    })
}
