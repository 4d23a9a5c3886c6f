//! The flag of how a report is written.

use crate::ui::Ui;

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ReportFormat {
    #[default]
    Table,
    Json,
    Csv,
}

/// Flags of the commands that write a report.
#[derive(Clone, Debug, clap::Args)]
pub struct ReportArgs {
    /// How the result is written (`--json` is the same as `--format json`)
    #[arg(long, value_enum, default_value_t)]
    format: ReportFormat,

    /// Decimals in tables
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(0..=17))]
    digits: u8,
}

impl ReportArgs {
    /// The format that was asked for.
    pub fn format(&self, ui: &Ui) -> ReportFormat {
        if ui.json { ReportFormat::Json } else { self.format }
    }

    /// Decimals in tables.
    pub fn digits(&self) -> usize {
        self.digits.into()
    }
}
