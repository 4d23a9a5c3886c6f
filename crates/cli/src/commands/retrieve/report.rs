//! The report of `toller retrieve`: each stage's time and throughput.

use toller_ir::counted;

use super::stages::Times;
use crate::commands::rerank::warn_of_missing_texts;
use crate::ui::{Ui, per_second};

/// What was retrieved, and the time it took.
pub(super) struct Report {
    pub(super) queries: usize,
    pub(super) documents: usize,
    pub(super) depth: usize,
    pub(super) k: u32,
    pub(super) output: String,
    pub(super) prepare_secs: f64,
    pub(super) all_secs: f64,
    pub(super) times: Times,
}

impl Report {
    /// Prints the report to stderr and, with `--json`, to stdout.
    pub(super) fn print(&self, ui: &Ui) -> crate::Result<()> {
        let Self { queries, documents, depth, k, output, prepare_secs, all_secs, times } = self;
        let Times { search_secs, hits, unfound, reranked } = times;
        unfound.warn(ui);
        warn_of_missing_texts(reranked, ui);
        let rerank_secs = reranked.duration.as_secs_f64();
        let computed = reranked.pairs - reranked.known_pairs;
        let search_rate = per_second(*queries as u64, *search_secs);
        let (pair_rate, token_rate) =
            (per_second(computed, rerank_secs), per_second(reranked.tokens, rerank_secs));
        let known = match reranked.known_pairs {
            0 => String::new(),
            known => format!(", {known} known before"),
        };
        ui.status(format!(
            "searched {} for {} in {search_secs:.2} s ({search_rate:.0} queries/s): {}\n\
             reranked to depth {depth} in {rerank_secs:.2} s: {}{known} ({pair_rate:.0} pairs/s, {token_rate:.0} tokens/s)\n\
             both at the same time in {all_secs:.2} s ({prepare_secs:.1} s to prepare) in {output}",
            counted(*documents, "document"),
            counted(*queries, "query"),
            counted(*hits, "hit"),
            counted(reranked.pairs, "pair"),
        ));
        ui.json(|| {
            serde_json::json!({
                "run": output,
                "queries": queries,
                "documents": documents,
                "k": k,
                "prepare_seconds": prepare_secs,
                "seconds": all_secs,
                "search": {
                    "seconds": search_secs,
                    "hits": hits,
                    "queries_without_hits": unfound.count(),
                    "queries_per_second": search_rate,
                },
                "rerank": {
                    "seconds": rerank_secs,
                    "depth": depth,
                    "pairs": reranked.pairs,
                    "known_pairs": reranked.known_pairs,
                    "tokens": reranked.tokens,
                    "pairs_per_second": pair_rate,
                    "tokens_per_second": token_rate,
                    "documents_not_found": reranked.unavailable,
                    "empty_passages": reranked.empty,
                },
            })
        })
    }
}
