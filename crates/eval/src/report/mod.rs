//! Evaluations as text: an aligned table, JSON or CSV.

mod delimited;
mod json;
mod table;

use std::io::{self, Write};

use crate::compare::Comparison;
use crate::evaluate::Evaluation;

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Aligned columns for reading, a row a run.
    #[default]
    Table,
    /// One JSON object, with all digits.
    Json,
    /// Comma-separated values with a header.
    Csv,
}

/// A run in a report.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// What the run is called.
    pub name: String,
    /// Its values. All runs of a report have the same measures.
    pub evaluation: Evaluation,
}

/// What a report holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The runs; the first is the baseline of the comparisons.
    pub runs: Vec<RunReport>,
    /// The comparisons of the other runs with the first, if they were made: comparison `run` 0 is of the
    /// second run.
    pub comparisons: Option<Vec<Comparison>>,
}

/// How much a report shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportOptions {
    /// Whether the values of each query are shown.
    pub per_query: bool,
    /// Decimals, in tables and CSV.
    pub digits: usize,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self { per_query: false, digits: 4 }
    }
}

impl Report {
    /// Writes the report.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl Write, format: Format, options: ReportOptions) -> io::Result<()> {
        match format {
            Format::Table => table::write(self, out, options),
            Format::Json => json::write(self, out, options),
            Format::Csv => delimited::write(self, out, options),
        }
    }

    /// The names of the measures, which all runs share.
    fn measure_names(&self) -> Vec<String> {
        let first = self.runs.first().map_or(&[][..], |run| &run.evaluation.measures);
        first.iter().map(ToString::to_string).collect()
    }

    /// The comparisons of the run at `index` with the first run.
    fn comparisons_of(&self, index: usize) -> impl Iterator<Item = &Comparison> {
        let all = self.comparisons.as_deref().unwrap_or(&[]);
        all.iter().filter(move |comparison| comparison.run + 1 == index)
    }
}

/// A p-value with as many digits as say something.
fn format_p(p: f64) -> String {
    if p < 0.0001 { "<.0001".to_owned() } else { format!("{p:.4}") }
}
