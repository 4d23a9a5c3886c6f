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
    /// Pool the first documents of runs, and write them as packages to judge
    Packages(Box<packages::PackagesArgs>),
    /// Measure how far the annotators of filled sheets agree
    Agreement(agreement::AgreementArgs),
    /// Make judgments of filled sheets by a vote
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
