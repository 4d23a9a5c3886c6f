//! What the steps of a recipe write: each in a place of its own.

use std::path::{Component, Path, PathBuf};

use toller_files::DirectoryLock;

use super::catalogue::{CommandSpec, Takes};
use super::error::RecipeError;
use super::read::{Recipe, Value};
use super::state;
use super::variables::Variables;

/// What is written: by which step, in which line.
pub(super) struct Outputs {
    paths: Vec<(PathBuf, String)>,
}

impl Outputs {
    pub(super) fn of(
        recipe: &Recipe,
        specs: &[CommandSpec],
        variables: &Variables<'_>,
    ) -> Result<Self, RecipeError> {
        let mut outputs = Self { paths: Vec::new() };
        for (step, spec) in recipe.steps.iter().zip(specs) {
            let written = step.options.iter().filter(|(name, _, _)| takes(spec, name) == Some(Takes::Output));
            let named = written.flat_map(|(_, value, line)| match value {
                Value::Texts(texts) => texts.iter().map(|text| (text, *line)).collect(),
                Value::Flag(_) | Value::Reported { .. } => Vec::new(),
            });
            let stdout = step.stdout.iter().map(|(name, line)| (name, *line));
            for (text, line) in named.chain(stdout) {
                variables.check(text, line)?;
                outputs.add(recipe, &step.name, PathBuf::from(variables.in_text(text)), line)?;
            }
        }
        Ok(outputs)
    }

    fn add(&mut self, recipe: &Recipe, step: &str, path: PathBuf, line: usize) -> Result<(), RecipeError> {
        let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !inside || path.as_os_str().is_empty() || path.as_os_str() == "-" {
            let message = format!("{} does not lie in the folder of the outputs", path.display());
            return Err(recipe.bad(line, message, "name outputs by relative paths, as in bm25.run"));
        }
        if [state::FILE, DirectoryLock::FILE].iter().any(|own| path.starts_with(own)) {
            let message = format!("{} is Toller's own file in the folder of the outputs", path.display());
            return Err(recipe.bad(line, message, "give the output another name"));
        }
        if let Some((other, by)) =
            self.paths.iter().find(|(other, _)| path.starts_with(other) || other.starts_with(&path))
        {
            let message = if *other == path {
                format!("{} is written by the steps {by} and {step}", path.display())
            } else {
                format!(
                    "{} of step {step} and {} of step {by} lie in each other",
                    path.display(),
                    other.display()
                )
            };
            return Err(recipe.bad(line, message, "give every output a place of its own"));
        }
        self.paths.push((path, step.to_owned()));
        Ok(())
    }

    /// The paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> + Clone {
        self.paths.iter().filter_map(|(path, _)| path.to_str())
    }

    /// The step that writes a path or what it lies in.
    pub(super) fn writer(&self, path: &Path) -> Option<&str> {
        let of = self.paths.iter().find(|(output, _)| path.starts_with(output));
        of.map(|(_, step)| step.as_str())
    }
}

fn takes(spec: &CommandSpec, option: &str) -> Option<Takes> {
    spec.options.iter().find(|known| known.name == option).map(|option| option.takes)
}
