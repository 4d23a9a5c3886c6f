//! The known models: the manifests of `models/`, built into the binary.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toller_compute::Pooling;

use super::hub::{self, Repo, RepoCache, RepoId};
use super::{Looked, ResolveError, ResolveEvent, ResolveOptions, sha256};
use crate::EncoderError;

/// The names of manifests with their text.
macro_rules! manifests {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../models/", $name, ".toml")))),*]
    };
}

/// Every manifest of `models/`: the name, and the file.
const MANIFESTS: &[(&str, &str)] = manifests![
    "all-MiniLM-L6-v2",
    "bert-base-chinese",
    "bert-base-multilingual-cased",
    "bge-base-en-v1.5",
    "bge-large-en-v1.5",
    "bge-small-en-v1.5",
    "contriever",
    "contriever-msmarco",
    "dpr-ctx_encoder-single-nq-base",
    "dpr-question_encoder-single-nq-base",
    "e5-base-v2",
    "e5-large-v2",
    "e5-small-v2",
    "ernie-1.0-base-zh",
    "ernie-3.0-base-zh",
    "gte-base",
    "gte-large",
    "gte-small",
    "mcontriever-msmarco",
    "mdpr-tied-pft-msmarco",
    "mdpr-tied-pft-msmarco-ft-all",
    "ms-marco-MiniLM-L12-v2",
    "ms-marco-MiniLM-L6-v2",
    "multilingual-e5-base",
    "multilingual-e5-large",
    "multilingual-e5-small",
    "rocketqa-v1-marco-ce",
    "rocketqa-v1-marco-de",
    "rocketqa-v1-nq-ce",
    "rocketqa-v1-nq-de",
    "rocketqa-v2-marco-de",
    "rocketqa-zh-dureader-ce",
    "rocketqa-zh-dureader-ce-v2",
    "rocketqa-zh-dureader-de",
    "rocketqa-zh-dureader-de-v2",
];

/// What is known of a model: the manifest `models/NAME.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownModel {
    /// Its name, that of the manifest's file.
    #[serde(skip)]
    pub name: &'static str,
    /// Its id on the hub; none for a model that is not there in a form that can be loaded.
    pub source: Option<String>,
    /// The commit: the one that the checksums are of, else one whose files are known to be whole.
    pub revision: Option<String>,
    /// The licence, as an SPDX identifier.
    pub license: Option<String>,
    /// The dimension of the embeddings.
    pub dimensions: Option<usize>,
    /// How token states become one vector: a name of [`Pooling`].
    pub pooling: Option<String>,
    /// Whether embeddings have unit length.
    pub normalize: Option<bool>,
    /// The longest input, in tokens.
    pub max_length: Option<usize>,
    /// How two vectors compare, `dot` or `cosine`; `cross-encoder` for a model that scores pairs of texts.
    pub similarity: Option<String>,
    /// What is put before a text, by the text's role: `query`, `passage`.
    #[serde(default)]
    pub prompts: BTreeMap<String, String>,
    /// A checkpoint that `toller convert` makes a model of, for a model without a source.
    pub checkpoint: Option<CheckpointCopy>,
    /// A Python package with the same files, for where the hub cannot be reached.
    pub pypi: Option<PypiCopy>,
    /// The files and their sha256, by path inside the model; empty where they are not known.
    #[serde(default)]
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

/// Where a checkpoint of another framework is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointCopy {
    /// Its address.
    pub url: String,
    /// Its MD5, as its publisher gives it.
    pub md5: String,
}

impl KnownModel {
    /// Reads the manifest of a name.
    pub(crate) fn parse(name: &'static str, text: &str) -> Result<Self, ResolveError> {
        let parsed =
            toml::from_str(text).map_err(|source| ResolveError::Manifest { name, source: Box::new(source) });
        parsed.map(|model: Self| Self { name, ..model })
    }

    /// The pooling, if the manifest says it.
    pub(crate) fn pooling(&self) -> Result<Option<Pooling>, EncoderError> {
        let Some(name) = &self.pooling else { return Ok(None) };
        Pooling::from_name(name).map(Some).ok_or_else(|| EncoderError::Config {
            path: format!("models/{}.toml", self.name).into(),
            problem: format!("pooling {name:?} is not known"),
        })
    }
}

/// Every known model, by name.
///
/// # Errors
/// [`ResolveError::Manifest`], when a manifest of this build is wrong.
pub fn known_models() -> Result<Vec<KnownModel>, ResolveError> {
    MANIFESTS.iter().map(|(name, text)| KnownModel::parse(name, text)).collect()
}

/// The names of the known models.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    MANIFESTS.iter().map(|(name, _)| *name)
}

/// The known model of that name, or of that id on the hub (without a revision, so that the pinned one is
/// as good as any).
pub(super) fn find(name: &str) -> Result<Option<KnownModel>, ResolveError> {
    Ok(known_models()?.into_iter().find(|model| model.name == name || model.source.as_deref() == Some(name)))
}

/// The known names that are nearest to what was asked for, the nearest first: at most three, and only if at least half of
/// the letters agree.
pub(super) fn nearest(asked: &str) -> Vec<&'static str> {
    let asked = asked.rsplit('/').next().unwrap_or(asked).to_lowercase();
    let mut near: Vec<(usize, &str)> = names()
        .map(|name| (edits(&asked, &name.to_lowercase()), name))
        .filter(|(edits, name)| edits * 2 <= name.len().max(asked.len()))
        .collect();
    near.sort();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// The insertions, deletions and replacements that make one text of another (Wagner and Fischer 1974).
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (deleted, character) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = deleted + 1;
        for (column, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(character != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

/// A directory with the model's files: from Toller's cache, from the hub cache, or downloaded. Where the manifest has
/// checksums, each file has its own, and any snapshot of the hub cache with the same files will do.
pub(super) fn fetch(
    model: &KnownModel,
    options: &ResolveOptions,
    looked: &mut Vec<Looked>,
    on_event: &mut dyn FnMut(ResolveEvent<'_>) -> ControlFlow<()>,
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
        return hub::snapshot(&repo, options, looked, on_event).map(|snapshot| snapshot.directory);
    }
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

    // A manifest with checksums has the commit that they are of: a test checks it.
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

    use super::{edits, known_models, names, nearest, sha256};
    use crate::resolve::hub::RepoId;

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
                assert!(model.files.values().all(|sum| sha256::is_sha256(sum)), "{name}");
            }
            model.pooling()?;
            assert!(one_of(&model.similarity, &["dot", "cosine", "cross-encoder"]), "{name}");
            assert!(one_of(&model.license, &["Apache-2.0", "MIT", "CC-BY-NC-4.0"]), "{name}");
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
        assert_eq!((edits("kitten", "sitting"), edits("", "abc"), edits("abc", "abc")), (3, 3, 0));
    }
}
