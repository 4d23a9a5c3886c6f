//! `toller data paq`: a sample of PAQ for training.

use toller_datasets::{PaqOptions, write_paq};
use toller_engine::collection_files;
use toller_files::Input;

use super::folder::FolderArgs;
use crate::args::input::CollectionArgs;
use crate::args::paths::InputPath;
use crate::ui::Ui;

/// Sample PAQ's questions about passages of Wikipedia, for training.
///
/// Passages with several questions are sampled, and one question of each, as EntityQuestions trains on PAQ.
/// Each split has the questions, the judgments, and both with the passages' texts in Tevatron's format for
/// `toller train`; `toller mine` adds negatives.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "toller data paq [OPTIONS] --output <DIR>\n           <INPUT>... --corpus <FILE>..."
)]
pub struct PaqArgs {
    /// PAQ.metadata.jsonl, compressed or not
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<InputPath>,

    /// The passages that the questions are about: psgs_w100.tsv, compressed or not
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    corpus: Vec<InputPath>,

    #[command(flatten)]
    folder: FolderArgs,

    /// Training questions
    #[arg(long, value_name = "N", default_value_t = 70_000)]
    train: usize,

    /// Development questions
    #[arg(long, value_name = "N", default_value_t = 15_000)]
    dev: usize,

    /// Test questions
    #[arg(long, value_name = "N", default_value_t = 15_000)]
    test: usize,

    /// The fewest questions that a sampled passage has
    #[arg(long, value_name = "N", default_value_t = 3)]
    min_questions: usize,

    /// Seed of the samples
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,

    #[command(flatten)]
    collection: CollectionArgs,
}

/// Samples.
pub fn run(args: &PaqArgs, ui: &Ui) -> crate::Result<()> {
    let _claim = args.folder.claim(args.inputs.iter().chain(&args.corpus), ui)?;
    let options = PaqOptions {
        train: args.train,
        dev: args.dev,
        test: args.test,
        fewest_questions: args.min_questions,
        seed: args.seed,
    };
    let reading = args.collection.options(false);
    let metadata: Vec<Input> = args.inputs.iter().map(InputPath::input).collect();
    let corpus = collection_files(&args.corpus)?;
    let (files, statistics) = write_paq(&metadata, &corpus, &reading, &options, &args.folder.output)?;
    args.folder.report(&files, &statistics, ui)
}
