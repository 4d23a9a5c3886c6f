//! The download of one file into the hub cache.
//!
//! The bytes go into `blobs/ETAG.incomplete`, which a later attempt continues. The file gets its final name
//! only when it has its full size, and its sha256 if the hub has announced one.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use toller_files::FileError;

use crate::cache::RepoCache;
use crate::client::{Client, FileFacts, Listing, text_of};
use crate::id::RepoId;
use crate::progress::report;
use crate::{OnEvent, ResolveError, ResolveEvent, ResolveOptions, sha256};

/// The largest file that is taken from a server that announces no size: ample for configuration and
/// vocabularies.
const UNANNOUNCED_LIMIT_BYTES: u64 = 64 << 20;

/// A repository that can be asked, and its part of the cache.
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
    pub(crate) fn list(&self) -> Result<Listing, ResolveError> {
        self.client.list(&self.id)
    }

    /// Makes a file of a commit appear in its snapshot.
    pub(crate) fn fetch(
        &self,
        commit: &str,
        file: &str,
        on_event: &mut OnEvent<'_>,
    ) -> Result<(), ResolveError> {
        let url = self.client.file_url(&self.id, commit, file);
        let facts = self.client.facts(&url)?;
        let blob = self.cache.blob(&facts.etag)?;
        let lock = self.cache.lock(&facts.etag, || report(on_event, ResolveEvent::Waiting { file }))?;
        if !blob.is_file() {
            report(on_event, ResolveEvent::Started { file, total_bytes: facts.total_bytes })?;
            let advance = &mut |done_bytes| report(on_event, ResolveEvent::Advanced { file, done_bytes });
            match lock {
                Some(_) => self.download(&url, &facts, &blob, &incomplete(&blob), advance)?,
                None => self.download_unlocked(&url, &facts, &blob, advance)?,
            }
            report(on_event, ResolveEvent::Finished { file })?;
        }
        Ok(self.cache.link(&facts.etag, commit, file)?)
    }

    /// Downloads a blob that other processes may be downloading too: into a file of its own, which cannot be
    /// continued later.
    fn download_unlocked(
        &self,
        url: &str,
        facts: &FileFacts,
        blob: &Path,
        advance: &mut dyn FnMut(u64) -> Result<(), ResolveError>,
    ) -> Result<(), ResolveError> {
        let folder = blob.parent().unwrap_or(blob);
        let own = tempfile::Builder::new()
            .prefix(&format!("{}.", facts.etag))
            .suffix(".incomplete")
            // A plain `File`, so that it gets the permissions of every other new file.
            .make_in(folder, |path| File::create_new(path))
            .map_err(FileError::on("create a file in", folder))?;
        self.download(url, facts, blob, own.path(), advance)
    }

    /// Downloads a blob by way of the file `incomplete`.
    fn download(
        &self,
        url: &str,
        facts: &FileFacts,
        blob: &Path,
        incomplete: &Path,
        advance: &mut dyn FnMut(u64) -> Result<(), ResolveError>,
    ) -> Result<(), ResolveError> {
        self.client.persist(|| self.append(url, facts, incomplete, advance))?;
        if sha256::is_sha256(&facts.etag) {
            let found = sha256::of_file(incomplete)?;
            if found != facts.etag {
                fs::remove_file(incomplete).map_err(FileError::on("remove", incomplete))?;
                return Err(ResolveError::Checksum {
                    path: blob.to_owned(),
                    expected: facts.etag.clone(),
                    found,
                });
            }
        }
        Ok(fs::rename(incomplete, blob).map_err(FileError::on("rename to", blob))?)
    }

    /// Appends the rest of the file at `url` to `path`, and syncs it. No more is written than was announced.
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
        let mut total_bytes = facts.total_bytes;
        if total_bytes.is_some_and(|total| done_bytes > total) {
            restart(&file)?;
            done_bytes = 0;
        }
        if total_bytes != Some(done_bytes) || done_bytes == 0 {
            let response = self.client.get(url, (done_bytes > 0).then_some(done_bytes));
            if matches!(response, Err(ResolveError::Status { status: 416, .. })) {
                restart(&file)?;
            }
            let response = response?;
            let range =
                text_of(response.headers(), "content-range").and_then(|range| range.strip_prefix("bytes "));
            let continues = response.status() == 206
                && range.is_some_and(|range| range.starts_with(&format!("{done_bytes}-")));
            if done_bytes > 0 && !continues {
                // The server sends the whole file, whatever part is requested.
                restart(&file)?;
                done_bytes = 0;
            }
            let rest_bytes =
                text_of(response.headers(), "content-length").and_then(|length| length.parse().ok());
            total_bytes = total_bytes.or_else(|| rest_bytes.map(|rest: u64| done_bytes.saturating_add(rest)));
            let limit_bytes = total_bytes.unwrap_or(UNANNOUNCED_LIMIT_BYTES);
            let mut body = response.into_body().into_reader();
            let mut buffer = vec![0; 1 << 17];
            loop {
                let count = body.read(&mut buffer).map_err(|error| ResolveError::Network {
                    url: url.to_owned(),
                    source: Box::new(ureq::Error::Io(error)),
                })?;
                let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
                done_bytes += count as u64;
                if done_bytes > limit_bytes {
                    restart(&file)?;
                    return Err(ResolveError::Oversized { url: url.to_owned(), limit_bytes });
                }
                file.write_all(bytes).map_err(FileError::on("write", path))?;
                advance(done_bytes)?;
            }
        }
        if let Some(total_bytes) = total_bytes.filter(|total| *total != done_bytes) {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]
mod tests {
    use std::fs;

    use super::Repo;
    use crate::cache::RepoCache;
    use crate::id::RepoId;
    use crate::tests::options;
    use crate::tests::stand_in::{COMMIT, StandIn};

    /// On a file system without locks two processes may download one file at the same time.
    #[test]
    fn without_locks_each_download_has_a_file_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let hub = StandIn::start(&[("model.safetensors", &[7; 300_000])]);
        let options = options(folder.path(), &hub.endpoint);
        let id = RepoId::parse("org/model").unwrap();
        let repo = Repo::new(&id, &RepoCache::new(&options.hub_cache, &id), &options).unwrap();
        let url = repo.client.file_url(&id, COMMIT, "model.safetensors");
        let facts = repo.client.facts(&url).unwrap();
        let blob = repo.cache.blob(&facts.etag).unwrap();
        let mut second = None;
        let first = repo.download_unlocked(&url, &facts, &blob, &mut |_| {
            second.get_or_insert_with(|| repo.download_unlocked(&url, &facts, &blob, &mut |_| Ok(())));
            Ok(())
        });
        assert!(first.is_ok() && second.is_some_and(|second| second.is_ok()));
        assert_eq!(fs::read(&blob).unwrap(), [7; 300_000]);
        assert_eq!(fs::read_dir(blob.parent().unwrap()).unwrap().count(), 1);
    }
}
