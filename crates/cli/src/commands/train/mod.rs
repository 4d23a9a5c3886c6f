//! `toller train`: dual encoders, cross-encoders and token classifiers.

mod args;
mod compute;
mod config;
mod data;
mod dev;
mod losses;
mod run;

use clap::Subcommand;

use self::args::{CrossArgs, DualArgs, TokenArgs};
use crate::allocator;
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub enum TrainCommand {
    /// Train a dual encoder: queries near the passages that answer them
    Dual(Box<DualArgs>),
    /// Train a cross-encoder: a score for a query with a passage
    Cross(Box<CrossArgs>),
    /// Train a token classifier: where the segments of a text end
    Token(Box<TokenArgs>),
}

pub fn run(command: &TrainCommand, ui: &Ui) -> crate::Result<()> {
    allocator::keep_free_pages();
    match command {
        TrainCommand::Dual(args) => run::dual(&args.complete()?, ui),
        TrainCommand::Cross(args) => run::cross(&args.complete()?, ui),
        TrainCommand::Token(args) => run::token(&args.complete()?, ui),
    }
}
