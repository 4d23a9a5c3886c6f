//! `toller`: text to a TREC run and a table of measures.

#![allow(unreachable_pub, reason = "a binary exports nothing, so every pub is unreachable")]

mod allocator;
mod args;
mod commands;
mod engine;
mod error;
mod flags;
mod interrupt;
mod json;
mod mapped;
mod printable;
mod table;
mod ui;

use std::process::ExitCode;

use args::Cli;
use clap::FromArgMatches;
use error::Result;

fn main() -> ExitCode {
    mapped::guard();
    let parsed = args::help::command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return error::report_usage(&error, wants_json()),
    };
    let ui = cli.ui();
    match commands::run(&cli, &ui) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error::report(&error, ui.json),
    }
}

/// Whether `--json` is given, on a command line that cannot be parsed.
fn wants_json() -> bool {
    std::env::args_os().take_while(|argument| argument != "--").any(|argument| argument == "--json")
}
