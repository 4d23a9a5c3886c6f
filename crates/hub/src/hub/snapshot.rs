//! The files of one revision of a repository.

use std::ops::ControlFlow;
use std::path::PathBuf;

use super::super::directory::{self, read_json};
use super::super::{Looked, ResolveError, ResolveEvent, ResolveOptions};
use super::cache::RepoCache;
use super::client::Listing;
use super::download::Repo;
use super::id::RepoId;
use super::listing::{DECISIVE_FILES, needed};

/// The files of a revision, on this machine.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The commit that the revision stands for.
    pub(crate) commit: String,
    /// The folder with the files.
    pub(crate) directory: PathBuf,
}

/// The revision's snapshot in the hub cache if it is whole; otherwise what it lacks is downloaded first.
///
/// Other software caches parts of a model: transformers, for one, leaves out the files of
/// sentence-transformers, without which the same weights make another model. So a snapshot counts as
/// whole only when each file of [`DECISIVE_FILES`] is there, or on record as absent. Where that is
/// unknown and the hub cannot be asked, the snapshot is used as it is, with an event that says so.
pub(crate) fn snapshot(
    repo_id: &RepoId,
    options: &ResolveOptions,
    looked: &mut Vec<Looked>,
    on_event: &mut dyn FnMut(ResolveEvent<'_>) -> ControlFlow<()>,
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
    match (asked, cached) {
        (Ok((repo, listing)), _) => download(&repo, &cache, repo_id, &listing, on_event),
        (Err(error), Some(snapshot)) if is_silence(&error) => {
            let reason = error.to_string();
            match on_event(ResolveEvent::Unconfirmed { reason: &reason }) {
                ControlFlow::Continue(()) => Ok(snapshot),
                ControlFlow::Break(()) => Err(ResolveError::Interrupted),
            }
        }
        (Err(error), _) => Err(error),
    }
}

/// The snapshot in the cache if a model can be made of it; otherwise what is wrong with it.
fn cached(cache: &RepoCache, repo_id: &RepoId) -> Result<Snapshot, String> {
    let missing = || format!("has no revision {}", repo_id.revision);
    let commit = cache.commit_of(&repo_id.revision).ok_or_else(missing)?;
    let directory = cache.snapshot(&commit);
    directory::check(&directory).map_err(|error| error.to_string())?;
    Ok(Snapshot { commit, directory })
}

/// Whether nothing that decides what the model means can be missing.
fn is_settled(cache: &RepoCache, snapshot: &Snapshot) -> bool {
    DECISIVE_FILES
        .iter()
        .all(|file| snapshot.directory.join(file).is_file() || cache.is_known_absent(&snapshot.commit, file))
}

/// Whether the hub said nothing, as opposed to no.
fn is_silence(error: &ResolveError) -> bool {
    matches!(error, ResolveError::Offline | ResolveError::Network { .. } | ResolveError::Status { .. })
}

fn download(
    repo: &Repo,
    cache: &RepoCache,
    repo_id: &RepoId,
    listing: &Listing,
    on_event: &mut dyn FnMut(ResolveEvent<'_>) -> ControlFlow<()>,
) -> Result<Snapshot, ResolveError> {
    let commit = &listing.commit;
    let directory = cache.snapshot(commit);
    let has = |file: &str| listing.files.iter().any(|listed| listed == file);
    let mut fetch = |file: &str| {
        if directory.join(file).is_file() { Ok(()) } else { repo.fetch(commit, file, on_event) }
    };
    let modules = if has("modules.json") {
        fetch("modules.json")?;
        read_json(&directory.join("modules.json"))?
    } else {
        Vec::new()
    };
    for file in needed(&listing.files, &modules) {
        fetch(file)?;
    }
    for file in DECISIVE_FILES.into_iter().filter(|file| !has(file)) {
        cache.note_absent(commit, file)?;
    }
    directory::check(&directory)?;
    cache.write_ref(&repo_id.revision, commit)?;
    Ok(Snapshot { commit: commit.clone(), directory })
}
