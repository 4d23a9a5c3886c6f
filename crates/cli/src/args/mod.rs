//! The command line, and the flags that commands share.

pub mod analyzer;
pub mod answers;
pub mod choice;
pub mod cross_encoder;
pub mod dense;
pub mod device;
pub mod evaluation;
pub mod filter;
pub mod fusion;
pub mod help;
pub mod id_lines;
pub mod input;
pub mod max_passage;
pub mod measures;
pub mod model;
pub mod number;
pub mod outputs;
pub mod paths;
pub mod plot;
pub mod qrels;
pub mod replacing;
pub mod report;
pub mod reranking;
pub mod result;
pub mod run_output;
pub mod runs;
pub mod shard;
pub mod sources;
pub mod sparse;
pub mod statistics;
pub mod text_index;
pub mod texts;

use std::path::PathBuf;

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
    #[arg(long, global = true)]
    json: bool,

    /// Say more on stderr
    #[arg(short, long, global = true, action = ArgAction::SetTrue, conflicts_with = "quiet")]
    verbose: bool,

    /// Say nothing on stderr but errors and warnings
    #[arg(short, long, global = true)]
    quiet: bool,

    /// Threads to compute with [default: RAYON_NUM_THREADS, else all that this process may use]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,

    /// The word that called this program.
    #[arg(skip)]
    pub called: PathBuf,
}

impl Cli {
    /// How to talk to the user.
    pub fn ui(&self) -> Ui {
        Ui::new(self.json, self.quiet, self.verbose)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use clap::{Command, CommandFactory, Parser};

    use super::Cli;

    #[test]
    fn flags_that_are_alike_have_both_names_and_forms() {
        for line in [
            "compare a b --qrels q --test t",
            "report a b --qrels q --output page.html --tests t",
            "mine --run a --queries x y --qrels q --output o",
            "mine --run a --queries x --queries y --qrels q --output o",
            "diff a b --qrels q --queries x --queries y",
        ] {
            let parsed = Cli::try_parse_from(["toller"].into_iter().chain(line.split(' ')));
            assert!(parsed.is_ok(), "{line}: {parsed:?}");
        }
    }

    /// clap itself checks this only in debug builds.
    #[test]
    fn flags_have_names_of_their_own() {
        fn check(command: &Command, path: &str) {
            let (mut ids, mut names) = (HashSet::new(), HashSet::new());
            for argument in command.get_arguments() {
                assert!(ids.insert(argument.get_id()), "{path} has two {}", argument.get_id());
                let long = argument.get_long().map(|name| format!("--{name}"));
                let short = argument.get_short().map(|name| format!("-{name}"));
                for name in long.into_iter().chain(short) {
                    assert!(names.insert(name.clone()), "{path} has two {name}");
                }
            }
            for inner in command.get_subcommands() {
                check(inner, &format!("{path} {}", inner.get_name()));
            }
        }
        let mut command = Cli::command();
        command.build();
        check(&command, "toller");
    }
}
