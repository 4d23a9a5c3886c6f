//! Whether a measure is as expected.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use serde_json::Value;
use toller_files::FileError;
use toller_ir::{Command, Setting, remedy};

use super::error::RecipeError;
use super::read::Expected;

/// What was expected, and what was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What was expected.
    pub expected: Expected,
    /// What was measured.
    pub measured: f64,
}

/// Allows for the rounding of a decimal tolerance.
const ROUNDING: f64 = 1e-12;

impl Verdict {
    /// Looks a value up in its report, which lies in `directory`.
    ///
    /// # Errors
    /// A report that cannot be read, or in which the run or the measure is missing.
    pub fn of(expected: &Expected, directory: &Path) -> Result<Self, RecipeError> {
        let path = directory.join(&expected.report);
        let report = read_report(&path)?;
        let no_value = |what: String, known: Vec<String>| RecipeError::NoValue {
            report: path.clone(),
            what,
            remedy: format!("it has {}", known.join(", ")).into(),
        };
        let runs = report["runs"].as_array().map_or(&[][..], Vec::as_slice);
        let Some(run) = runs.iter().find(|run| run["run"] == expected.run.as_str()) else {
            let known = runs.iter().filter_map(|run| run["run"].as_str()).map(str::to_owned).collect();
            return Err(no_value(format!("of a run {:?}", expected.run), known));
        };
        let Some(measured) = run["aggregates"][&expected.measure].as_f64() else {
            let known = run["aggregates"].as_object().into_iter().flat_map(|map| map.keys().cloned());
            return Err(no_value(format!("of {} for {}", expected.measure, expected.run), known.collect()));
        };
        Ok(Self { expected: expected.clone(), measured })
    }

    /// Whether it is within the tolerance.
    #[must_use]
    pub fn holds(&self) -> bool {
        (self.measured - self.expected.value).abs() <= self.expected.tolerance + ROUNDING
    }
}

/// Reads a report.
pub(super) fn read_report(path: &Path) -> Result<Value, RecipeError> {
    let file = File::open(path).map_err(FileError::on("open", path))?;
    serde_json::from_reader(BufReader::new(file)).map_err(|error| {
        if error.is_io() {
            return FileError::new("read", path, io::Error::from(error)).into();
        }
        RecipeError::NoValue {
            report: path.to_owned(),
            what: format!("that can be read: {error}"),
            remedy: remedy!(
                "let the step write JSON, as in `{}`",
                Command::Eval.with(Setting::Format.to("json"))
            ),
        }
    })
}
