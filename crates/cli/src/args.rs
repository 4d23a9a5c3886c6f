//! The command line.

use clap::{ArgAction, Parser};

use crate::commands::Command;
use crate::ui::Ui;

/// An exact dense retrieval engine: from text to a TREC run in one binary.
#[derive(Debug, Parser)]
#[command(name = "toller", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,

    /// Print the result as JSON on stdout
    #[arg(long, global = true, help_heading = "Output")]
    json: bool,

    /// Say more on stderr
    #[arg(short, long, global = true, action = ArgAction::SetTrue, conflicts_with = "quiet", help_heading = "Output")]
    verbose: bool,

    /// Say nothing on stderr but errors and warnings
    #[arg(short, long, global = true, help_heading = "Output")]
    quiet: bool,

    /// Threads to compute with [default: RAYON_NUM_THREADS, else all that this process may use]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Machine")]
    pub threads: Option<u16>,
}

impl Cli {
    /// How to talk to the user.
    pub fn ui(&self) -> Ui {
        Ui { json: self.json, quiet: self.quiet, verbose: self.verbose }
    }
}
