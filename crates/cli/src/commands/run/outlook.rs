//! What the folder of a recipe has, without running a step.

use std::path::{Path, PathBuf};

use toller_hub::known_models;
use toller_recipe::{Expected, Missing, Piece, Plan, PlannedStep, Recipe, RecipeError, Verdict, Work};

use super::catalogue::CommandCatalogue;
use super::missing::missing_lines;
use super::models::KnownModels;
use super::report::{Done, Report};
use super::steps;
use crate::ui::Ui;

/// A recipe, planned as it was last run, and what its folder has.
pub(in crate::commands) struct Outlook {
    recipe: PathBuf,
    /// The variables that were set from outside.
    pub(in crate::commands) set: Vec<(String, String)>,
    plan: Plan,
    work: Work,
    steps: Report,
    /// Models that are not on this machine.
    absent_models: Vec<String>,
}

/// A measure in the folder of a recipe.
pub(in crate::commands) struct Found {
    pub(in crate::commands) verdict: Verdict,
    /// When it was measured, in seconds since 1970.
    pub(in crate::commands) at: u64,
    /// Whether a run of the recipe would measure the same: nothing that it depends on has changed.
    pub(in crate::commands) is_current: bool,
}

impl Outlook {
    /// Looks at the recipe's folder. Nothing is written.
    pub(in crate::commands) fn of(recipe: &Recipe, directory: &Path, ui: &Ui) -> crate::Result<Self> {
        let mut work = Work::look(directory, false)?;
        let known = |name: &String| recipe.variables.iter().any(|variable| variable.name == *name);
        let mut set = work.variables();
        set.retain(|(name, _)| known(name));
        let plan = Plan::new(recipe, &CommandCatalogue::new(), &set)?;
        let steps = steps::foresee(&plan, &mut work, ui)?;
        let absent_models = absent_models(&plan);
        Ok(Self { recipe: recipe.file.clone(), set, plan, work, steps, absent_models })
    }

    /// What was measured, if the reports are as steps of the recipe wrote them.
    pub(in crate::commands) fn found(&mut self, expected: &Expected) -> crate::Result<Option<Found>> {
        let mut at = 0;
        for place in &expected.places {
            match self.work.written_at(Path::new(&place.report))? {
                Some(written) => at = at.max(written),
                None => return Ok(None),
            }
        }
        let verdict = match Verdict::of(expected, self.work.directory()) {
            // The recipe asks for other measures by now.
            Err(RecipeError::NoValue { .. }) => return Ok(None),
            verdict => verdict?,
        };
        let is_done = |step: &PlannedStep| {
            let done = self.steps.steps.iter().find(|done| done.step == step.name);
            done.is_some_and(|done| matches!(done.done, Done::Before { .. }))
        };
        let is_current = self.steps_for(expected).into_iter().all(is_done);
        Ok(Some(Found { verdict, at, is_current }))
    }

    /// What is missing for a measure, and where to get it.
    pub(in crate::commands) fn missing(&self, expected: &Expected) -> crate::Result<Vec<String>> {
        let steps = self.steps_for(expected);
        let is_needed = |missing: &&Missing| match missing {
            Missing::Variable(variable) => is_named(&variable.name, &steps),
            Missing::Input { steps: of, .. } => steps.iter().any(|step| of.contains(&step.name)),
        };
        let mut lines = missing_lines(self.plan.missing.iter().filter(is_needed), &self.recipe);
        for name in &self.absent_models {
            let is_needed =
                |piece: &Piece| matches!(piece, Piece::Model { name: model, .. } if model == name);
            if steps.iter().any(|step| step.pieces().any(is_needed)) {
                lines.push(format!("the model {name} is not on this machine (from {})", source_of(name)?));
            }
        }
        Ok(lines)
    }

    /// Whether a measure needs a variable that has no value.
    pub(in crate::commands) fn waits_for(&self, variable: &str, expected: &Expected) -> bool {
        is_named(variable, &self.steps_for(expected))
    }

    fn steps_for(&self, expected: &Expected) -> Vec<&PlannedStep> {
        let reports = expected.places.iter().map(|place| Path::new(place.report.as_str()));
        let mut steps: Vec<_> = self.plan.steps_for(reports).collect();
        steps.reverse();
        steps
    }
}

/// Whether steps name a variable that has no value.
fn is_named(variable: &str, steps: &[&PlannedStep]) -> bool {
    let text = format!("${{{variable}}}");
    steps.iter().any(|step| step.described(Path::new("")).contains(&text))
}

/// The models of a plan that are not on this machine; not those that no variable names yet.
fn absent_models(plan: &Plan) -> Vec<String> {
    let mut known = KnownModels::default();
    let mut looked: Vec<&str> = Vec::new();
    let mut absent = Vec::new();
    for piece in plan.steps.iter().flat_map(PlannedStep::pieces) {
        let Piece::Model { name, .. } = piece else { continue };
        if looked.contains(&name.as_str()) || name.contains("${") {
            continue;
        }
        looked.push(name);
        if !known.has(name) {
            absent.push(name.clone());
        }
    }
    absent
}

/// Where a model is downloaded from.
fn source_of(name: &str) -> crate::Result<String> {
    let models = known_models()?;
    let known = models.iter().find(|model| model.name == name);
    let checkpoint = known.and_then(|model| model.checkpoint.as_ref());
    Ok(match (known.and_then(|model| model.source.as_ref()), checkpoint) {
        (None, Some(checkpoint)) => format!("{}, by toller convert", checkpoint.url),
        (source, _) => format!("https://huggingface.co/{}", source.map_or(name, String::as_str)),
    })
}
