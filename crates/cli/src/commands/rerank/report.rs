//! The report of a reranking.

use toller_ir::counted;
use toller_pipeline::rerank::{RerankReport, Reranked, Reranker};

use crate::ui::{Ui, per_second};

/// What was reranked, how fast, and what could not be reranked.
pub(super) struct Report<'a> {
    pub(super) reranked: &'a Reranked,
    pub(super) reranker: &'a Reranker,
    pub(super) output: String,
}

impl Report<'_> {
    /// Prints the report to stderr and, with `--json`, to stdout.
    pub(super) fn print(&self, ui: &Ui) -> crate::Result<()> {
        let Self { reranked, reranker, output } = self;
        let report = &reranked.report;
        warn_of_missing_texts(report, ui);
        let seconds = report.duration.as_secs_f64();
        let computed = report.pairs - report.known_pairs;
        let rate = |count| per_second(count, seconds);
        let (queries, depth) = (reranked.queries.len(), reranker.options().depth);
        let known = match report.known_pairs {
            0 => String::new(),
            known => format!(", {known} known before"),
        };
        ui.status(format!(
            "reranked {} to depth {depth} in {seconds:.2} s\n\
             {}{known} ({:.0} pairs/s, {:.0} tokens/s) in {output}",
            counted(queries, "query"),
            counted(report.pairs, "pair"),
            rate(computed),
            rate(report.tokens),
        ));
        ui.json(|| {
            serde_json::json!({
                "run": output,
                "queries": queries,
                "depth": depth,
                "models": reranker.model_count(),
                "pairs": report.pairs,
                "known_pairs": report.known_pairs,
                "tokens": report.tokens,
                "seconds": seconds,
                "pairs_per_second": rate(computed),
                "tokens_per_second": rate(report.tokens),
                "documents_not_found": report.unavailable,
                "queries_without_text": report.without_text.len(),
                "empty_passages": report.empty,
            })
        })
    }
}

/// Warns of hits that were not reranked like others, or that are suspicious.
pub(in crate::commands) fn warn_of_missing_texts(report: &RerankReport, ui: &Ui) {
    if let Some((query, document)) = &report.first_unavailable {
        ui.warning(format!(
            "{} not in the collection and below the reranked ones, for example {document:?} of query {query:?}",
            counted(report.unavailable, "document")
        ));
    }
    if let Some(query) = report.without_text.first() {
        ui.warning(format!(
            "{} without a text, whose hits stay as they are, for example {query:?}",
            counted(report.without_text.len(), "query")
        ));
    }
    if let Some((query, document)) = &report.first_empty {
        ui.warning(format!(
            "scored {}, for example {document:?} of query {query:?}",
            counted(report.empty, "empty passage")
        ));
    }
}
