//! The flags of how measures are written.

use std::io::Write;

use toller_eval::{Format, Report, ReportOptions};

use super::choice::{Choice, one_of};
use crate::printable::write_printable;
use crate::ui::Ui;

/// Flags of the commands that write measures.
#[derive(Clone, Debug, clap::Args)]
pub struct ResultArgs {
    /// How the result is written (`--json` is the same as `--format json`)
    #[arg(long, value_parser = one_of(FORMATS), default_value = "table")]
    format: Format,

    /// Decimals in tables
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(0..=17))]
    digits: u8,
}

/// How a result can be written.
const FORMATS: &[Choice<Format>] = &[
    ("table", "", Format::Table),
    ("json", "", Format::Json),
    ("csv", "", Format::Csv),
    ("markdown", "", Format::Markdown),
    ("latex", "A tabular with the rules of the package booktabs", Format::Latex),
];

impl ResultArgs {
    /// How the result is written.
    pub fn format(&self, ui: &Ui) -> Format {
        if ui.json { Format::Json } else { self.format }
    }

    /// Decimals in tables.
    pub fn digits(&self) -> usize {
        self.digits.into()
    }

    /// Writes a report to stdout.
    pub fn write(&self, report: &Report, per_query: bool, ui: &Ui) -> crate::Result<()> {
        let options = ReportOptions { per_query, digits: self.digits() };
        match self.format(ui) {
            Format::Json => ui.write_json(report.to_json(options)),
            Format::Csv => {
                let mut out = ui.out();
                report.write(&mut out, Format::Csv, options)?;
                Ok(out.flush()?)
            }
            format => {
                let mut out = ui.out();
                write_printable(&mut out, |shown| Ok(report.write(shown, format, options)?))?;
                Ok(out.flush()?)
            }
        }
    }
}
