//! What the folder of a recipe has, without running a step.

use std::path::{Path, PathBuf};

use toller_hub::known_models;
use toller_recipe::{Expected, Missing, Plan, PlannedStep, Recipe, RecipeError, Verdict, Work};

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
        Ok(Self { recipe: recipe.file.clone(), set, plan, work, steps })
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
            Missing::Variable(variable) => {
                let text = format!("${{{}}}", variable.name);
                steps.iter().any(|step| step.described(Path::new("")).contains(&text))
            }
            Missing::Input { steps: of, .. } => steps.iter().any(|step| of.contains(&step.name)),
        };
        let mut lines = missing_lines(self.plan.missing.iter().filter(is_needed), &self.recipe);
        for step in steps {
            let Err(name) = KnownModels::default().here(step) else { continue };
            if name.contains("${") {
                continue;
            }
            let line = format!("the model {name} is not on this machine (from {})", source_of(&name)?);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        Ok(lines)
    }

    fn steps_for(&self, expected: &Expected) -> Vec<&PlannedStep> {
        let reports = expected.places.iter().map(|place| Path::new(place.report.as_str()));
        let mut steps: Vec<_> = self.plan.steps_for(reports).collect();
        steps.reverse();
        steps
    }
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
