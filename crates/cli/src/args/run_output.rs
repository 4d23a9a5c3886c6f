//! The flags of a run that is written, and writing it.

use std::io::Write;
use std::path::Path;

use toller_corpus::{RunLayout, RunWriteError, TrecRunWriter, is_trec_run};
use toller_shares::is_partial_run;

use super::choice::by_name;
use super::max_passage::MaxPassageArgs;
use super::paths::{Inputs, OutputPath};
use super::replacing::OverwriteArgs;
use crate::error::UsageError;
use crate::flags::first_given;
use crate::ui::Ui;

/// The tag of a run unless another is given.
const TAG: &str = "toller";

/// Flags of the commands that write a run.
#[derive(Debug, clap::Args)]
pub struct RunOutputArgs {
    /// File to write the run to, compressed if its name ends in .gz, .zst or .xz; - for stdout
    #[arg(short, long, value_name = "RUN", required = true, value_parser = OutputPath::compressible())]
    output: Option<OutputPath>,

    /// The run's tag
    #[arg(long, value_name = "TAG", default_value = TAG, value_parser = tag)]
    tag: String,

    /// Format of the run: TREC's six columns, MS MARCO's `query document rank`, or Tevatron's `query document
    /// score`, the last two separated by tabs
    #[arg(long, value_name = "trec|msmarco|tevatron", default_value_t = RunLayout::Trec, value_parser = by_name::<RunLayout>(RunLayout::NAMES))]
    output_format: RunLayout,

    /// Separate the run's columns by tabs, so that identifiers may hold spaces (trec_eval cannot read such a
    /// run)
    #[arg(long)]
    tab_separated: bool,

    #[command(flatten)]
    passages: MaxPassageArgs,

    #[command(flatten)]
    overwrite: OverwriteArgs,
}

fn tag(text: &str) -> Result<String, String> {
    let one_word = !text.is_empty() && !text.contains(char::is_whitespace);
    if one_word { Ok(text.to_owned()) } else { Err("one word, as in my-run".to_owned()) }
}

impl RunOutputArgs {
    /// Whether an output is named.
    pub fn is_given(&self) -> bool {
        self.output.is_some()
    }

    /// A flag that is given and has no effect without a run.
    pub fn first_given(&self) -> Option<&'static str> {
        first_given([
            ("--tag", self.tag != TAG),
            ("--output-format", self.output_format != RunLayout::Trec),
            ("--tab-separated", self.tab_separated),
            ("--max-passage", self.passages.max_passage().is_some()),
            ("--overwrite", self.overwrite.is_given()),
        ])
    }

    fn output(&self) -> Result<&OutputPath, UsageError> {
        let missing = || UsageError::new("the run has no name", "give --output RUN, or - for stdout");
        self.output.as_ref().ok_or_else(missing)
    }

    /// Refuses a form that the run cannot have.
    pub fn check_layout(&self) -> Result<(), UsageError> {
        if self.output_format == RunLayout::Trec || self.tag == TAG {
            return Ok(());
        }
        let message = format!("a run as {} has no tag", self.output_format);
        Err(UsageError::new(message, "leave --tag or --output-format out"))
    }

    /// Refuses an output that would overwrite what is read or a file that is not a run, or would be mixed
    /// with `--json`.
    pub fn check(&self, inputs: &Inputs<'_>, ui: &Ui) -> Result<(), UsageError> {
        self.check_layout()?;
        let output = self.output()?;
        inputs.check_with(output, ui)?;
        match self.output_format {
            RunLayout::Trec => self.check_replaces_run(output),
            // Judgments and other tables have three columns, too.
            _ if is_trec_run(output) => Ok(()),
            _ => self.overwrite.check_new(output),
        }
    }

    /// The file of the partial run of share `index` of `of`, next to the run of all:
    /// `RUN.part-00003-of-00008`.
    /// Refuses what [`RunOutputArgs::check`] refuses.
    pub fn part(&self, index: u32, of: u32, inputs: &Inputs<'_>, ui: &Ui) -> Result<OutputPath, UsageError> {
        let part = self.output()?.with_suffix(&format!(".part-{index:05}-of-{of:05}"));
        inputs.check_with(&part, ui)?;
        self.overwrite.check(&part, "a partial run", is_partial_run)?;
        Ok(part)
    }

    /// Refuses a file that is there and is not a TREC run, for a run in that form.
    pub fn check_replaces_run(&self, output: &OutputPath) -> Result<(), UsageError> {
        self.overwrite.check(output, "a TREC run", is_trec_run)
    }

    /// Opens the output, lets `fill` write the run, and commits it. An output that cannot be written fails
    /// before `fill` works.
    pub fn write<T>(
        &self,
        ui: &Ui,
        fill: impl FnOnce(&mut TrecRunWriter<&mut dyn Write>) -> crate::Result<T>,
    ) -> crate::Result<T> {
        self.output()?.write(ui, |to, name| {
            let mut run = self.writer(to, name)?.layout(self.output_format);
            if let Some(max_passage) = self.passages.max_passage() {
                run = run.max_passage(max_passage);
            }
            let filled = fill(&mut run)?;
            self.passages.warn_if_idle(&run, ui);
            run.finish()?;
            Ok(filled)
        })
    }

    /// A writer of a run in the same format, to a file of this name. Passages stay passages.
    pub fn writer<W: Write>(&self, to: W, name: &Path) -> Result<TrecRunWriter<W>, RunWriteError> {
        self.tagged_writer(to, name, &self.tag)
    }

    /// As [`RunOutputArgs::writer`], with another tag.
    pub fn tagged_writer<W: Write>(
        &self,
        to: W,
        name: &Path,
        tag: &str,
    ) -> Result<TrecRunWriter<W>, RunWriteError> {
        let run = TrecRunWriter::new(to, name, tag)?;
        Ok(if self.tab_separated { run.tab_separated() } else { run })
    }

    /// The name of the output in messages.
    pub fn name(&self) -> String {
        self.output.as_ref().map_or_else(String::new, OutputPath::name)
    }

    /// The file, unless it is stdout.
    pub fn path(&self) -> Option<&Path> {
        self.output.as_ref().filter(|output| !output.is_stdout()).map(|output| &**output)
    }
}
