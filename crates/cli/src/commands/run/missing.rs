//! What a recipe needs and does not find, in words.

use std::path::Path;

use toller_recipe::{Missing, Variable};

use crate::error::Remedied;

/// What is missing and where to get it, one line each.
pub(super) fn missing_lines<'m>(
    missing: impl IntoIterator<Item = &'m Missing>,
    recipe: &Path,
) -> Vec<String> {
    missing.into_iter().map(|missing| missing_line(missing, recipe)).collect()
}

fn missing_line(missing: &Missing, recipe: &Path) -> String {
    match missing {
        Missing::Variable(variable) => {
            let mut line = format!("--set {}=... is not given", variable.name);
            if !variable.about.is_empty() {
                line += &format!(": {}", variable.about);
            }
            line + &from(variable)
        }
        Missing::Input { path, option, steps, line, similar, variable } => {
            let steps = steps.join(", ");
            let meant =
                similar.as_ref().map_or(String::new(), |name| format!("; did you mean the output {name}?"));
            let place = format!("{}:{line}", recipe.display());
            let source = variable.as_ref().filter(|variable| !variable.about.is_empty());
            let source = source.map_or(String::new(), |variable| {
                format!("; {} is {}{}", variable.name, variable.about, from(variable))
            });
            format!("{place}: {} is not there ({option} of {steps}){meant}{source}", path.display())
        }
    }
}

fn from(variable: &Variable) -> String {
    if variable.source.is_empty() { String::new() } else { format!(" (from {})", variable.source) }
}

pub(super) fn check_missing(missing: &[Missing], recipe: &Path) -> Result<(), Remedied> {
    if missing.is_empty() {
        return Ok(());
    }
    let lines = missing_lines(missing, recipe).join("\n  ");
    Err(Remedied::new(
        format!("{} has missing inputs:\n  {lines}", recipe.display()),
        "give variables by --set NAME=VALUE; --dry-run shows the plan",
    ))
}
