//! Whether a measure is as expected.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use serde_json::Value;
use toller_files::FileError;
use toller_ir::{Command, Setting, remedy};

use super::error::RecipeError;
use super::expect::{Expected, ReportPlace};

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
    /// Looks a value up in its report, which lies in `directory`, or the mean of several.
    ///
    /// # Errors
    /// A report that cannot be read, or in which the run, the group or the measure is missing.
    pub fn of(expected: &Expected, directory: &Path) -> Result<Self, RecipeError> {
        let mut sum = 0.0;
        for place in &expected.places {
            sum += measured(place, expected, directory)?;
        }
        // Reports have at most some hundreds of places.
        #[expect(clippy::cast_precision_loss, reason = "a count of places in a recipe")]
        let measured = sum / expected.places.len() as f64;
        Ok(Self { expected: expected.clone(), measured })
    }

    /// Whether it is within the tolerance. A measure without an expected value always is.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.difference().is_none_or(|difference| difference.abs() <= self.expected.tolerance + ROUNDING)
    }

    /// By how much the measure is above the expected value.
    #[must_use]
    pub fn difference(&self) -> Option<f64> {
        self.expected.value.map(|value| self.measured - value)
    }
}

/// The value of an expected measure in a report.
fn measured(place: &ReportPlace, expected: &Expected, directory: &Path) -> Result<f64, RecipeError> {
    let measure = &*expected.measure;
    let path = directory.join(&place.report);
    let report = read_report(&path)?;
    let no_value = |what: String, known: Vec<String>| RecipeError::NoValue {
        report: path.clone(),
        what,
        remedy: format!("correct line {} of the recipe; the report has {}", expected.line, known.join(", "))
            .into(),
    };
    let keys = |value: &Value| value.as_object().map_or(Vec::new(), |map| map.keys().cloned().collect());
    let runs = report["runs"].as_array().map_or(&[][..], Vec::as_slice);
    let named = |key: &str, runs: &[&Value]| {
        runs.iter().filter_map(|run| run[key].as_str()).map(str::to_owned).collect::<Vec<_>>()
    };
    let of_run: Vec<&Value> = runs.iter().filter(|run| run["run"] == place.run.as_str()).collect();
    let is_by = |run: &&&Value| place.qrels.as_ref().is_none_or(|qrels| run["qrels"] == qrels.as_str());
    let found: Vec<&&Value> = of_run.iter().filter(is_by).collect();
    let run = match (&found[..], &place.qrels) {
        ([run], _) => run,
        ([], Some(qrels)) if !of_run.is_empty() => {
            let what = format!("of a run {:?} by qrels = {qrels:?}", place.run);
            return Err(no_value(what, named("qrels", &of_run)));
        }
        ([], _) => {
            let known = named("run", &runs.iter().collect::<Vec<_>>());
            return Err(no_value(format!("of a run {:?}", place.run), known));
        }
        _ => {
            let known: Vec<String> =
                named("qrels", &of_run).iter().map(|qrels| format!("qrels = {qrels:?}")).collect();
            return Err(RecipeError::NoValue {
                report: path.clone(),
                what: format!("of one run {:?}: it is there by several judgments", place.run),
                remedy: format!("add one of them to [[expect]]: {}", known.join(" or ")).into(),
            });
        }
    };
    let values = match place.group.as_deref() {
        None => &run["aggregates"],
        Some("macro") => &run["macro"],
        Some(group) => match run["groups"].get(group) {
            Some(group) => &group["aggregates"],
            None => return Err(no_value(format!("of a group {group:?}"), keys(&run["groups"]))),
        },
    };
    let value = values[measure].as_f64();
    value.ok_or_else(|| no_value(format!("of {measure} for {}", place.run), keys(values)))
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
