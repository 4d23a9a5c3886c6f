//! `toller bench`: how fast this machine is, compared with its limits.

mod encode;
mod machine;
mod options;
mod output;
mod rerank;
mod retrieve;
mod search;
mod search_source;
mod sparse;

use crate::ui::Ui;

#[derive(Debug, clap::Subcommand)]
pub enum BenchCommand {
    /// Measure encoding: tokens a second by the length of texts, and where the time goes
    Encode(encode::BenchEncodeArgs),
    /// Measure reranking: pairs a second by depth, and the latency of one query
    Rerank(rerank::BenchRerankArgs),
    Retrieve(Box<retrieve::BenchRetrieveArgs>),
    /// Measure exact search: time against vectors, queries and k, compared with the machine's limits
    Search(search::BenchSearchArgs),
    /// Measure an inverted index: queries a second, and the latency of one query, by k
    Sparse(sparse::BenchSparseArgs),
}

pub fn run(command: &BenchCommand, threads: usize, ui: &Ui) -> crate::Result<()> {
    match command {
        BenchCommand::Encode(args) => encode::run(args, threads, ui),
        BenchCommand::Rerank(args) => rerank::run(args, threads, ui),
        BenchCommand::Retrieve(args) => retrieve::run(args, threads, ui),
        BenchCommand::Search(args) => search::run(args, threads, ui),
        BenchCommand::Sparse(args) => sparse::run(args, threads, ui),
    }
}
