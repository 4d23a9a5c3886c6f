//! Where the models of a recipe's steps are.

use std::path::{Path, PathBuf};

use toller_hub::{ResolveOptions, resolve_model};
use toller_recipe::{Models, Piece, PlannedStep};

use crate::engine;
use crate::ui::Ui;

/// The models that were found.
#[derive(Default)]
pub(super) struct KnownModels {
    directories: Models,
}

impl KnownModels {
    /// The directories of a step's models, which are downloaded if necessary.
    pub(super) fn of(&mut self, step: &PlannedStep, ui: &Ui) -> crate::Result<&Models> {
        for name in names(step) {
            if !self.directories.contains_key(name) {
                let directory = match as_directory(name) {
                    Some(directory) => directory,
                    None => engine::open(ui)?.resolve(name)?.directory,
                };
                self.directories.insert(name.to_owned(), directory);
            }
        }
        Ok(&self.directories)
    }

    /// The same without the network; the error is the name of a model that is not on this machine.
    pub(super) fn here(&mut self, step: &PlannedStep) -> Result<&Models, String> {
        match names(step).find(|name| !self.has(name)) {
            Some(name) => Err(name.to_owned()),
            None => Ok(&self.directories),
        }
    }

    /// Whether a model is on this machine.
    pub(super) fn has(&mut self, name: &str) -> bool {
        if self.directories.contains_key(name) {
            return true;
        }
        let offline = ResolveOptions { offline: true, ..ResolveOptions::from_env() };
        let resolve = || resolve_model(name, &offline, &mut |_| std::ops::ControlFlow::Continue(())).ok();
        let directory = as_directory(name).or_else(|| Some(resolve()?.directory));
        directory.map(|directory| self.directories.insert(name.to_owned(), directory)).is_some()
    }
}

fn names(step: &PlannedStep) -> impl Iterator<Item = &str> {
    step.pieces().filter_map(|piece| match piece {
        Piece::Model { name, .. } => Some(name.as_str()),
        _ => None,
    })
}

fn as_directory(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    path.is_dir().then(|| path.to_owned())
}
