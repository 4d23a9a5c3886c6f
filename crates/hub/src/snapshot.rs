//! The files of one revision of a repository.

use std::path::PathBuf;

use toller_checkpoint::{ModuleEntry, read_modules, read_route};

use crate::cache::RepoCache;
use crate::client::Listing;
use crate::directory;
use crate::download::Repo;
use crate::id::RepoId;
use crate::listing::{DECISIVE_FILES, needed};
use crate::progress::report;
use crate::{Looked, OnEvent, ResolveError, ResolveEvent, ResolveOptions};

/// The files of a revision, on this machine.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The commit that the revision means.
    pub(crate) commit: String,
    /// The folder with the files.
    pub(crate) directory: PathBuf,
}

/// The revision's snapshot in the hub cache. If the snapshot is not complete, its missing files are
/// downloaded.
///
/// Other software caches parts of a model. The Python package `transformers`, for example, leaves out the
/// files of sentence-transformers, without which the same weights are another model. So a snapshot counts as
/// complete only if each of [`DECISIVE_FILES`] is present or recorded as absent. If that is unknown and the
/// hub cannot be asked, or the cache cannot be written, the snapshot is used as it is, and an event reports
/// this.
pub(crate) fn snapshot(
    repo_id: &RepoId,
    options: &ResolveOptions,
    looked: &mut Vec<Looked>,
    on_event: &mut OnEvent<'_>,
) -> Result<Snapshot, ResolveError> {
    let cache = RepoCache::new(&options.hub_cache, repo_id);
    let cached = match cached(&cache, repo_id) {
        Ok(snapshot) if is_settled(&cache, &snapshot) => return Ok(snapshot),
        Ok(snapshot) => Some(snapshot),
        Err(found) => {
            looked.push(Looked { place: cache.place(), found });
            None
        }
    };

    let asked = if options.offline {
        Err(ResolveError::Offline)
    } else {
        let repo = Repo::new(repo_id, &cache, options)?;
        repo.list().map(|listing| (repo, listing))
    };
    let found = asked.and_then(|(repo, listing)| download(&repo, &cache, repo_id, &listing, on_event));
    match (found, cached) {
        (Ok(snapshot), _) => Ok(snapshot),
        // A cache that many share may be closed to this user.
        (Err(error), Some(snapshot)) if is_silence(&error) || matches!(error, ResolveError::File(_)) => {
            report(on_event, ResolveEvent::Unconfirmed { reason: &error.to_string() })?;
            Ok(snapshot)
        }
        (Err(error), _) => Err(error),
    }
}

/// The snapshot in the cache if a model can be opened from it; otherwise what is wrong with it.
fn cached(cache: &RepoCache, repo_id: &RepoId) -> Result<Snapshot, String> {
    let missing = || format!("has no revision {}", repo_id.revision);
    let commit = cache.commit_of(&repo_id.revision).ok_or_else(missing)?;
    let directory = cache.snapshot(&commit);
    directory::check(&directory).map_err(|error| error.to_string())?;
    Ok(Snapshot { commit, directory })
}

/// Whether every file that decides what the model means is present or known to be absent.
fn is_settled(cache: &RepoCache, snapshot: &Snapshot) -> bool {
    DECISIVE_FILES
        .iter()
        .all(|file| snapshot.directory.join(file).is_file() || cache.is_known_absent(&snapshot.commit, file))
}

/// Whether the hub gave no answer, as opposed to a refusal. A proxy, or a page to log in, may answer in its
/// place.
fn is_silence(error: &ResolveError) -> bool {
    match error {
        ResolveError::Status { status, .. } => !matches!(status, 401 | 403 | 404),
        error => matches!(
            error,
            ResolveError::Offline
                | ResolveError::Network { .. }
                | ResolveError::Answer { .. }
                | ResolveError::Truncated { .. }
                | ResolveError::Oversized { .. }
        ),
    }
}

fn download(
    repo: &Repo,
    cache: &RepoCache,
    repo_id: &RepoId,
    listing: &Listing,
    on_event: &mut OnEvent<'_>,
) -> Result<Snapshot, ResolveError> {
    let commit = &listing.commit;
    let directory = cache.snapshot(commit);
    let has = |file: &str| listing.files.iter().any(|listed| listed == file);
    let mut fetch = |file: &str| {
        if directory.join(file).is_file() { Ok(()) } else { repo.fetch(commit, file, on_event) }
    };
    let modules = if has("modules.json") {
        fetch("modules.json")?;
        let entries = read_modules(&directory)?.unwrap_or_default();
        entries
            .iter()
            .filter_map(ModuleEntry::routes_file)
            .filter(|file| has(file))
            .try_for_each(|file| fetch(&file))?;
        read_route(&directory, None)?.unwrap_or_default()
    } else {
        Vec::new()
    };
    for file in needed(&listing.files, &modules) {
        fetch(file)?;
    }
    for file in DECISIVE_FILES.into_iter().filter(|file| !has(file)) {
        cache.note_absent(commit, file);
    }
    directory::check(&directory)?;
    cache.write_ref(&repo_id.revision, commit);
    Ok(Snapshot { commit: commit.clone(), directory })
}
