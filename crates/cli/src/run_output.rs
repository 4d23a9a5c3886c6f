//! The flags of a run that is written, and writing it.

use std::io::Write;
use std::path::{Path, PathBuf};

use toller_corpus::{RunWriteError, TrecRunWriter};
use toller_files::AtomicFile;

use crate::error::UsageError;
use crate::ui::Ui;

/// Flags of the commands that write a run.
#[derive(Debug, clap::Args)]
pub struct RunOutputArgs {
    /// File to write the TREC run to; - for stdout
    #[arg(short, long, value_name = "RUN")]
    output: PathBuf,

    /// The run's tag
    #[arg(long, value_name = "TAG", default_value = "toller", value_parser = tag)]
    tag: String,

    /// Separate the run's columns by tabs, so that identifiers may hold spaces (trec_eval cannot read such a run)
    #[arg(long)]
    tab_separated: bool,
}

fn tag(text: &str) -> Result<String, String> {
    let one_word = !text.is_empty() && !text.contains(char::is_whitespace);
    if one_word { Ok(text.to_owned()) } else { Err("one word, as in my-run".to_owned()) }
}

impl RunOutputArgs {
    /// Refuses an output that would overwrite one of the files or lie in one of the directories that are read, or mix
    /// with `--json`.
    pub fn check<'a>(
        &self,
        mut files: impl Iterator<Item = &'a PathBuf>,
        mut directories: impl Iterator<Item = &'a PathBuf>,
        ui: &Ui,
    ) -> Result<(), UsageError> {
        if self.is_stdout() && ui.json {
            return Err(UsageError::new(
                "--output - and --json would both write to stdout",
                "give --output a file",
            ));
        }
        let overwritten = files.find(|file| is_same_file(file, &self.output));
        match overwritten.or_else(|| directories.find(|directory| is_inside(&self.output, directory))) {
            None => Ok(()),
            Some(input) => Err(UsageError::new(
                format!("--output {} would overwrite the input {}", self.output.display(), input.display()),
                "give --output another name",
            )),
        }
    }

    /// Opens the output, lets `fill` write the run, and makes it last. What cannot be written to fails before `fill` works.
    pub fn write<T>(
        &self,
        ui: &Ui,
        fill: impl FnOnce(&mut TrecRunWriter<&mut dyn Write>) -> crate::Result<T>,
    ) -> crate::Result<T> {
        if self.is_stdout() {
            return self.fill(&mut ui.out(), Path::new("standard output"), fill);
        }
        let mut file = AtomicFile::create(&self.output)?;
        let filled = self.fill(&mut file, &self.output, fill)?;
        file.commit()?;
        Ok(filled)
    }

    fn fill<T>(
        &self,
        to: &mut dyn Write,
        name: &Path,
        fill: impl FnOnce(&mut TrecRunWriter<&mut dyn Write>) -> crate::Result<T>,
    ) -> crate::Result<T> {
        let mut run = self.writer(to, name)?;
        let filled = fill(&mut run)?;
        run.finish()?;
        Ok(filled)
    }

    /// A writer of a run like the one that was asked for, to a file of this name.
    pub fn writer<W: Write>(&self, to: W, name: &Path) -> Result<TrecRunWriter<W>, RunWriteError> {
        let run = TrecRunWriter::new(to, name, &self.tag)?;
        Ok(if self.tab_separated { run.tab_separated() } else { run })
    }

    /// What the output is called in messages.
    pub fn name(&self) -> String {
        if self.is_stdout() { "stdout".to_owned() } else { self.output.display().to_string() }
    }

    /// The file, unless it is stdout.
    pub fn path(&self) -> Option<&Path> {
        (!self.is_stdout()).then_some(&*self.output)
    }

    fn is_stdout(&self) -> bool {
        self.output.as_os_str() == "-"
    }
}

/// Whether both are there and the same.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// Whether `path`, which need not exist, lies in `directory`.
fn is_inside(path: &Path, directory: &Path) -> bool {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    parent
        .canonicalize()
        .is_ok_and(|parent| directory.canonicalize().is_ok_and(|directory| parent.starts_with(directory)))
}
