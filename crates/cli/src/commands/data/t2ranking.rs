//! `toller data t2ranking`: the collection, passages of documents, and which passages of a query are judged.

use std::collections::{HashMap, HashSet};

use toller_datasets::{Layout, Uncertainty, deduplicate, uncertain_pairs};
use toller_store::Store;

use super::collections::{self, CollectionArgs};
use super::folder::FolderArgs;
use super::segment::{self, SegmentArgs};
use crate::args::number::{check_limits, finite};
use crate::args::paths::InputPath;
use crate::args::qrels::read_judgments;
use crate::args::runs::RunInputArgs;
use crate::engine;
use crate::ui::Ui;

#[derive(Debug, clap::Subcommand)]
pub enum T2RankingCommand {
    /// Build from collection.tsv, queries.SPLIT.tsv and qrels.SPLIT.tsv; levels 2 and 3 are relevant in
    /// qrels.retrieval.SPLIT.txt
    Collection(CollectionArgs),
    Segment(Box<SegmentArgs>),
    Deduplicate(DeduplicateArgs),
    Uncertain(UncertainArgs),
}

/// Keep one passage of each cluster of near duplicates of a query.
///
/// The passages of a query are clustered by Ward's method, exactly. Of each cluster that is joined at
/// distances of at most --distance, the best passage is kept.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "toller data t2ranking deduplicate [OPTIONS] --output <DIR>\n           --passage-vectors <STORE>... --distance <DISTANCE> <RUN>"
)]
pub struct DeduplicateArgs {
    /// The passages of each query
    #[arg(value_name = "RUN")]
    run: InputPath,

    #[command(flatten)]
    folder: FolderArgs,

    /// Stores with the vectors of the passages
    #[arg(long, value_name = "STORE", required = true, num_args = 1..)]
    passage_vectors: Vec<InputPath>,

    /// The largest distance at which two clusters are joined; for two passages it is the distance of their
    /// vectors
    #[arg(long, value_name = "DISTANCE", value_parser = finite)]
    distance: f64,

    #[command(flatten)]
    input: RunInputArgs,
}

/// Keep the pairs that a cross-encoder is unsure of, to be judged next.
///
/// Pairs of a higher score teach a model nothing, and pairs of a lower score are taken for noise.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "toller data t2ranking uncertain [OPTIONS] --output <DIR>\n           --low <SCORE> --high <SCORE> <RUN>"
)]
pub struct UncertainArgs {
    /// A run of a cross-encoder (`toller rerank`)
    #[arg(value_name = "RUN")]
    run: InputPath,

    #[command(flatten)]
    folder: FolderArgs,

    /// The lowest score
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true, value_parser = finite)]
    low: f64,

    /// The highest score
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true, value_parser = finite)]
    high: f64,

    /// Leave out what is judged in this file (TREC, BEIR TSV, or pairs of ids)
    #[arg(long, value_name = "QRELS")]
    judged: Option<InputPath>,

    #[command(flatten)]
    input: RunInputArgs,
}

/// Carries out a command.
pub fn run(command: &T2RankingCommand, ui: &Ui) -> crate::Result<()> {
    match command {
        T2RankingCommand::Collection(args) => collections::run(Layout::T2ranking, args, ui),
        T2RankingCommand::Segment(args) => segment::run(args, ui),
        T2RankingCommand::Deduplicate(args) => keep_one_of_each(args, ui),
        T2RankingCommand::Uncertain(args) => uncertain(args, ui),
    }
}

fn keep_one_of_each(args: &DeduplicateArgs, ui: &Ui) -> crate::Result<()> {
    let _claim = args.folder.claim([&args.run], ui)?;
    let run = args.input.read(&args.run, ui)?;
    let store = engine::open(ui)?.open_store(&args.passage_vectors, true)?;
    let wanted = run.queries.values().flatten().map(|entry| entry.doc_id.as_str()).collect();
    let kept = deduplicate(&run, &vectors_of(&store, &wanted), args.distance)?;
    let (files, statistics) = kept.write(&args.folder.output)?;
    args.folder.report(&files, &statistics, ui)
}

/// The vectors of these identifiers, as far as the store has them.
fn vectors_of(store: &Store, wanted: &HashSet<&str>) -> HashMap<String, Vec<f32>> {
    let mut vectors = HashMap::new();
    store.each_vector(|id, vector| {
        if wanted.contains(id) {
            vectors.insert(id.to_owned(), vector.to_vec());
        }
    });
    vectors
}

fn uncertain(args: &UncertainArgs, ui: &Ui) -> crate::Result<()> {
    check_limits(("--low", args.low), ("--high", args.high))?;
    let _claim = args.folder.claim(std::iter::once(&args.run).chain(&args.judged), ui)?;
    let run = args.input.read(&args.run, ui)?;
    let read = |file| read_judgments(file, None, args.input.skip_bad_lines(), ui);
    let judged = args.judged.as_ref().map(read).transpose()?;
    let limits = Uncertainty { low: args.low, high: args.high };
    let (files, statistics) = uncertain_pairs(&run, limits, judged.as_ref()).write(&args.folder.output)?;
    args.folder.report(&files, &statistics, ui)
}
