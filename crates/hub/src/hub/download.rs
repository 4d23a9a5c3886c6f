//! The download of one file into the hub cache.
//!
//! The bytes go into `blobs/ETAG.incomplete`, which a later attempt takes up where it ended. Only when all
//! have come, and their sha256 is right where the hub tells it, does the file get its name.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use toller_files::FileError;

use super::super::{ResolveError, ResolveEvent, ResolveOptions, sha256};
use super::cache::RepoCache;
use super::client::{Client, FileFacts, Listing, persist, text_of};
use super::id::RepoId;

/// A repository that can be reached: the way to it, and its part of the cache.
#[derive(Debug)]
pub(crate) struct Repo {
    cache: RepoCache,
    client: Client,
    id: RepoId,
}

impl Repo {
    pub(crate) fn new(
        id: &RepoId,
        cache: &RepoCache,
        options: &ResolveOptions,
    ) -> Result<Self, ResolveError> {
        Ok(Self { cache: cache.clone(), client: Client::new(options)?, id: id.clone() })
    }

    /// The commit and the files of the revision.
    pub(super) fn list(&self) -> Result<Listing, ResolveError> {
        self.client.list(&self.id)
    }

    /// Makes a file of a commit appear in its snapshot.
    pub(crate) fn fetch(
        &self,
        commit: &str,
        file: &str,
        on_event: &mut dyn FnMut(ResolveEvent<'_>) -> ControlFlow<()>,
    ) -> Result<(), ResolveError> {
        let url = self.client.file_url(&self.id, commit, file);
        let facts = self.client.facts(&url)?;
        let blob = self.cache.blob(&facts.etag)?;
        let _lock = self.cache.lock(&facts.etag)?;
        if !blob.is_file() {
            let mut tell = |event| match on_event(event) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(ResolveError::Interrupted),
            };
            tell(ResolveEvent::Started { file, total_bytes: facts.total_bytes })?;
            let mut advance = |done_bytes| tell(ResolveEvent::Advanced { file, done_bytes });
            self.download(&url, &facts, &blob, &mut advance)?;
            tell(ResolveEvent::Finished { file })?;
        }
        Ok(self.cache.link(&facts.etag, commit, file)?)
    }

    fn download(
        &self,
        url: &str,
        facts: &FileFacts,
        blob: &Path,
        advance: &mut dyn FnMut(u64) -> Result<(), ResolveError>,
    ) -> Result<(), ResolveError> {
        let incomplete = incomplete(blob);
        persist(|| self.append(url, facts, &incomplete, advance))?;
        if sha256::is_sha256(&facts.etag) {
            let found = sha256::of_file(&incomplete)?;
            if found != facts.etag {
                fs::remove_file(&incomplete).map_err(FileError::on("remove", &incomplete))?;
                return Err(ResolveError::Checksum {
                    path: blob.to_owned(),
                    expected: facts.etag.clone(),
                    found,
                });
            }
        }
        Ok(fs::rename(&incomplete, blob).map_err(FileError::on("rename to", blob))?)
    }

    /// Adds to `path` what it lacks of the file at `url`, and syncs it.
    fn append(
        &self,
        url: &str,
        facts: &FileFacts,
        path: &Path,
        advance: &mut dyn FnMut(u64) -> Result<(), ResolveError>,
    ) -> Result<(), ResolveError> {
        let mut file =
            File::options().append(true).create(true).open(path).map_err(FileError::on("create", path))?;
        let mut done_bytes = file.metadata().map_err(FileError::on("inspect", path))?.len();
        let restart = |file: &File| file.set_len(0).map_err(FileError::on("truncate", path));
        if facts.total_bytes.is_some_and(|total| done_bytes > total) {
            restart(&file)?;
            done_bytes = 0;
        }
        if facts.total_bytes != Some(done_bytes) || done_bytes == 0 {
            let response = self.client.get(url, (done_bytes > 0).then_some(done_bytes));
            if matches!(response, Err(ResolveError::Status { status: 416, .. })) {
                restart(&file)?;
            }
            let response = response?;
            let range = text_of(response.headers(), "content-range");
            let goes_on = response.status() == 206
                && range.is_some_and(|range| {
                    range.trim_start_matches("bytes ").starts_with(&format!("{done_bytes}-"))
                });
            if done_bytes > 0 && !goes_on {
                // A server that sends the whole file whatever part is asked for.
                restart(&file)?;
                done_bytes = 0;
            }
            let mut body = response.into_body().into_reader();
            let mut buffer = vec![0; 1 << 17];
            loop {
                let count = body.read(&mut buffer).map_err(|error| ResolveError::Network {
                    url: url.to_owned(),
                    source: Box::new(ureq::Error::Io(error)),
                })?;
                let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
                file.write_all(bytes).map_err(FileError::on("write", path))?;
                done_bytes += count as u64;
                advance(done_bytes)?;
            }
        }
        if let Some(total_bytes) = facts.total_bytes.filter(|total| *total != done_bytes) {
            return Err(ResolveError::Truncated { url: url.to_owned(), done_bytes, total_bytes });
        }
        Ok(file.sync_all().map_err(FileError::on("sync", path))?)
    }
}

fn incomplete(blob: &Path) -> PathBuf {
    let mut path = blob.to_owned().into_os_string();
    path.push(".incomplete");
    PathBuf::from(path)
}
