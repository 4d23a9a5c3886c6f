//! One file per command.

mod accuracy;
mod analyze;
mod annotate;
mod bench;
mod compare;
mod completions;
mod convert;
mod data;
mod depth;
mod diff;
mod doctor;
mod encode;
mod eval;
mod fuse;
mod index;
mod index_info;
mod man;
mod merge;
mod mine;
mod models;
mod qrels;
mod ranks;
mod report;
mod reproduce;
mod rerank;
mod retrieve;
mod run;
mod search;
mod serve;
mod slurm;
mod store;
mod text_source;
mod train;
mod trec_eval;
mod tune;
mod verify;

use clap::Subcommand;
use toller_engine::check_threads;
use toller_hub::env;

use crate::args::Cli;
use crate::error::{Remedied, UsageError};
use crate::interrupt;
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Encode a collection or queries into a store of vectors, or of impacts
    Encode(encode::EncodeArgs),
    /// Build an inverted index of a collection, for sparse retrieval
    Index(index::IndexArgs),
    /// Describe an inverted index, and look up terms
    IndexInfo(index_info::IndexInfoArgs),
    /// Retrieve documents for queries and write a TREC run, or show the hits of typed words
    Search(Box<search::SearchArgs>),
    Merge(merge::MergeArgs),
    Rerank(Box<rerank::RerankArgs>),
    Retrieve(Box<retrieve::RetrieveArgs>),
    Fuse(fuse::FuseArgs),
    /// Show the terms that an analyzer makes of texts
    Analyze(analyze::AnalyzeArgs),
    Eval(eval::EvalArgs),
    Ranks(Box<ranks::RanksArgs>),
    Accuracy(Box<accuracy::AccuracyArgs>),
    Compare(compare::CompareArgs),
    Depth(depth::DepthArgs),
    Diff(Box<diff::DiffArgs>),
    /// Serve models and searches over HTTP
    Serve(Box<serve::ServeArgs>),
    Report(Box<report::ReportArgs>),
    /// Let people judge what runs retrieved: packages, agreement, the vote
    Annotate(annotate::AnnotateArgs),
    /// Compare two sets of judgments, or judge what runs retrieved by answers
    Qrels(qrels::QrelsArgs),
    Mine(mine::MineArgs),
    /// Train a dual encoder, a cross-encoder or a token classifier
    #[command(subcommand)]
    Train(train::TrainCommand),
    /// Choose parameters on judged queries
    #[command(subcommand)]
    Tune(tune::TuneCommand),
    /// Write job scripts that divide a command among the nodes of a Slurm cluster
    #[command(subcommand)]
    Slurm(slurm::SlurmCommand),
    /// Import, export, describe or verify stores of vectors
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// Measure how fast this machine encodes, searches and reranks
    #[command(subcommand)]
    Bench(bench::BenchCommand),
    /// Convert a checkpoint of PaddlePaddle, or an old one of PyTorch, to a model directory
    Convert(convert::ConvertArgs),
    Run(run::RunArgs),
    Reproduce(reproduce::ReproduceArgs),
    /// Build a benchmark's collection, queries and judgments
    #[command(subcommand)]
    Data(data::DataCommand),
    /// Check that this machine computes a model's vectors correctly
    Verify(verify::VerifyArgs),
    Models(models::ModelsArgs),
    /// Show what this build and this machine can do
    Doctor,
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// Write manual pages
    #[command(hide = true)]
    Man(man::ManArgs),
}

impl Command {
    /// Refuses options that do not go together, whatever the machine and the files are: recipes are checked
    /// before their first step.
    pub fn check_options(&self) -> Result<(), UsageError> {
        match self {
            Self::Index(args) => args.check_options(),
            Self::Search(args) => args.check_options(),
            Self::Retrieve(args) => args.check_options(),
            Self::Fuse(args) => args.check_options().map(|_| ()),
            Self::Eval(args) => args.check_options(),
            Self::Compare(args) => args.check_options().map(|_| ()),
            Self::Mine(args) => mine::check_options(args),
            Self::Tune(command) => command.check_options(),
            _ => Ok(()),
        }
    }
}

pub fn run(cli: &Cli, ui: &Ui) -> crate::Result<()> {
    let threads = start_threads(cli.threads.map(usize::from))?;
    // The server answers what is under way before it ends.
    if !matches!(cli.command, Command::Serve(_)) {
        interrupt::listen(ui)?;
    }
    perform(cli, threads, ui)
}

/// Starts rayon's threads and returns their number: `asked`, else what rayon decides.
fn start_threads(asked: Option<usize>) -> crate::Result<usize> {
    let check = |threads: usize, from: &str| {
        check_threads(threads).map_err(|error| UsageError::of_flag(from, &error))
    };
    let mut builder = rayon::ThreadPoolBuilder::new();
    if let Some(threads) = asked {
        check(threads, "--threads")?;
        builder = builder.num_threads(threads);
    } else if let Some(threads) = env::RAYON_NUM_THREADS.get() {
        // Before they are started: that takes longer the more they are.
        let (name, number) =
            (env::RAYON_NUM_THREADS.name, threads.to_str().and_then(|text| text.parse().ok()));
        let wrong = || format!("{name} is {}, which is not a number of threads", threads.display());
        check(number.ok_or_else(|| UsageError::new(wrong(), "correct it, or give --threads"))?, name)?;
    }
    builder
        .build_global()
        .map_err(|error| Remedied::without_remedy(format!("cannot start the threads: {error}")))?;
    Ok(rayon::current_num_threads())
}

/// Runs a command on this many threads, which are set up.
fn perform(cli: &Cli, threads: usize, ui: &Ui) -> crate::Result<()> {
    match &cli.command {
        Command::Encode(args) => encode::run(args, ui),
        Command::Index(args) => index::run(args, ui),
        Command::IndexInfo(args) => index_info::run(args, ui),
        Command::Search(args) => search::run(args, ui),
        Command::Merge(args) => merge::run(args, ui),
        Command::Rerank(args) => rerank::run(args, ui),
        Command::Retrieve(args) => retrieve::run(args, ui),
        Command::Fuse(args) => fuse::run(args, ui),
        Command::Analyze(args) => analyze::run(args, ui),
        Command::Eval(args) => eval::run(args, ui),
        Command::Ranks(args) => ranks::run(args, ui),
        Command::Accuracy(args) => accuracy::run(args, ui),
        Command::Compare(args) => compare::run(args, ui),
        Command::Depth(args) => depth::run(args, ui),
        Command::Diff(args) => diff::run(args, ui),
        Command::Serve(args) => serve::run(args, ui),
        Command::Report(args) => report::run(args, ui),
        Command::Annotate(args) => annotate::run(args, ui),
        Command::Qrels(args) => qrels::run(args, ui),
        Command::Mine(args) => mine::run(args, ui),
        Command::Train(command) => train::run(command, ui),
        Command::Tune(command) => tune::run(command, ui),
        Command::Slurm(command) => slurm::run(command, &cli.called, ui),
        Command::Store(command) => store::run(command, ui),
        Command::Bench(command) => bench::run(command, threads, ui),
        Command::Convert(args) => convert::run(args, ui),
        Command::Run(args) => run::run(args, threads, ui),
        Command::Reproduce(args) => reproduce::run(args, ui),
        Command::Data(command) => data::run(command, ui),
        Command::Verify(args) => verify::run(args, ui),
        Command::Models(args) => models::run(args, ui),
        Command::Doctor => doctor::run(threads, ui),
        Command::Completions(args) => completions::run(args, ui),
        Command::Man(args) => man::run(args, ui),
    }
}
