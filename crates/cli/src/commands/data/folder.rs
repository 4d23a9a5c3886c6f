//! What all builders have in common: the folder that they write to, and the figures that they report.

use serde_json::json;
use toller_datasets::Statistics;
use toller_files::{DirectoryLock, names_in, unfinished};

use crate::args::paths::{InputPath, Inputs, OutputPath};
use crate::error::{Remedied, UsageError};
use crate::table::{Align, table};
use crate::ui::Ui;

/// Flags of where a builder writes.
#[derive(Clone, Debug, clap::Args)]
pub struct FolderArgs {
    /// The directory to write to
    #[arg(long, short, value_name = "DIR")]
    pub output: OutputPath,

    /// Write to the directory even if there are files in it; those with the same names are replaced
    #[arg(long)]
    overwrite: bool,
}

impl FolderArgs {
    /// Refuses stdout, an input that is read twice or would be overwritten, a directory with files, and one
    /// that another process is writing. Nobody else writes it while the result is there.
    pub fn claim<'a>(
        &self,
        inputs: impl IntoIterator<Item = &'a InputPath>,
        ui: &Ui,
    ) -> crate::Result<Claim> {
        self.output.check_directory("a benchmark")?;
        let inputs = Inputs::files(inputs);
        inputs.check_with(&self.output, ui)?;
        inputs.check_outside(&self.output)?;
        let Some(lock) = DirectoryLock::acquire(&self.output)? else {
            let message = format!("another process is writing {}", self.output.display());
            return Err(Remedied::new(message, "wait until it has ended, or give another --output").into());
        };
        let claim = Claim(Some(lock));
        let is_file = |name: &String| unfinished(name).is_none() && name != DirectoryLock::FILE;
        if !self.overwrite
            && let Some(name) = names_in(&self.output)?.iter().find(|name| is_file(name))
        {
            let message = format!("{} has files already, such as {name}", self.output.display());
            return Err(
                UsageError::new(message, "give --output another directory, or add --overwrite").into()
            );
        }
        Ok(claim)
    }

    /// Reports what was built: the statistics on stdout, and where the files are.
    pub fn report(&self, files: &[String], statistics: &Statistics, ui: &Ui) -> crate::Result<()> {
        let output = self.output.display().to_string();
        ui.status(format!("{}: {}", output, files.join(", ")));
        ui.show(
            || json!({"output": output, "files": files, "statistics": statistics.to_json()}),
            |out| out.write_all(text(statistics).as_bytes()),
        )
    }
}

/// The exclusive right to write a directory. It leaves no trace.
#[must_use]
pub struct Claim(Option<DirectoryLock>);

impl Drop for Claim {
    fn drop(&mut self) {
        // A file that stays is harmless: it is not locked.
        let _ = self.0.take().map(DirectoryLock::remove);
    }
}

/// The tables of the statistics, with an empty line between them.
pub fn text(statistics: &Statistics) -> String {
    let tables = statistics.tables();
    let shown = tables.iter().map(|rows| {
        let columns = rows.first().map_or(0, Vec::len);
        let align: Vec<Align> =
            (0..columns).map(|column| if column == 0 { Align::Left } else { Align::Right }).collect();
        table(rows, &align)
    });
    shown.collect::<Vec<String>>().join("\n")
}
