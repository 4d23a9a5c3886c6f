//! The hub cache on disk, laid out as the Python package `huggingface_hub` lays it out:
//!
//! ```text
//! models--org--name/blobs/ETAG                   the bytes of a file
//! models--org--name/snapshots/COMMIT/FILE        a link to its blob
//! models--org--name/refs/REVISION                the commit of a branch or a tag
//! models--org--name/.no_exist/COMMIT/FILE        a file that the commit is known not to have
//! .locks/models--org--name/ETAG.lock             locked while a blob is written
//! ```

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use toller_files::{AtomicFile, FileError};

use crate::ResolveError;
use crate::id::RepoId;
use crate::lock::lock;

/// The part of the hub cache that belongs to one repository.
#[derive(Clone, Debug)]
pub(crate) struct RepoCache {
    root: PathBuf,
    locks: PathBuf,
}

impl RepoCache {
    pub(crate) fn new(hub_cache: &Path, repo: &RepoId) -> Self {
        let folder = format!("models--{}", repo.id.replace('/', "--"));
        Self { root: hub_cache.join(&folder), locks: hub_cache.join(".locks").join(folder) }
    }

    /// The cache, as an error names it.
    pub(crate) fn place(&self) -> String {
        format!("hub cache {}", self.root.display())
    }

    /// The commit that a revision meant when it was last downloaded.
    pub(crate) fn commit_of(&self, revision: &str) -> Option<String> {
        let commit = fs::read_to_string(self.root.join("refs").join(revision))
            .map(|text| text.trim().to_owned())
            .unwrap_or_else(|_| revision.to_owned());
        (is_name(&commit) && self.snapshot(&commit).is_dir()).then_some(commit)
    }

    /// The folder of a commit's files.
    pub(crate) fn snapshot(&self, commit: &str) -> PathBuf {
        self.root.join("snapshots").join(commit)
    }

    /// The folders of all commits, sorted; none if nothing was downloaded.
    pub(crate) fn snapshots(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.root.join("snapshots")).into_iter().flatten();
        let mut folders: Vec<_> =
            entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        folders.sort_unstable();
        folders
    }

    /// Whether the cache records that a commit does not have a file.
    pub(crate) fn is_known_absent(&self, commit: &str, file: &str) -> bool {
        self.absence(commit, file).is_file()
    }

    /// Records that a commit does not have a file, if the cache can be written: without the record, the next
    /// run asks the hub again.
    pub(crate) fn note_absent(&self, commit: &str, file: &str) {
        let path = self.absence(commit, file);
        if create_parent(&path).is_ok() {
            let _ = fs::write(&path, "");
        }
    }

    fn absence(&self, commit: &str, file: &str) -> PathBuf {
        self.root.join(".no_exist").join(commit).join(file)
    }

    /// The path of a blob, whose folder is created.
    pub(crate) fn blob(&self, etag: &str) -> Result<PathBuf, FileError> {
        let path = self.root.join("blobs").join(etag);
        create_parent(&path)?;
        Ok(path)
    }

    /// Locks a blob against other processes until the file is dropped. `on_wait` is called again and again
    /// while another process holds the lock. `None` on a file system without locks.
    pub(crate) fn lock(
        &self,
        etag: &str,
        on_wait: impl FnMut() -> Result<(), ResolveError>,
    ) -> Result<Option<File>, ResolveError> {
        let path = self.locks.join(format!("{etag}.lock"));
        create_parent(&path)?;
        lock(&path, on_wait)
    }

    /// Makes a blob appear as a file of a commit.
    pub(crate) fn link(&self, etag: &str, commit: &str, file: &str) -> Result<(), FileError> {
        let path = self.snapshot(commit).join(file);
        create_parent(&path)?;
        if path.is_file() {
            // Another process has made the link, and may be using it already.
            return Ok(());
        }
        if path.symlink_metadata().is_ok() {
            // The link leads nowhere: somebody removed the blobs.
            fs::remove_file(&path).map_err(FileError::on("replace", &path))?;
        }
        let linked = make_link(&self.root, etag, file, &path);
        if linked.is_ok() || path.is_file() {
            return Ok(());
        }
        self.copy(etag, &path)
    }

    /// Copies a blob, on a file system without links. It is then there twice, as in `huggingface_hub`.
    fn copy(&self, etag: &str, path: &Path) -> Result<(), FileError> {
        let blob = self.root.join("blobs").join(etag);
        let mut from = File::open(&blob).map_err(FileError::on("open", &blob))?;
        let mut to = AtomicFile::create(path)?;
        io::copy(&mut from, &mut to).map_err(FileError::on("write", path))?;
        to.commit()
    }

    /// Records the commit of a branch or a tag, if the cache can be written: without the record, the next run
    /// asks the hub again. Call it once all files of the commit are in the cache.
    pub(crate) fn write_ref(&self, revision: &str, commit: &str) {
        let path = self.root.join("refs").join(revision);
        if revision != commit && create_parent(&path).is_ok() {
            let _ = write_whole(&path, commit.as_bytes());
        }
    }
}

/// Whether a commit or an ETag of the hub can be the name of a file.
pub(crate) fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !text.is_empty() && text.len() <= 200 && text.bytes().all(is_allowed) && !text.starts_with('.')
}

/// Writes a file that is seen whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(FileError::on("write", path))?;
    file.commit()
}

fn create_parent(path: &Path) -> Result<(), FileError> {
    match path.parent() {
        Some(parent) => fs::create_dir_all(parent).map_err(FileError::on("create", parent)),
        None => Ok(()),
    }
}

/// A relative link, so that the cache can be moved.
#[cfg(unix)]
fn make_link(_root: &Path, etag: &str, file: &str, path: &Path) -> io::Result<()> {
    let up = "../".repeat(file.matches('/').count() + 2);
    std::os::unix::fs::symlink(format!("{up}blobs/{etag}"), path)
}

/// On Windows a symbolic link needs a privilege; a hard link does not.
#[cfg(not(unix))]
fn make_link(root: &Path, etag: &str, _file: &str, path: &Path) -> io::Result<()> {
    fs::hard_link(root.join("blobs").join(etag), path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{RepoCache, RepoId};

    #[test]
    fn a_copy_stands_for_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let cache = RepoCache::new(folder.path(), &RepoId::parse("org/model").unwrap());
        fs::write(cache.blob("abc").unwrap(), "bytes").unwrap();
        let path = folder.path().join("config.json");
        cache.copy("abc", &path).unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "bytes");
    }
}
