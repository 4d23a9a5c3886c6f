//! The flags of relevance judgments, and reading them.

use toller_corpus::{QrelsFormat, ReadOptions, qrels_separator, read_qrels};
use toller_ir::{Qrels, Setting};

use super::choice::by_name;
use super::paths::{InputPath, OutputPath};
use crate::error::{Context, Remedied};
use crate::ui::Ui;

/// Flags of the commands that read judgments.
#[derive(Clone, Debug, clap::Args)]
pub struct QrelsArgs {
    /// Relevance judgments (TREC, BEIR TSV, or pairs of ids); `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub qrels: InputPath,

    /// Format of the judgments [default: detected from the content]
    #[arg(long, value_name = "NAME", value_parser = by_name::<QrelsFormat>(QrelsFormat::NAMES))]
    qrels_format: Option<QrelsFormat>,
}

impl QrelsArgs {
    /// Reads the judgments.
    pub fn read(&self, skip_bad_lines: bool, ui: &Ui) -> crate::Result<Qrels> {
        read_judgments(&self.qrels, self.qrels_format, skip_bad_lines, ui)
    }
}

/// The same flags, where judgments may be left out.
#[derive(Clone, Debug, clap::Args)]
pub struct QrelsIfAnyArgs {
    /// Relevance judgments (TREC, BEIR TSV, or pairs of ids); `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub qrels: Option<InputPath>,

    /// Format of the judgments [default: detected from the content]
    #[arg(long, value_name = "NAME", value_parser = by_name::<QrelsFormat>(QrelsFormat::NAMES))]
    qrels_format: Option<QrelsFormat>,
}

impl QrelsIfAnyArgs {
    /// Reads the judgments, if there are any.
    pub fn read(&self, skip_bad_lines: bool, ui: &Ui) -> crate::Result<Qrels> {
        let read = |file| read_judgments(file, self.qrels_format, skip_bad_lines, ui);
        self.qrels.as_ref().map_or_else(|| Ok(Qrels::new()), read)
    }
}

/// Flags of the commands that measure by several sets of judgments.
#[derive(Clone, Debug, clap::Args)]
pub struct QrelsSetsArgs {
    /// Relevance judgments (TREC, BEIR TSV, or pairs of ids); `-` is stdin. Given several times, runs are
    /// measured by each
    #[arg(long, value_name = "FILE", required = true)]
    pub qrels: Vec<InputPath>,

    /// Format of the judgments [default: detected from the content]
    #[arg(long, value_name = "NAME", value_parser = by_name::<QrelsFormat>(QrelsFormat::NAMES))]
    qrels_format: Option<QrelsFormat>,
}

impl QrelsSetsArgs {
    /// Reads each set of judgments.
    pub fn read(&self, skip_bad_lines: bool, ui: &Ui) -> crate::Result<Vec<Qrels>> {
        self.qrels.iter().map(|file| read_judgments(file, self.qrels_format, skip_bad_lines, ui)).collect()
    }
}

/// Reads judgments, and reports what was skipped.
pub fn read_judgments(
    file: &InputPath,
    format: Option<QrelsFormat>,
    skip_bad_lines: bool,
    ui: &Ui,
) -> crate::Result<Qrels> {
    let options = ReadOptions { format, skip_bad_lines, ..ReadOptions::default() };
    let (qrels, skipped) =
        read_qrels(&file.input(), &options).with_flag(Setting::Format, "--qrels-format")?;
    ui.skipped(&format!("{}: ", file.display()), &skipped);
    Ok(qrels)
}

/// Writes judgments in TREC's format. Tabs separate the columns if an identifier has spaces.
pub fn write_judgments(output: &OutputPath, qrels: &Qrels, ui: &Ui) -> crate::Result<()> {
    let between = qrels_separator(qrels).map_err(|id| {
        let message = format!("judgments cannot hold the identifier {id:?}");
        let remedy = "give the document or the query another: with single spaces between words, and for a \
                      query without # at its beginning";
        Remedied::new(message, remedy)
    })?;
    output.write(ui, |out, _| {
        for (query, documents) in qrels.iter() {
            for (document, grade) in documents {
                writeln!(out, "{query}{between}0{between}{document}{between}{grade}")?;
            }
        }
        Ok(())
    })
}
