//! The output of a tuning.

use std::io::Write;

use serde_json::{Value, json};
use toller_eval::Measure;
use toller_pipeline::tune::Tuned;
use toller_plot::Figure;

use crate::args::plot::{Plot, PlotArgs};
use crate::args::report::{ReportArgs, ReportFormat};
use crate::error::of_csv;
use crate::json;
use crate::ui::Ui;

/// Flags of the result.
#[derive(Debug, clap::Args)]
pub(super) struct TuneOutputArgs {
    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    pub(super) plot: PlotArgs,
}

/// A parameter that is tuned; its values are 0 or more.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    /// The flag that gives the values to try.
    pub(super) flag: &'static str,
    /// The largest value that is allowed.
    pub(super) largest: f64,
}

/// Every point of a grid and its value.
pub(super) struct Result<'a> {
    pub(super) measure: &'a Measure,
    pub(super) parameters: &'static [Parameter],
    /// The parameters of each point.
    pub(super) points: Vec<Vec<f64>>,
    pub(super) tuned: &'a Tuned,
    /// The input of the tuning, for `--format json`.
    pub(super) about: Value,
}

impl TuneOutputArgs {
    /// Writes the result to stdout, and draws the figure.
    pub(super) fn write(
        &self,
        result: &Result<'_>,
        plot: Plot,
        figure: impl FnOnce() -> Figure,
        ui: &Ui,
    ) -> crate::Result<()> {
        let mut out = ui.out();
        match self.report.format(ui) {
            ReportFormat::Json => json::write(&mut out, result.json())?,
            ReportFormat::Csv => result.csv(&mut out)?,
            ReportFormat::Table => result.table(&mut out, self.report.digits())?,
        }
        out.flush()?;
        plot.draw(figure)?;
        let best = result.best_line(self.report.digits());
        ui.status(format!("best: {best}"));
        result.best_at_an_end().for_each(|note| ui.warning(note));
        Ok(())
    }
}

impl Result<'_> {
    fn point(&self, at: usize) -> &[f64] {
        self.points.get(at).map_or(&[], Vec::as_slice)
    }

    fn value(&self, at: usize) -> f64 {
        self.tuned.values.get(at).copied().unwrap_or(f64::NAN)
    }

    /// The best point as flags, with its value.
    fn best_line(&self, digits: usize) -> String {
        let best = self.tuned.best;
        let flags: Vec<String> = self
            .parameters
            .iter()
            .zip(self.point(best))
            .map(|(parameter, value)| format!("--{} {value}", parameter.name))
            .collect();
        format!("{} ({} {})", flags.join(" "), self.measure, self.measure.format(self.value(best), digits))
    }

    /// Notes of parameters whose best value is the first or the last one that was tried, though a better one
    /// may be beyond.
    fn best_at_an_end(&self) -> impl Iterator<Item = String> {
        let best = self.parameters.iter().zip(self.point(self.tuned.best)).enumerate();
        best.filter_map(|(at, (Parameter { name, flag, largest }, best))| {
            let tried = || self.points.iter().filter_map(|point| point.get(at).copied());
            let (least, most) =
                (tried().fold(f64::INFINITY, f64::min), tried().fold(f64::NEG_INFINITY, f64::max));
            let is_end = least < most && (*best == most && most < *largest || *best == least && least > 0.0);
            let which = if *best == most { "largest" } else { "smallest" };
            is_end.then(|| {
                format!("{name} {best} is the {which} value that was tried: give {flag} a wider range")
            })
        })
    }

    fn json(&self) -> Value {
        let named = |at: usize| {
            let parameters = self.parameters.iter().zip(self.point(at));
            let mut point: serde_json::Map<String, Value> =
                parameters.map(|(parameter, value)| (parameter.name.to_owned(), json!(value))).collect();
            point.insert("value".to_owned(), json!(self.value(at)));
            Value::Object(point)
        };
        let mut report = self.about.clone();
        report["measure"] = json!(self.measure.to_string());
        report["best"] = named(self.tuned.best);
        report["points"] = (0..self.points.len()).map(named).collect();
        report
    }

    fn csv(&self, out: &mut impl Write) -> crate::Result<()> {
        let mut rows = csv::Writer::from_writer(out);
        let names = self.parameters.iter().map(|parameter| parameter.name.to_owned());
        rows.write_record(names.chain([self.measure.to_string()])).map_err(of_csv)?;
        for (at, point) in self.points.iter().enumerate() {
            let numbers = point.iter().copied().chain([self.value(at)]);
            rows.write_record(numbers.map(|number| number.to_string())).map_err(of_csv)?;
        }
        Ok(rows.flush()?)
    }

    /// With one parameter, a line per point. With two, a row for each value of the first and a column for
    /// each value of the second. The best point has a star.
    fn table(&self, out: &mut impl Write, digits: usize) -> crate::Result<()> {
        let cell = |at: usize| {
            let star = if at == self.tuned.best { "*" } else { " " };
            format!("{}{star}", self.measure.format(self.value(at), digits))
        };
        if let [Parameter { name, .. }] = self.parameters {
            writeln!(out, "{name:<8} {}", self.measure)?;
            for (at, point) in self.points.iter().enumerate() {
                writeln!(out, "{:<8} {}", point.first().copied().unwrap_or(f64::NAN), cell(at).trim_end())?;
            }
            return Ok(());
        }
        let rows: Vec<f64> = dedup(self.points.iter().filter_map(|point| point.first().copied()));
        let columns: Vec<f64> = dedup(self.points.iter().filter_map(|point| point.get(1).copied()));
        let width = (0..self.points.len()).map(|at| cell(at).len()).max().unwrap_or(0);
        let corner = self.parameters.iter().map(|parameter| parameter.name).collect::<Vec<_>>().join("\\");
        write!(out, "{corner:<6}")?;
        for column in &columns {
            write!(out, " {column:>width$}")?;
        }
        writeln!(out)?;
        for (at, row) in rows.iter().enumerate() {
            write!(out, "{row:<6}")?;
            for column in 0..columns.len() {
                write!(out, " {:>width$}", cell(at * columns.len() + column))?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// Values that follow each other in ascending order, each once.
fn dedup(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}
