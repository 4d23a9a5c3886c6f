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

    /// Records that a commit does not have a file.
    pub(crate) fn note_absent(&self, commit: &str, file: &str) -> Result<(), FileError> {
        let path = self.absence(commit, file);
        create_parent(&path)?;
        fs::write(&path, "").map_err(FileError::on("write", &path))
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
        match make_link(&self.root, etag, file, &path) {
            Err(error) if !path.is_file() => Err(FileError::new("link", path, error)),
            _ => Ok(()),
        }
    }

    /// Records the commit of a branch or a tag. Call it once all files of the commit are in the cache.
    pub(crate) fn write_ref(&self, revision: &str, commit: &str) -> Result<(), FileError> {
        if revision == commit {
            return Ok(());
        }
        let path = self.root.join("refs").join(revision);
        create_parent(&path)?;
        let mut file = AtomicFile::create(&path)?;
        file.write_all(commit.as_bytes()).map_err(FileError::on("write", &path))?;
        file.commit()
    }
}

/// Whether a commit or an ETag of the hub can be the name of a file.
pub(crate) fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !text.is_empty() && text.len() <= 200 && text.bytes().all(is_allowed) && !text.starts_with('.')
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
