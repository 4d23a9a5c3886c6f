//! An adapter of PEFT (LoRA) without its model: its files, and those of the model that it changes, in one
//! directory of links.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toller_checkpoint::{
    ADAPTER_CONFIG, AdapterConfig, KnownModel, ModelError, TOKENIZER_FILES, choose_weights, read_route,
};
use toller_files::{FileError, names_in};

use crate::model::find;
use crate::{OnEvent, ResolveError, ResolveOptions, directory};

/// Whether a directory has an adapter and no weights of a model.
pub(crate) fn is_alone(directory: &Path) -> Result<bool, FileError> {
    if !directory.join(ADAPTER_CONFIG).is_file() {
        return Ok(false);
    }
    let names = names_in(directory)?;
    Ok(choose_weights(&names.iter().map(String::as_str).collect::<Vec<_>>()).is_empty())
}

/// The directory of the adapter in `adapter` and its model, which is found like any other; and what is known
/// of the model.
///
/// # Errors
/// When it is no adapter of LoRA, names no model, or the model cannot be found.
pub(crate) fn with_base(
    adapter: &Path,
    options: &ResolveOptions,
    on_event: &mut OnEvent<'_>,
) -> Result<(PathBuf, Option<Box<KnownModel>>), ResolveError> {
    let alone = || ResolveError::Adapter { directory: adapter.to_owned() };
    let config = AdapterConfig::read(adapter)?.filter(AdapterConfig::is_lora).ok_or_else(alone)?;
    let base = config.base_model_name_or_path.filter(|name| !name.is_empty()).ok_or_else(alone)?;
    let name = match config.revision.filter(|revision| revision != "main") {
        Some(revision) if !Path::new(&base).is_dir() => format!("{base}@{revision}"),
        _ => base,
    };
    // A path may be meant from where the adapter was trained, or from where it lies.
    let beside = adapter.join(&name);
    let name =
        if !Path::new(&name).is_dir() && beside.is_dir() { beside.display().to_string() } else { name };
    let model = find(&name, options, on_event).and_then(|model| {
        check_base(&model.directory)?;
        Ok(model)
    });
    let model = model.map_err(|error| {
        let (adapter, cause) = (adapter.to_owned(), Box::new(error));
        ResolveError::BaseOfAdapter { adapter, cause }
    })?;
    let composed = link(&links(adapter, &model.directory)?, &options.toller_cache.join("adapters"))?;
    directory::check(&composed)?;
    Ok((composed, model.known()))
}

/// Refuses what cannot be the model of an adapter.
fn check_base(model: &Path) -> Result<(), ResolveError> {
    let config = model.join(ADAPTER_CONFIG);
    if config.is_file() {
        let what = "an adapter of an adapter";
        return Err(ModelError::unsupported(config, what, "an adapter of a whole model").into());
    }
    let modules = read_route(model, None)?.unwrap_or_default();
    let is_inside = modules.first().is_some_and(|module| !module.path.is_empty());
    if is_inside || !model.join("config.json").is_file() {
        let what = "an adapter of a model whose transformer is in a folder of its own";
        let supported = "models with config.json and weights in their directory itself";
        return Err(ModelError::unsupported(model, what, supported).into());
    }
    Ok(())
}

/// The names of the composed directory, and what they lead to: the files of the adapter, and those of the
/// model that it does not have.
fn links(adapter: &Path, model: &Path) -> Result<BTreeMap<String, PathBuf>, ResolveError> {
    let own = names_in(adapter)?;
    let has_tokenizer = TOKENIZER_FILES.iter().any(|file| own.iter().any(|name| name == file));
    let mut links = BTreeMap::new();
    for (folder, is_adapter) in [(model, false), (adapter, true)] {
        let names = names_in(folder)?;
        let folder = fs::canonicalize(folder).map_err(FileError::on("find", folder))?;
        let is_taken = |name: &String| match is_adapter {
            // The configuration is the model's. Checkpoints lie inside the directory of a training's end.
            true => name != "config.json" && !name.starts_with("checkpoint-"),
            false => !(is_about_model(name) || (has_tokenizer && is_of_tokenizer(name))),
        };
        let names = names.into_iter().filter(|name| !name.starts_with('.')).filter(is_taken);
        links.extend(names.map(|name| (name.clone(), folder.join(name))));
    }
    Ok(links)
}

/// Whether a file belongs to a tokenizer or its chat template.
fn is_of_tokenizer(name: &str) -> bool {
    [
        "added_tokens.json", "chat_template.jinja", "merges.txt", "sentencepiece.bpe.model",
        "special_tokens_map.json", "spiece.model", "tokenizer.json", "tokenizer_config.json", "vocab.json",
        "vocab.txt",
    ]
    .contains(&name)
}

/// Whether a file says something of the model that an adapter changes: its README, what it should give.
fn is_about_model(name: &str) -> bool {
    ["README", "expected", "run.json", "log.jsonl", "evaluations.jsonl", "training.svg"]
        .iter()
        .any(|start| name.starts_with(start))
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
