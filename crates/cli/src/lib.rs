//! The command line of `toller`: text to a TREC run and a table of measures. The binary and the Python
//! package both call [`main`].

#![allow(unreachable_pub, reason = "the modules are private, so every pub but `main` is unreachable")]

#[cfg(all(feature = "cuda", feature = "candle-cuda"))]
compile_error!(
    "candle-cuda links CUDA's driver and cuda loads it when needed: build with one of the two features"
);

mod allocator;
mod args;
mod commands;
mod engine;
mod error;
mod flags;
mod interrupt;
mod json;
mod mapped;
mod objects;
mod plain_progress;
mod printable;
mod process;
mod stdout;
mod table;
mod ui;
mod usage;

use std::ffi::OsString;
use std::panic;
use std::path::PathBuf;

use args::Cli;
use clap::{ArgMatches, FromArgMatches};
use error::Result;
pub use objects::install as install_object_stores;
pub use process::prepare as prepare_process;

/// Runs the command line of `arguments`, the first of which is the program's name: its absolute path, if the
/// file of this process is another program. Returns the exit status.
#[must_use]
pub fn main(arguments: &[OsString]) -> u8 {
    mapped::guard();
    quiet_guarded_panics();
    install_object_stores();
    let mut command = args::help::command();
    let matches = command.try_get_matches_from_mut(arguments);
    let parsed = matches.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match parsed {
        Ok((mut cli, matches)) => {
            cli.called = arguments.first().map(PathBuf::from).unwrap_or_default();
            (cli, matches)
        }
        Err(error) => return usage::report(error, &command, arguments),
    };
    let ui = cli.ui();
    let checked = args::outputs::check(&command, &matches).map_err(Into::into);
    match checked.and_then(|()| commands::run(&cli, &ui)) {
        Ok(()) => 0,
        Err(error) => error::report(&error.of_command(chosen(&command, &matches)), ui.json),
    }
}

/// The command that was called, which may be below several others.
fn chosen<'a>(command: &'a clap::Command, matches: &ArgMatches) -> &'a clap::Command {
    let below = matches.subcommand().and_then(|(name, below)| Some((command.find_subcommand(name)?, below)));
    below.map_or(command, |(command, matches)| chosen(command, matches))
}

/// Panics that a reader takes for errors of its file are not printed: the error is.
fn quiet_guarded_panics() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !toller_corpus::parquet::is_guarded() {
            print(info);
        }
    }));
}
