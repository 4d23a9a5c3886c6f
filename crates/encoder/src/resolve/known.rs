//! The known models: the manifests of `models/`, built into the binary.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::hub::{Repo, RepoCache, RepoId};
use super::{Looked, ResolveError, ResolveEvent, ResolveOptions, sha256};

/// Every manifest of `models/`: the name, and the file.
const MANIFESTS: &[(&str, &str)] =
    &[("all-MiniLM-L6-v2", include_str!("../../../../models/all-MiniLM-L6-v2.toml"))];

/// What is known of a model: the manifest `models/NAME.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownModel {
    /// Its name, that of the manifest's file.
    #[serde(skip)]
    pub name: &'static str,
    /// Its id on the hub.
    pub source: String,
    /// The commit that the checksums are of.
    pub revision: String,
    /// The licence, as an SPDX identifier.
    pub license: String,
    /// The dimension of the embeddings.
    pub dimensions: usize,
    /// How token states become one vector: `mean` or `cls`.
    pub pooling: String,
    /// Whether embeddings have unit length.
    pub normalize: bool,
    /// The longest input, in tokens.
    pub max_length: usize,
    /// What is put before a text, by the text's role: `query`, `passage`.
    pub prompts: BTreeMap<String, String>,
    /// A Python package with the same files, for where the hub cannot be reached.
    pub pypi: Option<PypiCopy>,
    /// The files and their sha256, by path inside the model.
    pub files: BTreeMap<String, String>,
}

/// A Python package that holds a model's files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PypiCopy {
    /// The package's name.
    pub package: String,
    /// The version.
    pub version: String,
    /// The folder of the model inside the package.
    pub folder: String,
}

/// Every known model, by name.
///
/// # Errors
/// [`ResolveError::Manifest`], when a manifest of this build is wrong.
pub fn known_models() -> Result<Vec<KnownModel>, ResolveError> {
    MANIFESTS.iter().map(|(name, text)| parse(name, text)).collect()
}

/// The names of the known models.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    MANIFESTS.iter().map(|(name, _)| *name)
}

/// The known model of that name, or of that id on the hub (without a revision, so that the pinned one is
/// as good as any).
pub(super) fn find(name: &str) -> Result<Option<KnownModel>, ResolveError> {
    Ok(known_models()?.into_iter().find(|model| model.name == name || model.source == name))
}

fn parse(name: &'static str, text: &str) -> Result<KnownModel, ResolveError> {
    let mut model: KnownModel =
        toml::from_str(text).map_err(|source| ResolveError::Manifest { name, source: Box::new(source) })?;
    model.name = name;
    Ok(model)
}

/// A directory with the model's files, each with its checksum: from Toller's cache, from any snapshot of
/// the hub cache that has the same files, or downloaded.
pub(super) fn fetch(
    model: &KnownModel,
    options: &ResolveOptions,
    looked: &mut Vec<Looked>,
    on_event: &mut dyn FnMut(ResolveEvent<'_>) -> ControlFlow<()>,
) -> Result<PathBuf, ResolveError> {
    let own = options.toller_cache.join("models").join(model.name);
    if missing(model, &own).is_empty() {
        verify(model, &own)?;
        return Ok(own);
    }
    let found = if own.is_dir() {
        format!("lacks {}", missing(model, &own).join(", "))
    } else {
        "does not exist".into()
    };
    looked.push(Looked { place: own.display().to_string(), found });

    let id = RepoId { id: model.source.clone(), revision: model.revision.clone() };
    let cache = RepoCache::new(&options.hub_cache, &id);
    let pinned = cache.snapshot(&model.revision);
    for snapshot in cache.snapshots().into_iter().filter(|snapshot| *snapshot != pinned) {
        if missing(model, &snapshot).is_empty() && verify(model, &snapshot).is_ok() {
            return Ok(snapshot);
        }
    }
    let absent = missing(model, &pinned);
    if !absent.is_empty() {
        let found = "has no copy with this model's checksums".to_owned();
        looked.push(Looked { place: cache.place(), found });
        looked.extend(model.pypi.as_ref().map(|copy| Looked {
            place: format!("the Python package {} {}", copy.package, copy.version),
            found: format!(
                "not tried; it has a copy, whose folder {} can be put at {}",
                copy.folder,
                own.display()
            ),
        }));
        if options.offline {
            return Err(ResolveError::Offline);
        }
        let repo = Repo::new(&id, &cache, options)?;
        for file in absent {
            repo.fetch(&model.revision, &file, on_event)?;
        }
    }
    verify(model, &pinned)?;
    Ok(pinned)
}

fn missing(model: &KnownModel, directory: &Path) -> Vec<String> {
    model.files.keys().filter(|file| !directory.join(file).is_file()).cloned().collect()
}

fn verify(model: &KnownModel, directory: &Path) -> Result<(), ResolveError> {
    for (file, expected) in &model.files {
        let path = directory.join(file);
        let found = sha256::of_file(&path)?;
        if found != *expected {
            return Err(ResolveError::Checksum { path, expected: expected.clone(), found });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::error::Error;
    use std::fs;
    use std::path::Path;

    use super::{known_models, names, sha256};
    use crate::resolve::hub::RepoId;

    #[test]
    fn every_manifest_of_the_folder_is_built_in() -> Result<(), Box<dyn Error>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        let mut there = BTreeSet::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                there.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
            }
        }
        assert_eq!(names().map(str::to_owned).collect::<BTreeSet<_>>(), there);
        Ok(())
    }

    #[test]
    fn every_manifest_is_whole() -> Result<(), Box<dyn Error>> {
        for model in known_models()? {
            let repo = RepoId::parse(&format!("{}@{}", model.source, model.revision))?;
            assert_eq!((repo.id, repo.revision.len()), (model.source.clone(), 40), "{}", model.name);
            assert!(model.files.contains_key("config.json"), "{}", model.name);
            assert!(model.files.values().all(|sum| sha256::is_sha256(sum)), "{}", model.name);
            assert!(["mean", "cls"].contains(&model.pooling.as_str()), "{}", model.name);
            assert!(model.dimensions > 0 && model.max_length > 0, "{}", model.name);
        }
        Ok(())
    }
}
