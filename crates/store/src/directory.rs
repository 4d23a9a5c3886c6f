//! The files of a store's directory: which of them belong to it, and who may write them.

use std::fs;
use std::path::Path;

use serde::de::IgnoredAny;
use toller_files::{DirectoryLock, FileError, Found, names_in, parent, sync_directory, unfinished};

use crate::codes::codes_file_name;
use crate::manifest::{FORMAT, MANIFEST, Manifest, shard_file_name};
use crate::{Part, StoreError, part};

/// The exclusive right to write the store in `directory`.
pub(crate) fn lock(directory: &Path) -> Result<DirectoryLock, StoreError> {
    DirectoryLock::acquire(directory)?.ok_or_else(|| StoreError::Locked(directory.to_owned()))
}

/// Checks that `directory` is a store, even a damaged one, or holds nothing. Changes nothing.
pub(crate) fn check_is_store_or_empty(directory: &Path) -> Result<(), StoreError> {
    let entries = names_in(directory)?;
    let in_use =
        |entry: &str| StoreError::DirectoryInUse { path: directory.to_owned(), entry: entry.to_owned() };
    let only = |expected: fn(&str) -> bool| {
        entries.iter().find(|name| !expected(name)).map_or(Ok(()), |name| Err(in_use(name)))
    };
    if entries.iter().any(|name| name == MANIFEST) {
        return match FORMAT.read::<IgnoredAny>(&directory.join(MANIFEST))? {
            Found::Foreign(_) => Err(in_use("a manifest.json of another kind")),
            // It may have been another program's: what is next to it tells.
            Found::Cut => only(is_of_a_store),
            _ => Ok(()),
        };
    }
    only(is_first_trace)
}

/// Whether a store's directory has a file of this name.
fn is_of_a_store(name: &str) -> bool {
    let stem = unfinished(name).unwrap_or(name);
    stem == MANIFEST || numbers_of(stem) != (None, None) || is_first_trace(name)
}

/// Whether a process that was killed before its first manifest may have left this file, or a file system made
/// it: NFS for a removed file that is still open, ext4 at the root of a disk.
fn is_first_trace(name: &str) -> bool {
    name == DirectoryLock::FILE
        || unfinished(name) == Some(MANIFEST)
        || name.starts_with(".nfs")
        || name == "lost+found"
}

/// Checks that `part` may be written into `store`: next to parts of the same division, or as the first.
pub(crate) fn check_siblings(store: &Path, part: &Part) -> Result<(), StoreError> {
    let entries = names_in(store)?;
    let parts: Vec<(u32, u32)> = entries.iter().filter_map(|name| part::parse_directory_name(name)).collect();
    if let Some(&(_, of)) = parts.iter().find(|(_, of)| *of != part.of) {
        return Err(StoreError::MixedParts { path: store.to_owned(), first: of, second: part.of });
    }
    let foreign = entries.iter().find(|name| *name == MANIFEST).or_else(|| {
        let mut others = entries.iter().filter(|_| parts.is_empty());
        others.find(|name| !is_first_trace(name))
    });
    foreign.map_or(Ok(()), |entry| {
        Err(StoreError::DirectoryInUse { path: store.to_owned(), entry: entry.clone() })
    })
}

/// Removes what an interrupted writer left: temporary files, and files that the manifest does not list.
pub(crate) fn remove_leftovers(directory: &Path, manifest: &Manifest) -> Result<(), StoreError> {
    for name in names_in(directory)? {
        let stem = unfinished(&name).unwrap_or(&name);
        let (shard, codes) = numbers_of(stem);
        let temporary = stem != name && (stem == MANIFEST || shard.or(codes).is_some());
        let unlisted = shard.is_some_and(|index| index >= manifest.shards.len())
            || codes.is_some_and(|index| index >= manifest.codes.len());
        if temporary || unlisted {
            let path = directory.join(&name);
            fs::remove_file(&path).map_err(FileError::on("remove", &path))?;
        }
    }
    Ok(())
}

/// The number of the shard whose file has this name, and of the shard whose codes' file has it.
fn numbers_of(name: &str) -> (Option<usize>, Option<usize>) {
    (index_in(name, shard_file_name), index_in(name, codes_file_name))
}

/// The number from which `named` makes this file name, or `None` if there is none.
fn index_in(name: &str, named: impl Fn(usize) -> String) -> Option<usize> {
    let index = name.strip_suffix(".safetensors")?.split_once('-')?.1.parse().ok()?;
    (named(index) == name).then_some(index)
}

/// Creates a directory and those above it, and makes them durable.
pub(crate) fn create(directory: &Path) -> Result<(), StoreError> {
    let created: Vec<&Path> = directory.ancestors().take_while(|path| !path.exists()).collect();
    fs::create_dir_all(directory).map_err(FileError::on("create", directory))?;
    created.into_iter().try_for_each(|path| Ok(sync_directory(parent(path))?))
}
