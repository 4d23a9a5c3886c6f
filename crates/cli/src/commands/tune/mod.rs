//! `toller tune`: parameters chosen on judged queries.

mod alpha;
mod bm25;
mod judging;
mod output;

use clap::Subcommand;

use crate::error::UsageError;
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub enum TuneCommand {
    /// Tune BM25's k1 and b
    Bm25(bm25::Bm25Args),
    Alpha(alpha::AlphaArgs),
}

impl TuneCommand {
    /// Refuses options that do not go together.
    pub fn check_options(&self) -> Result<(), UsageError> {
        match self {
            Self::Bm25(args) => args.grid().map(|_| ()),
            Self::Alpha(args) => args.fusion().map(|_| ()),
        }
    }
}

pub fn run(command: &TuneCommand, ui: &Ui) -> crate::Result<()> {
    match command {
        TuneCommand::Bm25(args) => bm25::run(args, ui),
        TuneCommand::Alpha(args) => alpha::run(args, ui),
    }
}
