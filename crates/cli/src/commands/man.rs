//! `toller man`: manual pages, one a command.

use std::io::Write;

use clap::Command;
use toller_files::{AtomicFile, FileError};

use crate::args::help;
use crate::args::paths::OutputPath;
use crate::ui::Ui;

/// Arguments of `toller man`.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Folder to write the pages to: toller.1, toller-encode.1, ...
    #[arg(short, long, value_name = "DIR")]
    output: OutputPath,
}

/// Writes the pages.
pub fn run(args: &ManArgs, ui: &Ui) -> crate::Result<()> {
    args.output.check_directory("a folder of manual pages")?;
    std::fs::create_dir_all(&*args.output).map_err(FileError::on("create", &args.output))?;
    let mut command = help::command().disable_help_subcommand(true);
    command.build();
    let pages = write(&command, "toller", args)?;
    ui.status(format!("wrote {pages} manual pages to {}", args.output.display()));
    Ok(())
}

/// Writes the page of a command, and those of its subcommands; returns their number.
fn write(command: &Command, name: &str, args: &ManArgs) -> crate::Result<usize> {
    let path = args.output.join(format!("{name}.1"));
    let mut file = AtomicFile::create(&path)?;
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).title(name).render(&mut page)?;
    file.write_all(&page).map_err(FileError::on("write", &path))?;
    file.commit()?;
    let visible = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
    visible
        .map(|subcommand| write(subcommand, &format!("{name}-{}", subcommand.get_name()), args))
        .try_fold(1, |pages, of_subcommand| Ok(pages + of_subcommand?))
}
