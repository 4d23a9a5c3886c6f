//! `toller tune`: parameters chosen on judged queries.

mod alpha;
mod bm25;
mod judging;
mod output;

use clap::Subcommand;

use crate::ui::Ui;

/// Arguments of `toller tune`.
#[derive(Debug, clap::Args)]
pub struct TuneArgs {
    #[command(subcommand)]
    parameter: Parameter,
}

/// What is tuned.
#[derive(Debug, Subcommand)]
enum Parameter {
    /// BM25's k1 and b
    Bm25(bm25::Bm25Args),
    /// The weight of the second of two runs that are fused
    Alpha(alpha::AlphaArgs),
}

/// Tunes.
pub fn run(args: &TuneArgs, ui: &Ui) -> crate::Result<()> {
    match &args.parameter {
        Parameter::Bm25(args) => bm25::run(args, ui),
        Parameter::Alpha(args) => alpha::run(args, ui),
    }
}
