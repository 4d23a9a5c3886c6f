//! Whether stores and indexes that are there are those that the steps of a recipe would make.

use std::path::PathBuf;

use toller_recipe::{Piece, Plan, PlannedStep, Work};

use super::catalogue;
use super::models::KnownModels;
use super::steps::is_missing_something;
use crate::commands::{self, Command};
use crate::error::Remedied;
use crate::ui::Ui;

/// Each store and index that is there, that no step made, and that its step would not make, with how it
/// differs. Their texts are not compared here: reading a collection takes long, and the step itself does.
pub(super) fn made_otherwise(plan: &Plan, work: &Work, ui: &Ui) -> crate::Result<Vec<(PathBuf, String)>> {
    let mut models = KnownModels::default();
    let mut differing = Vec::new();
    for step in work.adoptable(&plan.steps) {
        // A step whose command line or model is not there yet finds out itself.
        if is_reported(step) || is_missing_something(step, plan) || models.here(step).is_err() {
            continue;
        }
        let cli = catalogue::parse(&work.command_line(step)?)
            .map_err(|error| Remedied::without_remedy(error.to_string()))?;
        let found = match &cli.command {
            Command::Encode(args) => commands::encode::other_store(args, ui)?,
            Command::Index(args) => commands::index::other_index(args, ui)?,
            _ => None,
        };
        differing.extend(found.map(|(path, why)| (path, format!("step {}: {why}", step.name))));
    }
    Ok(differing)
}

/// Whether a value of the command line is in a report of an earlier step.
fn is_reported(step: &PlannedStep) -> bool {
    step.pieces().any(|piece| matches!(piece, Piece::Reported { .. }))
}
