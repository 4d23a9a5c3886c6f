//! `toller completions`: completion scripts.

use std::any::TypeId;
use std::io::Write;

use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_complete::Shell;

use crate::args::Cli;
use crate::args::paths::{CachePath, InputPath, OutputPath};
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(args: &CompletionsArgs, ui: &Ui) -> crate::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut completing_paths(Cli::command()), "toller", &mut script);
    let mut out = ui.out();
    out.write_all(&script)?;
    Ok(out.flush()?)
}

/// Marks the values that are paths: clap knows that only of its own types.
fn completing_paths(command: Command) -> Command {
    let is_path = |argument: &Arg| {
        let value = argument.get_value_parser().type_id();
        [TypeId::of::<InputPath>(), TypeId::of::<OutputPath>(), TypeId::of::<CachePath>()]
            .iter()
            .any(|path| value == *path)
    };
    let hinted =
        |argument: Arg| if is_path(&argument) { argument.value_hint(ValueHint::AnyPath) } else { argument };
    command.mut_args(hinted).mut_subcommands(completing_paths)
}
