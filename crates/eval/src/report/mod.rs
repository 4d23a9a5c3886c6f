//! Evaluations as text: an aligned table, Markdown, LaTeX, JSON or CSV.

mod delimited;
mod grid;
mod json;
mod marks;
mod rows;
mod sections;

use std::io::{self, Write};

use crate::compare::{CompareOptions, PairComparison, Pairs};
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
    /// Tables of GitHub's Markdown.
    Markdown,
    /// Tables of LaTeX, with the rules of the package booktabs.
    Latex,
}

/// A run in a report.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// What the run is called.
    pub name: String,
    /// What the judgments are called, if a report has several.
    pub qrels: Option<String>,
    /// Its values. All runs of a report have the same measures.
    pub evaluation: Evaluation,
    /// The values of groups of its queries, by name.
    pub groups: Vec<(String, Evaluation)>,
}

impl RunReport {
    /// A run by the only judgments, without groups.
    #[must_use]
    pub fn new(name: impl Into<String>, evaluation: Evaluation) -> Self {
        Self { name: name.into(), qrels: None, evaluation, groups: Vec::new() }
    }
}

/// The comparisons of a report's runs; their indexes are places in its list of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Which runs were compared.
    pub which: Pairs,
    /// How.
    pub options: CompareOptions,
    /// What was found.
    pub pairs: Vec<PairComparison>,
}

/// What a report holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The runs.
    pub runs: Vec<RunReport>,
    /// The comparisons of the runs, if they were made.
    pub comparisons: Option<Compared>,
}

/// How much a report shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportOptions {
    /// Whether the values of each query are shown.
    pub per_query: bool,
    /// Decimals, in tables.
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
            Format::Json => {
                serde_json::to_writer_pretty(&mut *out, &self.to_json(options))?;
                writeln!(out)
            }
            Format::Csv => delimited::write(self, out, options),
            Format::Table | Format::Markdown | Format::Latex => self.write_sections(out, format, options),
        }
    }

    /// The report as one JSON object, with all digits.
    #[must_use]
    pub fn to_json(&self, options: ReportOptions) -> serde_json::Value {
        json::object(self, options)
    }

    /// Writes the comparisons as comma-separated values, a row for each pair of runs and each measure.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_comparisons(&self, out: &mut impl Write) -> io::Result<()> {
        delimited::write_comparisons(self, out)
    }

    fn write_sections(&self, out: &mut impl Write, format: Format, options: ReportOptions) -> io::Result<()> {
        for (at, section) in sections::sections(self, options).into_iter().enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            let note = if format == Format::Latex { "% " } else { "" };
            if let Some(title) = section.title {
                let colon = if format == Format::Latex { "" } else { ":" };
                writeln!(out, "{note}{title}{colon}")?;
                // Markdown has no table without a blank line before.
                if format == Format::Markdown {
                    writeln!(out)?;
                }
            }
            out.write_all(
                match format {
                    Format::Markdown => section.grid.markdown(),
                    Format::Latex => section.grid.latex(),
                    _ => section.grid.text(),
                }
                .as_bytes(),
            )?;
            if format == Format::Markdown && !section.notes.is_empty() {
                writeln!(out)?;
            }
            for line in &section.notes {
                writeln!(out, "{note}{line}")?;
            }
        }
        Ok(())
    }

    /// The names of the measures, which all runs share.
    fn measure_names(&self) -> Vec<String> {
        let first = self.runs.first().map_or(&[][..], |run| &run.evaluation.measures);
        first.iter().map(ToString::to_string).collect()
    }

    /// Whether the runs are measured by several judgments.
    fn has_qrels(&self) -> bool {
        self.runs.iter().any(|run| run.qrels.is_some())
    }

    /// The comparisons of the run at `index` with a baseline.
    fn comparisons_of(&self, index: usize) -> impl Iterator<Item = &PairComparison> {
        let all = self.comparisons.as_ref().map_or(&[][..], |compared| &compared.pairs);
        all.iter().filter(move |comparison| comparison.run == index)
    }
}

/// A p-value with as many digits as say something.
fn format_p(p: f64) -> String {
    if p < 0.0001 { "<.0001".to_owned() } else { format!("{p:.4}") }
}
