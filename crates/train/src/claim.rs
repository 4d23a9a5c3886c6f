//! Which run an output directory holds.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use toller_files::{DirectoryLock, FileError, is_sealed, names_in, remove_durably, unfinished, write_sealed};

use crate::TrainError;
use crate::dev::Dev;
use crate::lesson::Lesson;
use crate::model::Model;
use crate::save::CARD;
use crate::settings::Settings;

/// What is described by a checksum.
const OPAQUE: [&str; 3] = ["model, lengths, prompts and loss", "data", "dev set"];

/// Everything that decides the bits of a run, by name.
pub(crate) type Description = BTreeMap<&'static str, String>;

/// The description of a run.
pub(crate) fn describe(
    lesson: &Lesson,
    model: &Model,
    dev: Option<&Dev>,
    settings: &Settings,
    total: u64,
) -> Description {
    let Settings {
        batch_size,
        accumulate,
        negatives,
        rate,
        schedule,
        warmup,
        optimizer,
        dropout,
        perturbation,
        seed,
        no_duplicates,
        chunks,
        // The number of steps says it.
        length: _,
        // They decide what is kept, and not what is computed.
        save_every: _,
        keep: _,
    } = settings;
    let dev = dev.map(|Dev { set, every, patience, saves_last }| {
        format!("{} {every:?} {patience:?} {saves_last}", set.fingerprint())
    });
    let trains: Vec<bool> = (0..model.towers().len()).map(|tower| model.trains(tower)).collect();
    Description::from([
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("model, lengths, prompts and loss", lesson.fingerprint()),
        ("encoders that are trained", format!("{trains:?}")),
        ("data", lesson.fingerprint_of_data()),
        ("number of steps", total.to_string()),
        ("batch size", format!("{batch_size} x {accumulate}")),
        ("batches without duplicates", no_duplicates.to_string()),
        ("negatives", negatives.to_string()),
        ("learning rate", format!("{rate}, {schedule}, warm-up {warmup}")),
        ("optimizer", format!("{optimizer:?}")),
        ("dropout", format!("{dropout:?}")),
        ("perturbation", format!("{perturbation:?}")),
        ("seed", seed.to_string()),
        ("dev set", dev.unwrap_or_default()),
        // On the CPU, neither the machine nor the chunks decide the bits.
        ("devices", model.devices().map(|devices| format!("{devices}, {chunks}")).unwrap_or_default()),
    ])
}

/// The files of a run in its output: its description, its logs, and its figure.
pub(crate) const RUN: &str = "run.json";
pub(crate) const LOG: &str = "log.jsonl";
pub(crate) const EVALUATIONS: &str = "evaluations.jsonl";
pub(crate) const FIGURE: &str = "training.svg";

/// The folder of its checkpoints.
pub(crate) const CHECKPOINTS: &str = "checkpoints";

/// An error for a folder that no run can have: it holds something else, or another process has it. Nothing is
/// created, so that it can be asked before data are read.
///
/// # Errors
/// In these cases, and when the folder cannot be read.
pub fn check_output(output: &Path) -> Result<(), TrainError> {
    let names = names_in(output)?;
    let is_ours = |name: &String| name == DirectoryLock::FILE || unfinished(name) == Some(RUN);
    if !names.iter().any(|name| name == RUN) && !names.iter().all(is_ours) {
        return Err(TrainError::OutputExists(output.to_owned()));
    }
    if names.iter().any(|name| name == DirectoryLock::FILE) {
        lock(output)?;
    }
    Ok(())
}

fn lock(output: &Path) -> Result<DirectoryLock, TrainError> {
    DirectoryLock::acquire(output)?.ok_or_else(|| TrainError::Locked(output.to_owned()))
}

/// Takes a folder for a run if it is empty, or holds a run without a checkpoint; or checks that it holds the
/// same run, which can go on. No other process can take the folder while the lock is held.
pub(crate) fn claim(output: &Path, run: &Description) -> Result<DirectoryLock, TrainError> {
    check_output(output)?;
    let lock = lock(output)?;
    let path = output.join(RUN);
    if !path.is_file() {
        write_sealed(&path, run)?;
        return Ok(lock);
    }
    let text = fs::read(&path).map_err(FileError::on("read", &path))?;
    let damaged =
        || TrainError::Damaged { path: path.clone(), problem: "its checksum does not fit".to_owned() };
    let there: BTreeMap<String, String> =
        is_sealed(&text).then(|| serde_json::from_slice(&text).ok()).flatten().ok_or_else(damaged)?;
    let before = |name: &str| there.get(name).cloned().unwrap_or_default();
    match run.iter().find(|(name, value)| before(name) != **value) {
        None if output.join(CARD).exists() && !has_checkpoint(output)? => {
            Err(TrainError::NoCheckpoint(output.to_owned()))
        }
        None => Ok(lock),
        Some(_) if !has_begun(output)? => {
            for log in [LOG, EVALUATIONS].map(|name| output.join(name)).iter().filter(|log| log.exists()) {
                remove_durably(log)?;
            }
            write_sealed(&path, run)?;
            Ok(lock)
        }
        Some((what, now)) => {
            let before = before(what);
            // A checksum says nothing.
            let is_readable = !OPAQUE.contains(what) && !before.is_empty() && !now.is_empty();
            let what = match is_readable {
                true => format!("{what} was {before}, is {now}"),
                false => format!("not the same {what}"),
            };
            Err(TrainError::OtherRun { output: output.to_owned(), what })
        }
    }
}

/// Whether a run has left a checkpoint or a model in its output.
fn has_begun(output: &Path) -> Result<bool, TrainError> {
    let of_run = [RUN, LOG, EVALUATIONS, DirectoryLock::FILE];
    let is_of_run = |name: &str| of_run.contains(&unfinished(name).unwrap_or(name));
    let names = names_in(output)?;
    let is_result = |name: &String| name != CHECKPOINTS && !is_of_run(name);
    Ok(has_checkpoint(output)? || names.iter().any(is_result))
}

/// Whether a run has left a checkpoint in its output.
fn has_checkpoint(output: &Path) -> Result<bool, TrainError> {
    let checkpoints = output.join(CHECKPOINTS);
    Ok(checkpoints.is_dir() && names_in(&checkpoints)?.iter().any(|name| name.ends_with(".json")))
}
