//! `toller annotate`: judgments by people.

mod agreement;
mod folder;
mod packages;
mod sheets;
mod vote;

use crate::ui::Ui;

/// Lets people judge what runs retrieved: packages, agreement, the vote.
#[derive(Debug, clap::Args)]
pub struct AnnotateArgs {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, clap::Subcommand)]
enum Step {
    Packages(Box<packages::PackagesArgs>),
    Agreement(agreement::AgreementArgs),
    Vote(vote::VoteArgs),
}

/// Carries out a step.
pub fn run(args: &AnnotateArgs, ui: &Ui) -> crate::Result<()> {
    match &args.step {
        Step::Packages(args) => packages::run(args, ui),
        Step::Agreement(args) => agreement::run(args, ui),
        Step::Vote(args) => vote::run(args, ui),
    }
}
