//! `toller data tydi`: Mr. TyDi from TyDi QA.

use toller_datasets::{TydiOptions, write_tydi};
use toller_files::Input;

use super::folder::FolderArgs;
use crate::args::paths::InputPath;
use crate::ui::Ui;

/// Build Mr. TyDi from TyDi QA, by the paper's rules.
///
/// Questions without an answer passage are left out. TyDi's development set becomes the test set, and a
/// fifth of the training questions the development set. Questions of both sets stay only in training. The
/// collection holds the passages of TyDi's articles, with titles.
#[derive(Clone, Debug, clap::Args)]
#[command(
    override_usage = "toller data tydi [OPTIONS] --output <DIR>\n           --train <FILE>... --dev <FILE>..."
)]
pub struct TydiArgs {
    /// TyDi QA's training set (primary task, JSONL), compressed or not
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    train: Vec<InputPath>,

    /// TyDi QA's development set
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    dev: Vec<InputPath>,

    /// The language, as TyDi QA names it: arabic, bengali, ... [default: all in one collection]
    #[arg(long, value_name = "NAME")]
    language: Option<String>,

    #[command(flatten)]
    folder: FolderArgs,

    /// Seed of the choice of development questions
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
}

/// Builds.
pub fn run(args: &TydiArgs, ui: &Ui) -> crate::Result<()> {
    let _claim = args.folder.claim(args.train.iter().chain(&args.dev), ui)?;
    let inputs = |paths: &[InputPath]| -> Vec<Input> { paths.iter().map(InputPath::input).collect() };
    let options = TydiOptions { language: args.language.as_deref(), seed: args.seed };
    let (train, dev) = (inputs(&args.train), inputs(&args.dev));
    let (files, statistics) = write_tydi(&train, &dev, &options, &args.folder.output)?;
    args.folder.report(&files, &statistics, ui)
}
