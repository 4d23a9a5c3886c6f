//! The report of a recipe: its steps, and the measured values next to the expected ones.

use std::io::Write;
use std::path::Path;

use serde_json::{Map, Value, json};
use toller_recipe::{Cell, PlannedStep, Recipe, Verdict};

use crate::error::Remedied;
use crate::table::{Align, table};
use crate::ui::Ui;

/// The outcome of every step and expectation.
#[derive(Default)]
pub(super) struct Report {
    pub(super) steps: Vec<StepReport>,
    pub(super) verdicts: Vec<Verdict>,
}

/// The outcome of a step.
pub(super) struct StepReport {
    pub(super) step: String,
    pub(super) command: String,
    pub(super) done: Done,
}

/// When a step was run.
pub(super) enum Done {
    /// In an earlier run of the recipe.
    Before { seconds: f64 },
    /// In this run.
    Now { seconds: f64, why: String },
    /// Not yet.
    Not { why: String },
}

impl StepReport {
    pub(super) fn new(step: &PlannedStep, done: Done) -> Self {
        Self { step: step.name.clone(), command: step.command.clone(), done }
    }

    /// The outcome in a word, the seconds, and the reason.
    fn outcome(&self) -> (&'static str, Option<f64>, &str) {
        match &self.done {
            Done::Before { seconds } => ("up to date", Some(*seconds), ""),
            Done::Now { seconds, why } => ("done", Some(*seconds), why),
            Done::Not { why } => ("to do", None, why),
        }
    }
}

impl Report {
    /// Writes it to stdout.
    pub(super) fn write(&self, recipe: &Recipe, directory: &Path, ui: &Ui) -> crate::Result<()> {
        if ui.json {
            return ui.json(|| self.json(recipe, directory));
        }
        let mut out = ui.out();
        if !recipe.title.is_empty() {
            writeln!(out, "{}\n", recipe.title)?;
        }
        out.write_all(self.step_table().as_bytes())?;
        if !self.verdicts.is_empty() {
            writeln!(out)?;
            out.write_all(self.verdict_table().as_bytes())?;
        }
        Ok(out.flush()?)
    }

    fn step_table(&self) -> String {
        let mut rows = vec![["step", "command", "state", "seconds", "because"].map(str::to_owned).to_vec()];
        for step in &self.steps {
            let (state, seconds, why) = step.outcome();
            let seconds = seconds.map_or(String::new(), |seconds| format!("{seconds:.1}"));
            rows.push(vec![
                step.step.clone(),
                step.command.clone(),
                state.to_owned(),
                seconds,
                why.to_owned(),
            ]);
        }
        table(&rows, &[Align::Left, Align::Left, Align::Left, Align::Right, Align::Left])
    }

    fn verdict_table(&self) -> String {
        let titles = ["run", "cell", "measure", "expected", "measured", "tolerance", "verdict", "source"];
        let mut rows = vec![titles.map(str::to_owned).to_vec()];
        for verdict in &self.verdicts {
            let expected = &verdict.expected;
            rows.push(vec![
                expected.run(),
                expected.cell.label(),
                expected.measure.clone(),
                expected.value.map_or_else(|| "-".to_owned(), |value| value.to_string()),
                format!("{:.5}", verdict.measured),
                expected.tolerance.to_string(),
                judged(verdict),
                expected.source.clone(),
            ]);
        }
        let right = Align::Right;
        let left = Align::Left;
        table(&rows, &[left, left, left, right, right, right, left, left])
    }

    fn json(&self, recipe: &Recipe, directory: &Path) -> Value {
        let steps = self.steps.iter().map(|step| {
            let (state, seconds, why) = step.outcome();
            json!({"step": step.step, "command": step.command, "state": state, "seconds": seconds, "because": why})
        });
        let measures = self.verdicts.iter().map(|verdict| {
            let expected = &verdict.expected;
            json!({
                "run": expected.run(),
                "cell": cell_json(&expected.cell),
                "measure": expected.measure,
                "expected": expected.value,
                "tolerance": expected.tolerance,
                "measured": verdict.measured,
                "holds": verdict.holds(),
                "source": expected.source,
                "figure": expected.figure,
            })
        });
        json!({
            "recipe": recipe.file.display().to_string(),
            "title": recipe.title,
            "work": directory.display().to_string(),
            "steps": steps.collect::<Vec<_>>(),
            "measures": measures.collect::<Vec<_>>(),
        })
    }

    /// An error if a measure is not as expected.
    pub(super) fn check(&self) -> crate::Result<()> {
        let failed: Vec<&Verdict> = self.verdicts.iter().filter(|verdict| !verdict.holds()).collect();
        let Some(first) = failed.first() else { return Ok(()) };
        let (of, expected) = (self.verdicts.len(), &first.expected);
        Err(Remedied::new(
            format!("{} of {of} measures are outside their tolerance", failed.len()),
            format!(
                "{} of {} should be {} within {}, but is {:.5}",
                expected.measure,
                expected.run(),
                expected.value.unwrap_or_default(),
                expected.tolerance,
                first.measured
            ),
        )
        .into())
    }
}

/// The values of the axes, by their names.
fn cell_json(cell: &Cell) -> Value {
    cell.choices().map(|(axis, value)| (axis.to_owned(), value.into())).collect::<Map<_, _>>().into()
}

fn judged(verdict: &Verdict) -> String {
    match verdict.difference() {
        None => "not published".to_owned(),
        Some(_) if verdict.holds() => "as expected".to_owned(),
        Some(difference) => format!("off by {difference:+.5}"),
    }
}
