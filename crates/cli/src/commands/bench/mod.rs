//! `toller bench`: how fast this machine is, compared with its limits.

mod encode;
mod encode_texts;
mod machine;
mod options;
mod output;
mod rerank;
mod search;
mod search_source;

use crate::ui::Ui;

/// Measures this machine: rates, shares of its limits, latencies.
#[derive(Debug, clap::Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Measure encoding: tokens a second by the length of texts, and where the time goes
    Encode(encode::BenchEncodeArgs),
    /// Measure reranking: pairs a second by depth, and the latency of one query
    Rerank(rerank::BenchRerankArgs),
    /// Measure exact search: time against vectors, queries and k, compared with the machine's limits
    Search(search::BenchSearchArgs),
}

/// Measures.
pub fn run(args: &BenchArgs, threads: usize, ui: &Ui) -> crate::Result<()> {
    match &args.what {
        What::Encode(args) => encode::run(args, threads, ui),
        What::Rerank(args) => rerank::run(args, threads, ui),
        What::Search(args) => search::run(args, threads, ui),
    }
}
