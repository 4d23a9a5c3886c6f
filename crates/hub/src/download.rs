//! The download of one file into the hub cache.
//!
//! The bytes go into `blobs/ETAG.incomplete`, which a later attempt continues. The file gets its final name
//! only when it has its full size, and its sha256 if the hub has announced one.

use std::fs::{self, File};
use std::path::Path;

use sha2::Sha256;
use toller_files::FileError;

use crate::cache::RepoCache;
use crate::client::{Client, FileFacts, Listing};
use crate::id::RepoId;
use crate::progress::report;
use crate::transfer::{append, incomplete};
use crate::{OnEvent, ResolveError, ResolveEvent, ResolveOptions, digest};

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
        self.client.persist(|| append(&self.client, url, facts.total_bytes, incomplete, advance))?;
        if digest::is_sha256(&facts.etag) {
            let found = digest::of_file::<Sha256>(incomplete)?;
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
