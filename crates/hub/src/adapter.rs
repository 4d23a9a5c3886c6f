//! An adapter of PEFT (LoRA) without its model: its files, and those of the model that it changes, in one
//! directory of links.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toller_checkpoint::{ADAPTER_CONFIG, ADAPTER_WEIGHTS, AdapterConfig};
use toller_files::{FileError, names_in};

use crate::model::find;
use crate::{OnEvent, ResolveError, ResolveOptions, directory};

/// Whether a directory has an adapter and no model.
pub(crate) fn is_alone(directory: &Path) -> bool {
    directory.join(ADAPTER_CONFIG).is_file() && !directory.join("config.json").is_file()
}

/// The directory of the adapter in `adapter` and its model, which is found like any other.
///
/// # Errors
/// When it is no adapter of LoRA, names no model, or the model cannot be found.
pub(crate) fn with_base(
    adapter: &Path,
    options: &ResolveOptions,
    on_event: &mut OnEvent<'_>,
) -> Result<PathBuf, ResolveError> {
    let alone = || ResolveError::Adapter { directory: adapter.to_owned() };
    let config = AdapterConfig::read(adapter)?.filter(AdapterConfig::is_lora).ok_or_else(alone)?;
    let base = config.base_model_name_or_path.filter(|name| !name.is_empty()).ok_or_else(alone)?;
    let name = match config.revision {
        Some(revision) if !Path::new(&base).is_dir() => format!("{base}@{revision}"),
        _ => base,
    };
    // A path may be meant from where the adapter was trained, or from where it lies.
    let beside = adapter.join(&name);
    let name =
        if !Path::new(&name).is_dir() && beside.is_dir() { beside.display().to_string() } else { name };
    let model = find(&name, options, on_event).and_then(|model| match is_alone(&model.directory) {
        false => Ok(model),
        true => Err(ResolveError::Adapter { directory: model.directory }),
    });
    let model = model.map_err(|error| {
        let (adapter, cause) = (adapter.to_owned(), Box::new(error));
        ResolveError::BaseOfAdapter { adapter, cause }
    })?;
    let composed = link(&links(adapter, &model.directory)?, &options.toller_cache.join("adapters"))?;
    directory::check(&composed)?;
    Ok(composed)
}

/// The names of the composed directory, and what they lead to: the files of the adapter, and those of the
/// model that it does not have.
fn links(adapter: &Path, model: &Path) -> Result<BTreeMap<String, PathBuf>, ResolveError> {
    if model.join(ADAPTER_CONFIG).is_file() {
        return Err(ResolveError::Adapter { directory: model.to_owned() });
    }
    let mut links = BTreeMap::new();
    for folder in [model, adapter] {
        let folder = fs::canonicalize(folder).map_err(FileError::on("find", folder))?;
        links.extend(names_in(&folder)?.into_iter().map(|name| (name.clone(), folder.join(name))));
    }
    // Checkpoints of a training lie inside the directory of its end.
    links.retain(|name, _| !name.starts_with('.') && !name.starts_with("checkpoint-"));
    if !ADAPTER_WEIGHTS.iter().any(|name| links.contains_key(*name)) {
        let missing = vec![ADAPTER_WEIGHTS[0].to_owned()];
        return Err(ResolveError::Incomplete { directory: adapter.to_owned(), missing });
    }
    Ok(links)
}

/// A directory inside `cache` with these links. Its name follows from them, so it never changes.
fn link(links: &BTreeMap<String, PathBuf>, cache: &Path) -> Result<PathBuf, ResolveError> {
    let mut digest = Sha256::new();
    for (name, target) in links {
        digest.update(name.as_bytes());
        digest.update([0]);
        digest.update(target.as_os_str().as_encoded_bytes());
        digest.update([0]);
    }
    let name: String = digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let directory = cache.join(name);
    if directory.is_dir() {
        return Ok(directory);
    }
    fs::create_dir_all(cache).map_err(FileError::on("create", cache))?;
    let new = tempfile::tempdir_in(cache).map_err(FileError::on("create a directory in", cache))?;
    for (name, target) in links {
        let path = new.path().join(name);
        symlink(target, &path).map_err(FileError::on("create", &path))?;
    }
    match fs::rename(new.path(), &directory) {
        Ok(()) => drop(new.keep()),
        // Another process was faster.
        Err(error) if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) => {}
        Err(error) => return Err(FileError::on("create", &directory)(error).into()),
    }
    Ok(directory)
}
