//! The files of one revision of a repository.

use std::ops::ControlFlow;
use std::path::PathBuf;

use super::super::directory::{self, read_json};
use super::super::{Looked, ResolveError, ResolveEvent, ResolveOptions};
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
    let repo = Repo::new(repo_id, options)?;
    let cached = repo.cache.commit_of(&repo_id.revision).map(|commit| {
        let directory = repo.cache.snapshot(&commit);
        Snapshot { commit, directory }
    });
    let (usable, found) = match &cached {
        Some(snapshot) => match directory::check(&snapshot.directory) {
            Ok(()) => (true, String::new()),
            Err(error) => (false, error.to_string()),
        },
        None => (false, format!("has no revision {}", repo_id.revision)),
    };
    let cached = cached.filter(|_| usable);
    if let Some(snapshot) = cached.as_ref().filter(|snapshot| is_settled(&repo, snapshot)) {
        return Ok(Snapshot { commit: snapshot.commit.clone(), directory: snapshot.directory.clone() });
    }
    if !usable {
        looked.push(Looked { place: repo.cache.place(), found });
    }

    let listing = if options.offline { Err(ResolveError::Offline) } else { repo.list() };
    match (listing, cached) {
        (Ok(listing), _) => download(&repo, repo_id, &listing, on_event),
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

/// Whether nothing that decides what the model means can be missing.
fn is_settled(repo: &Repo, snapshot: &Snapshot) -> bool {
    DECISIVE_FILES.iter().all(|file| {
        snapshot.directory.join(file).is_file() || repo.cache.is_known_absent(&snapshot.commit, file)
    })
}

/// Whether the hub said nothing, as opposed to no.
fn is_silence(error: &ResolveError) -> bool {
    matches!(error, ResolveError::Offline | ResolveError::Network { .. } | ResolveError::Status { .. })
}

fn download(
    repo: &Repo,
    repo_id: &RepoId,
    listing: &Listing,
    on_event: &mut dyn FnMut(ResolveEvent<'_>) -> ControlFlow<()>,
) -> Result<Snapshot, ResolveError> {
    let commit = &listing.commit;
    let directory = repo.cache.snapshot(commit);
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
        repo.cache.note_absent(commit, file)?;
    }
    directory::check(&directory)?;
    repo.cache.write_ref(&repo_id.revision, commit)?;
    Ok(Snapshot { commit: commit.clone(), directory })
}
