//! The report of a search.

use toller_ir::counted;

use super::{SearchArgs, Unfound};
use crate::ui::Ui;

/// What was searched, how fast, and what was found.
pub(super) struct Report<'a> {
    pub(super) args: &'a SearchArgs,
    /// The file of the hits.
    pub(super) output: String,
    pub(super) queries: usize,
    pub(super) documents: usize,
    pub(super) hits: usize,
    pub(super) unfound: Unfound,
    pub(super) prepare_secs: f64,
    pub(super) search_secs: f64,
    pub(super) nominated: Nominated,
}

/// How many vectors the scans nominated; 0 if no vectors were scanned.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Nominated {
    /// For all queries together.
    total: usize,
    /// For the query with the most.
    most: usize,
}

impl Nominated {
    /// Adds what was nominated for each of some queries.
    pub(super) fn add(&mut self, queries: &[usize]) {
        self.total += queries.iter().sum::<usize>();
        self.most = queries.iter().copied().max().unwrap_or(0).max(self.most);
    }
}

impl Report<'_> {
    /// Prints the report to stderr and, with `--json`, to stdout.
    pub(super) fn print(&self, ui: &Ui) -> crate::Result<()> {
        let Self { args, ref output, queries, documents, hits, prepare_secs, search_secs, .. } = *self;
        self.unfound.warn(ui);
        let rate = queries as f64 / search_secs.max(1e-9);
        ui.status(format!(
            "searched {} for {} in {search_secs:.2} s ({rate:.0} queries/s)\n\
             {} in {output}, after {prepare_secs:.1} s to prepare",
            counted(documents, self.what()),
            counted(queries, "query"),
            counted(hits, "hit"),
        ));
        let mut report = serde_json::json!({
            "run": output,
            "queries": queries,
            "k": args.k(),
            "documents": documents,
            "hits": hits,
            "queries_without_hits": self.unfound.count(),
            "prepare_seconds": prepare_secs,
            "search_seconds": search_secs,
            "queries_per_second": rate,
        });
        if !args.sources.dense.dense.is_empty() {
            let (scan, Nominated { total, most }) = (args.sources.dense.scan, self.nominated);
            let mean = total as f64 / queries.max(1) as f64;
            ui.detail(format!(
                "--scan {scan}: nominated {mean:.1} vectors a query on average, {most} at most"
            ));
            report["scan"] = scan.to_string().into();
            report["nominated_mean"] = mean.into();
            report["nominated_max"] = most.into();
        }
        ui.json(|| report)
    }

    /// What is counted.
    fn what(&self) -> &'static str {
        if self.args.sources.sparse.sparse.is_some() { "document" } else { "vector" }
    }
}
