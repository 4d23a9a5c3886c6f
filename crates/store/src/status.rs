//! How far stores are: which of their parts are there, finished or not.

use std::path::{Path, PathBuf};

use toller_files::{is_object_url, names_in};

use crate::manifest::Manifest;
use crate::spec::Agreement;
use crate::{Content, Difference, StoreError, part};

/// A directory with a manifest: a store that was written whole, or a part.
#[derive(Clone, Debug)]
pub struct StorePart {
    /// The directory.
    pub directory: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
}

impl StorePart {
    /// Which part this is, from one.
    fn index(&self) -> u32 {
        self.manifest.spec.part.map_or(1, |part| part.index)
    }

    fn holds_impacts(&self) -> bool {
        self.manifest.spec.content == Content::Impacts
    }

    /// Checks that all rows are written.
    pub(crate) fn check_complete(&self) -> Result<(), StoreError> {
        if self.manifest.complete {
            return Ok(());
        }
        Err(StoreError::Incomplete {
            path: self.directory.clone(),
            rows_done: self.manifest.count,
            rows_expected: self.manifest.spec.expected_rows(),
        })
    }

    /// In what another part of the same store differs that must not.
    fn differences(&self, other: &Self) -> Vec<Difference> {
        self.manifest.spec.differences(&other.manifest.spec, Agreement::Parts)
    }
}

/// What is there of a store, and what is missing.
#[derive(Clone, Debug)]
pub struct StoreStatus {
    /// The parts that are there, in their order, finished or not; of a store that is written whole, itself.
    pub parts: Vec<StorePart>,
    /// The indices of the parts that were not begun, from one.
    pub missing: Vec<u32>,
    /// The number of parts; 1 for a store that is written whole.
    pub of: u32,
}

impl StoreStatus {
    /// The parts that were begun and are not finished, with their indices from one.
    pub fn unfinished(&self) -> impl Iterator<Item = (u32, &StorePart)> {
        let unfinished = self.parts.iter().filter(|part| !part.manifest.complete);
        unfinished.map(|part| (part.index(), part))
    }

    /// The indices of the parts that are still to be written to their end, ascending.
    #[must_use]
    pub fn to_do(&self) -> Vec<u32> {
        let unfinished = self.unfinished().map(|(index, _)| index);
        let mut to_do: Vec<u32> = self.missing.iter().copied().chain(unfinished).collect();
        to_do.sort_unstable();
        to_do
    }

    /// The parts that were made differently from most parts, or from the first of as many: their indices from
    /// one, and in what they differ.
    #[must_use]
    pub fn disagreeing(&self) -> Vec<(u32, Vec<Difference>)> {
        let Some(usual) = self.usual() else { return Vec::new() };
        let differing = self.parts.iter().map(|part| (part.index(), usual.differences(part)));
        differing.filter(|(_, differences)| !differences.is_empty()).collect()
    }

    /// Checks that all parts can be opened as one store.
    ///
    /// # Errors
    /// [`StoreError::Disagreement`].
    pub fn check_agreement(&self) -> Result<(), StoreError> {
        let Some(usual) = self.usual() else { return Ok(()) };
        self.parts.iter().try_for_each(|part| check_agreement(usual, part, Agreement::Parts))
    }

    /// The first part of those that most others agree with.
    fn usual(&self) -> Option<&StorePart> {
        let mut kinds: Vec<(&StorePart, usize)> = Vec::new();
        for part in &self.parts {
            match kinds.iter_mut().find(|(kind, _)| kind.differences(part).is_empty()) {
                Some((_, parts)) => *parts += 1,
                None => kinds.push((part, 1)),
            }
        }
        // Of equals, `max_by_key` takes the last.
        kinds.into_iter().rev().max_by_key(|(_, parts)| *parts).map(|(part, _)| part)
    }

    /// The rows of the finished shards.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.parts.iter().map(|part| part.manifest.count).sum()
    }

    /// The rows of the finished store.
    #[must_use]
    pub fn rows_expected(&self) -> u64 {
        match self.parts.first().map(|part| &part.manifest.spec) {
            Some(spec) if self.of > 1 => spec.source.passages,
            Some(spec) => spec.expected_rows(),
            None => 0,
        }
    }
}

/// The complete store of vectors, or all the parts of one, at `path`.
pub(crate) fn read_vectors(path: &Path) -> Result<Vec<StorePart>, StoreError> {
    let store = inspect(path)?;
    if store.iter().any(StorePart::holds_impacts) {
        return Err(StoreError::HoldsImpacts(path.to_owned()));
    }
    complete(store)
}

/// The complete store of impacts, or all the parts of one, at `path`.
pub(crate) fn read_impacts(path: &Path) -> Result<Vec<StorePart>, StoreError> {
    let store = inspect(path)?;
    if !store.iter().all(StorePart::holds_impacts) {
        return Err(StoreError::HoldsVectors(path.to_owned()));
    }
    complete(store)
}

fn complete(store: Vec<StorePart>) -> Result<Vec<StorePart>, StoreError> {
    store.iter().try_for_each(StorePart::check_complete)?;
    Ok(store)
}

/// What the store at `path` holds, finished or not, by the manifest of its first part that is there.
///
/// # Errors
/// As [`status`], and [`StoreError::MissingParts`] if no part was begun.
pub fn content_of(path: &Path) -> Result<Content, StoreError> {
    let StoreStatus { parts, missing, of } = status(path)?;
    match parts.first() {
        Some(part) => Ok(part.manifest.spec.content),
        None => Err(StoreError::MissingParts { path: path.to_owned(), missing, of }),
    }
}

/// Reads the manifest of the store at `path`, or those of its parts in their order, finished or not. No shard
/// is touched.
///
/// # Errors
/// If the path is not a store, a manifest is damaged or has another format version, a part is missing, or
/// parts do not belong together.
pub fn inspect(path: &Path) -> Result<Vec<StorePart>, StoreError> {
    let found = status(path)?;
    found.check_agreement()?;
    let StoreStatus { parts, missing, of } = found;
    if missing.is_empty() {
        return Ok(parts);
    }
    Err(StoreError::MissingParts { path: path.to_owned(), missing, of })
}

/// As [`inspect`], for a store whose parts may be missing, or disagree.
///
/// # Errors
/// If nothing of a store is there, or a manifest is damaged or has another format version.
pub fn status(path: &Path) -> Result<StoreStatus, StoreError> {
    match Manifest::read(path)? {
        Some(manifest) => {
            let whole = StorePart { directory: path.to_owned(), manifest };
            Ok(StoreStatus { parts: vec![whole], missing: Vec::new(), of: 1 })
        }
        None => read_parts(path),
    }
}

/// The parts in a directory without a manifest.
fn read_parts(path: &Path) -> Result<StoreStatus, StoreError> {
    if !path.is_dir() {
        // Distinguishes a missing directory from a file.
        return Err(match std::fs::metadata(path) {
            Err(_) if path.to_str().is_some_and(is_object_url) => StoreError::Remote(path.to_owned()),
            Err(error) => toller_files::FileError::new("open", path, error).into(),
            Ok(_) => StoreError::NotAStore { path: path.to_owned() },
        });
    }
    let found: Vec<(u32, u32)> =
        names_in(path)?.iter().filter_map(|name| part::parse_directory_name(name)).collect();
    let Some(&(_, of)) = found.first() else {
        return Err(StoreError::NotAStore { path: path.to_owned() });
    };
    if let Some(&(_, second)) = found.iter().find(|(_, other)| *other != of) {
        return Err(StoreError::MixedParts { path: path.to_owned(), first: of, second });
    }
    let mut parts: Vec<StorePart> = Vec::new();
    let mut missing = Vec::new();
    for index in 1..=of {
        let directory = path.join(part::directory_name(index, of));
        let Some(manifest) = Manifest::read(&directory)? else {
            missing.push(index);
            continue;
        };
        let holds = manifest.spec.part.map(|part| (part.index, part.of));
        if holds != Some((index, of)) {
            let found =
                holds.map_or("a whole store".to_owned(), |(index, of)| format!("part {index} of {of}"));
            return Err(StoreError::MisplacedPart { path: directory, found });
        }
        parts.push(StorePart { directory, manifest });
    }
    Ok(StoreStatus { parts, missing, of })
}

pub(crate) fn check_agreement(
    first: &StorePart,
    second: &StorePart,
    agreement: Agreement,
) -> Result<(), StoreError> {
    let differences = first.manifest.spec.differences(&second.manifest.spec, agreement);
    if differences.is_empty() {
        return Ok(());
    }
    let (first, second) = (first.directory.clone(), second.directory.clone());
    Err(StoreError::Disagreement { first, second, differences })
}
