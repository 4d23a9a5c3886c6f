//! `toller completions`: completion scripts.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::ui::Ui;

/// Arguments of `toller completions`.
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub fn run(args: &CompletionsArgs, ui: &Ui) -> crate::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "toller", &mut script);
    let mut out = ui.out();
    out.write_all(&script)?;
    out.flush()?;
    Ok(())
}
