//! What a recipe needs and does not find.

use std::path::{Path, PathBuf};

use super::argument::Piece;
use super::closest::closest;
use super::outputs::Outputs;
use super::plan::PlannedStep;
use super::read::{Recipe, Step, Variable};
use super::variables::Variables;

/// Something that a recipe needs and that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// A variable without a value.
    Variable(Variable),
    /// A file or directory.
    Input {
        /// Its path.
        path: PathBuf,
        /// The option that names it.
        option: String,
        /// The steps that need it.
        steps: Vec<String>,
        /// The line of the first.
        line: usize,
        /// An output of the recipe of a similar name.
        similar: Option<String>,
        /// The variable that its path starts with.
        variable: Option<Variable>,
    },
}

/// Variables without a value, and paths that do not exist. Inputs that name such a variable are not looked
/// for.
pub(super) fn missing(
    recipe: &Recipe,
    variables: &Variables<'_>,
    outputs: &Outputs,
    steps: &[PlannedStep],
) -> Vec<Missing> {
    let is_planned = |step: &&Step| steps.iter().any(|planned| planned.name == step.name);
    let texts = recipe.steps.iter().filter(is_planned).flat_map(Step::texts);
    let unset: Vec<&str> = texts.flat_map(|text| variables.unset_in(text)).collect();
    let named = recipe.variables.iter().filter(|variable| unset.contains(&variable.name.as_str()));
    let mut missing: Vec<Missing> = named.cloned().map(Missing::Variable).collect();
    for step in steps {
        for argument in &step.arguments {
            for piece in &argument.pieces {
                let Piece::Input(path) = piece else { continue };
                if path.exists() || path.to_string_lossy().contains("${") {
                    continue;
                }
                let known = missing.iter_mut().find_map(|missing| match missing {
                    Missing::Input { path: known, steps, .. } if known == path => Some(steps),
                    _ => None,
                });
                if let Some(steps) = known {
                    if !steps.contains(&step.name) {
                        steps.push(step.name.clone());
                    }
                    continue;
                }
                missing.push(Missing::Input {
                    path: path.clone(),
                    option: argument.option.clone(),
                    steps: vec![step.name.clone()],
                    line: argument.line,
                    similar: similar_output(outputs, path),
                    variable: variable_of(recipe, variables, path),
                });
            }
        }
    }
    missing
}

/// The variable whose value is where a path starts.
fn variable_of(recipe: &Recipe, variables: &Variables<'_>, path: &Path) -> Option<Variable> {
    let starts = |variable: &&Variable| {
        let value = variables.in_path(&format!("${{{}}}", variable.name));
        value.components().count() > 0 && path.starts_with(value)
    };
    recipe.variables.iter().find(starts).cloned()
}

fn similar_output(outputs: &Outputs, path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    closest(name, outputs.paths()).map(str::to_owned)
}
