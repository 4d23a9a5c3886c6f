//! Files of a model directory: copies, and JSON that is changed in place.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use toller_checkpoint::{ADAPTER_CONFIG, AdapterConfig, read_json, read_modules};
use toller_files::{AtomicFile, FileError, names_in};

use super::{CARD, MODULES};
use crate::TrainError;

/// Endings of files that hold weights, which are not copied.
const WEIGHTS: [&str; 9] =
    [".safetensors", ".bin", ".h5", ".msgpack", ".ot", ".onnx", ".pt", ".pth", ".index.json"];

/// The names, or their beginnings, of files that belong only to the model before training: its README, the
/// vectors that it should give, and the files of the run that trained it.
const NOT_COPIED: [&str; 6] =
    [CARD, "expected", "run.json", "log.jsonl", "evaluations.jsonl", "training.svg"];

/// Whether a file is sentence-transformers' own.
fn is_of_sentence_transformers(name: &str) -> bool {
    name == MODULES || name == "config_sentence_transformers.json" || name.starts_with("sentence_")
}

/// The small files of a model's directory. With `modules`, also those of sentence-transformers, and those in
/// the folders of its modules.
fn small_files(directory: &Path, modules: bool) -> Result<Vec<PathBuf>, TrainError> {
    let mut folders = BTreeSet::from([PathBuf::new()]);
    if modules {
        let entries = read_modules(directory)?.unwrap_or_default();
        folders.extend(entries.into_iter().map(|entry| PathBuf::from(entry.path)));
    }
    let is_copied = |name: &String| {
        !WEIGHTS.iter().any(|ending| name.ends_with(ending))
            && !name.starts_with('.')
            && !NOT_COPIED.iter().any(|own| name.starts_with(own))
            && (modules || !is_of_sentence_transformers(name))
    };
    let mut files = Vec::new();
    for folder in folders {
        let path = directory.join(&folder);
        // LoRA is a part of the weights that were trained.
        let is_lora = AdapterConfig::read(&path)?.is_some_and(|adapter| adapter.is_lora());
        let names = names_in(&path)?.into_iter().filter(is_copied);
        let names = names.filter(|name| !(is_lora && name == ADAPTER_CONFIG));
        files.extend(names.map(|name| folder.join(name)).filter(|path| !directory.join(path).is_dir()));
    }
    Ok(files)
}

/// Copies the small files of a model.
pub(super) fn copy_files(from: &Path, to: &Path, modules: bool) -> Result<(), TrainError> {
    fs::create_dir_all(to).map_err(FileError::on("create", to))?;
    for path in small_files(from, modules)? {
        let (source, target) = (from.join(&path), to.join(&path));
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(FileError::on("create", folder))?;
        }
        let bytes = fs::read(&source).map_err(FileError::on("read", &source))?;
        write(&target, &bytes)?;
    }
    Ok(())
}

/// Opens the files that [`copy_files`] will read.
pub(super) fn check_files(from: &Path, modules: bool) -> Result<(), TrainError> {
    for path in small_files(from, modules)? {
        let source = from.join(path);
        File::open(&source).map_err(FileError::on("open", &source))?;
    }
    Ok(())
}

/// Changes the object of a file, which need not exist. Writes it if something changed.
pub(super) fn change_json(
    path: &Path,
    change: impl FnOnce(&mut Map<String, Value>),
) -> Result<(), TrainError> {
    let before: Map<String, Value> = read_json(path)?.unwrap_or_default();
    let mut object = before.clone();
    change(&mut object);
    if object == before { Ok(()) } else { write_json(path, &Value::Object(object)) }
}

/// Changes a configuration. The weights are f32 now, whatever they were.
pub(super) fn change_config(
    path: &Path,
    change: impl FnOnce(&mut Map<String, Value>),
) -> Result<(), TrainError> {
    change_json(path, |config| {
        for name in ["dtype", "torch_dtype"] {
            if let Some(dtype) = config.get_mut(name) {
                *dtype = json!("float32");
            }
        }
        change(config);
    })
}

pub(super) fn write_json(path: &Path, value: &Value) -> Result<(), TrainError> {
    write(path, format!("{value:#}\n").as_bytes())
}

/// Writes a file, whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), TrainError> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(FileError::on("write", path))?;
    Ok(file.commit()?)
}
