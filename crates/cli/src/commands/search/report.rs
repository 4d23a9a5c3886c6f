//! The report of a search.

use toller_ir::{Query, Ranking, counted};

use super::{SearchArgs, Unfound};
use crate::ui::Ui;

/// What was searched, how fast, and what was found.
pub(super) struct Report<'a> {
    pub(super) args: &'a SearchArgs,
    /// The file of the hits.
    pub(super) output: String,
    pub(super) documents: usize,
    pub(super) found: Found,
    pub(super) prepare_secs: f64,
    pub(super) search_secs: f64,
}

/// What was found for the queries so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) queries: usize,
    /// Hits in the run.
    pub(super) hits: u64,
    unfound: Unfound,
    /// Vectors that the scans nominated for all queries together; 0 if no vectors were scanned.
    nominated: usize,
    /// Those of the query with the most.
    most_nominated: usize,
}

impl Found {
    /// Adds the hits of a block of queries, and how many vectors were nominated for each.
    pub(super) fn add(&mut self, queries: &[Query], rankings: &[Ranking], nominated: &[usize]) {
        self.queries += queries.len();
        for (query, ranking) in queries.iter().zip(rankings) {
            self.hits += ranking.hits.len() as u64;
            self.unfound.note(&query.id, ranking.hits.len());
        }
        self.nominated += nominated.iter().sum::<usize>();
        self.most_nominated = nominated.iter().copied().max().unwrap_or(0).max(self.most_nominated);
    }
}

impl Report<'_> {
    /// Prints the report to stderr and, with `--json`, to stdout.
    pub(super) fn print(&self, ui: &Ui) -> crate::Result<()> {
        let Self { args, ref output, documents, ref found, prepare_secs, search_secs } = *self;
        let Found { queries, hits, ref unfound, nominated, most_nominated } = *found;
        // Other shares may have hits of these queries.
        if args.shard.is_none() {
            unfound.warn(ui);
        }
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
            "queries_without_hits": unfound.count(),
            "prepare_seconds": prepare_secs,
            "search_seconds": search_secs,
            "queries_per_second": rate,
        });
        if !args.sources.dense.dense.is_empty() {
            let scan = args.sources.dense.store_args.scan;
            let mean = nominated as f64 / queries.max(1) as f64;
            ui.detail(format!(
                "--scan {scan}: nominated {mean:.1} vectors a query on average, {most_nominated} at most"
            ));
            report["scan"] = scan.to_string().into();
            report["nominated_mean"] = mean.into();
            report["nominated_max"] = most_nominated.into();
        }
        ui.json(|| report)
    }

    /// What is counted.
    fn what(&self) -> &'static str {
        if self.args.sources.sparse.sparse.is_some() { "document" } else { "vector" }
    }
}
