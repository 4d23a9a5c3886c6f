//! The flags of relevance judgments, and reading them.

use toller_corpus::{QrelsFormat, ReadOptions, read_qrels};
use toller_ir::{Qrels, Setting};

use super::paths::InputPath;
use crate::error::Context;
use crate::ui::Ui;

/// Flags of the commands that read judgments.
#[derive(Clone, Debug, clap::Args)]
pub struct QrelsArgs {
    /// Relevance judgments (TREC, BEIR TSV, or pairs of ids); `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub qrels: InputPath,

    /// Format of the judgments [default: detected from the content]
    #[arg(long, value_name = "FORMAT")]
    qrels_format: Option<QrelsFormat>,
}

impl QrelsArgs {
    /// Reads the judgments.
    pub fn read(&self, skip_bad_lines: bool, ui: &Ui) -> crate::Result<Qrels> {
        let options = ReadOptions { format: self.qrels_format, skip_bad_lines, ..ReadOptions::default() };
        let (qrels, skipped) =
            read_qrels(&self.qrels.input(), &options).with_flag(Setting::Format, "--qrels-format")?;
        ui.skipped(&format!("{}: ", self.qrels.display()), &skipped);
        Ok(qrels)
    }
}
