//! The flags that say by what parameters are chosen.

use std::path::PathBuf;

use toller_corpus::{QrelsFormat, ReadOptions, read_qrels};
use toller_eval::{Measure, MeasureError};
use toller_files::Input;
use toller_ir::Qrels;
use toller_pipeline::tune::Judging;

use crate::error::OtherFormatFlag;
use crate::ui::Ui;

/// Flags of the judgments and the measure.
#[derive(Debug, clap::Args)]
pub(super) struct JudgingArgs {
    /// Relevance judgments (TREC, BEIR TSV, or pairs of ids); `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub(super) qrels: PathBuf,

    /// The measure that is to be as high as possible
    #[arg(long, short, value_name = "M", default_value = "RR@100", value_parser = measure)]
    pub(super) measure: Measure,

    /// Hits of each query that count, at most
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) k: u32,

    /// The lowest grade that is relevant, unless the measure names its own
    #[arg(long, short = 'l', value_name = "GRADE", default_value_t = 1)]
    relevance_level: u32,

    /// Format of the judgments [default: told from the content]
    #[arg(long, value_name = "FORMAT")]
    qrels_format: Option<QrelsFormat>,
}

fn measure(text: &str) -> Result<Measure, String> {
    text.parse().map_err(|error: MeasureError| match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    })
}

impl JudgingArgs {
    /// Reads the judgments.
    pub(super) fn read(&self, ui: &Ui) -> anyhow::Result<Qrels> {
        let options = ReadOptions { format: self.qrels_format, ..ReadOptions::default() };
        let (qrels, skipped) = read_qrels(&Input::parse(&self.qrels), &options)
            .map_err(OtherFormatFlag::is("--qrels-format"))?;
        if skipped.total() > 0 {
            ui.warning(format!("{}: {skipped}", self.qrels.display()));
        }
        Ok(qrels)
    }

    /// The measure on these judgments.
    pub(super) fn judging<'a>(&'a self, qrels: &'a Qrels) -> Judging<'a> {
        let Self { measure, relevance_level, k, .. } = self;
        Judging { qrels, measure, relevance_level: *relevance_level, k: *k as usize }
    }
}
