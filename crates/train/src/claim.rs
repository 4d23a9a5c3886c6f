//! Which run an output directory holds.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use toller_files::{FileError, is_sealed, names_in, write_sealed};

use crate::TrainError;

/// Everything that decides the bits of a run, by name.
pub(crate) type Description = BTreeMap<&'static str, String>;

/// The description of the run, in its output.
const RUN: &str = "run.json";

/// Takes an empty folder for a run, or checks that the folder holds the same run.
pub(crate) fn claim(output: &Path, run: &Description) -> Result<(), TrainError> {
    fs::create_dir_all(output).map_err(FileError::on("create", output))?;
    let path = output.join(RUN);
    if !path.is_file() {
        if !names_in(output)?.is_empty() {
            return Err(TrainError::OutputExists(output.to_owned()));
        }
        return Ok(write_sealed(&path, run)?);
    }
    let text = fs::read(&path).map_err(FileError::on("read", &path))?;
    let damaged =
        || TrainError::Damaged { path: path.clone(), problem: "its checksum does not fit".to_owned() };
    let there: BTreeMap<String, String> =
        is_sealed(&text).then(|| serde_json::from_slice(&text).ok()).flatten().ok_or_else(damaged)?;
    match run.iter().find(|(name, value)| there.get(**name) != Some(*value)) {
        None => Ok(()),
        Some((what, _)) => Err(TrainError::OtherRun { path, what: (*what).to_owned() }),
    }
}
