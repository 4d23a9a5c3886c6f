//! What the folder of a recipe's outputs remembers: a sealed JSON file next to them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toller_files::{Checksum, FileError, is_sealed, read_regular, write_sealed};

use super::content::Contents;
use super::error::RecipeError;
use super::plan::PlannedStep;

/// The file's name.
pub(super) const FILE: &str = "recipe-state.json";

/// What is remembered.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct State {
    version: u32,
    /// By name and outputs, so that a step with a variable in its output has a state for each value.
    steps: BTreeMap<String, StepState>,
    pub(super) contents: Contents,
    /// The variables that were set from outside.
    #[serde(default)]
    pub(super) variables: BTreeMap<String, String>,
}

/// What is remembered of a step that was begun.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct StepState {
    /// All that decides its outputs, a line each.
    pub(super) made_of: Vec<String>,
    /// Whether it finished.
    pub(super) finished: bool,
    /// How long it took.
    pub(super) seconds: f64,
    /// When it finished, in seconds since 1970.
    #[serde(default)]
    pub(super) finished_at: u64,
    /// What it writes, with the content once it is finished.
    pub(super) outputs: BTreeMap<PathBuf, Option<Checksum>>,
}

const VERSION: u32 = 2;

impl State {
    /// Reads what a folder remembers; nothing if there is no file, or one of another version.
    pub(super) fn read(directory: &Path) -> Result<Self, RecipeError> {
        let path = directory.join(FILE);
        let bytes = match read_regular(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            bytes => bytes.map_err(FileError::on("read", &path))?,
        };
        match serde_json::from_slice::<Self>(&bytes) {
            Ok(state) if is_sealed(&bytes) => {
                Ok(if state.version == VERSION { state } else { Self::default() })
            }
            _ => Err(RecipeError::DamagedState(path)),
        }
    }

    /// Writes it.
    pub(super) fn write(&mut self, directory: &Path) -> Result<(), RecipeError> {
        self.version = VERSION;
        Ok(write_sealed(&directory.join(FILE), self)?)
    }

    /// What is remembered of a step.
    pub(super) fn of(&self, step: &PlannedStep) -> Option<&StepState> {
        self.steps.get(&key(step))
    }

    /// Remembers that a step is begun or finished. Its outputs are no longer those of others.
    pub(super) fn set(&mut self, step: &PlannedStep, state: StepState) {
        for other in self.steps.values_mut() {
            other.outputs.retain(|output, _| !state.outputs.contains_key(output));
        }
        self.steps.insert(key(step), state);
        self.steps.retain(|_, step| !step.outputs.is_empty());
    }

    /// When an output was finished and with which content, if it is that of a finished step.
    pub(super) fn finished(&self, output: &Path) -> Option<(Checksum, u64)> {
        self.steps.values().filter(|step| step.finished).find_map(|step| {
            let checksum = (*step.outputs.get(output)?)?;
            Some((checksum, step.finished_at))
        })
    }

    /// What steps that did not finish were to write.
    pub(super) fn unfinished_outputs(&self) -> impl Iterator<Item = &Path> {
        let unfinished = self.steps.values().filter(|step| !step.finished);
        unfinished.flat_map(|step| step.outputs.keys().map(PathBuf::as_path))
    }

    /// Whether some step made this output.
    pub(super) fn owns(&self, output: &Path) -> bool {
        self.steps.values().any(|step| step.outputs.contains_key(output))
    }
}

fn key(step: &PlannedStep) -> String {
    let outputs: Vec<String> = step.outputs().map(|output| output.display().to_string()).collect();
    format!("{}: {}", step.name, outputs.join(", "))
}
