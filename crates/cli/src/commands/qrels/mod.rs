//! `toller qrels`: judgments compared, and made of answers.

mod answers;
mod diff;

use crate::ui::Ui;

/// Arguments of `toller qrels`.
#[derive(Debug, clap::Args)]
pub struct QrelsArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Count what two sets of judgments have in common and what they do not
    Diff(diff::DiffArgs),
    /// Judge what runs retrieved by the questions' answers
    Answers(Box<answers::AnswersArgs>),
}

pub fn run(args: &QrelsArgs, ui: &Ui) -> crate::Result<()> {
    match &args.action {
        Action::Diff(args) => diff::run(args, ui),
        Action::Answers(args) => answers::run(args, ui),
    }
}
