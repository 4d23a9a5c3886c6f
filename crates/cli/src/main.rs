//! `toller`: text to a TREC run and a table of measures.

#![allow(unreachable_pub, reason = "a binary exports nothing, so every pub is unreachable")]

mod args;
mod commands;
mod engine;
mod error;
mod flags;
mod interrupt;
mod mapped;
mod printable;
mod table;
mod ui;

use std::process::ExitCode;

use args::Cli;
use clap::Parser;
use error::Result;

// The encoder's operations allocate and free megabytes at a time; the system's allocator gives such
// memory back to the kernel and faults it in again each time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    mapped::guard();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return error::report_usage(&error),
    };
    let ui = cli.ui();
    match commands::run(&cli, &ui) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error::report(&error),
    }
}
