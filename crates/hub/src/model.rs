//! From a name to a model's files.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toller_checkpoint::KnownModel;

use crate::directory::Found;
use crate::id::RepoId;
use crate::snapshot::snapshot;
use crate::{Looked, OnEvent, ResolveError, ResolveOptions, adapter, directory, known};

/// The hub, as an error names it.
const THE_HUB: &str = "the hub";

/// A model whose files are on this machine.
#[derive(Clone, Debug)]
pub struct ModelSource {
    /// The directory with the files, in one of the layouts of sentence-transformers, transformers and DPR.
    pub directory: PathBuf,
    /// Where the files come from.
    pub origin: Origin,
    /// What is known of the model that an adapter changes.
    known_base: Option<Box<KnownModel>>,
}

impl ModelSource {
    /// What is known of the model beyond its files.
    #[must_use]
    pub fn known(&self) -> Option<Box<KnownModel>> {
        match &self.origin {
            Origin::Known(known) | Origin::Hub { known: Some(known), .. } => Some(known.clone()),
            Origin::Directory | Origin::Hub { known: None, .. } => self.known_base.clone(),
        }
    }
}

/// Where a model's files come from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// The name is the path of the directory.
    Directory,
    /// A known model. Every file has the checksum of the manifest, if the manifest has checksums.
    Known(Box<KnownModel>),
    /// A repository of the hub.
    Hub {
        /// Its id, `org/name`.
        id: String,
        /// The commit.
        commit: String,
        /// What is known of the model beyond its files, of any revision.
        known: Option<Box<KnownModel>>,
    },
}

/// Resolves `name`: an existing directory, else the name (or the hub's id) of a manifest in `models/`, else a
/// Hugging Face id `org/name` or `org/name@revision`. A revision is a branch, a tag or a commit; without one
/// it is `main`. Missing files are downloaded, if the options allow it.
///
/// A model in the hub cache is used without asking the hub. Name a revision to pin it.
///
/// # Errors
/// When there is no such model ([`ResolveError::NotFound`] lists every place where it was looked for), when
/// files are missing or damaged, when the hub refuses or the connection breaks, or when `on_event` stops the
/// resolution.
pub fn resolve_model(
    name: &str,
    options: &ResolveOptions,
    on_event: &mut OnEvent<'_>,
) -> Result<ModelSource, ResolveError> {
    let found = find(name, options, on_event)?;
    if !adapter::is_alone(&found.directory)? {
        return Ok(found);
    }
    let (directory, known_base) = adapter::with_base(&found.directory, options, on_event)?;
    Ok(ModelSource { directory, known_base, ..found })
}

/// The same without the model that an adapter changes.
pub(crate) fn find(
    name: &str,
    options: &ResolveOptions,
    on_event: &mut OnEvent<'_>,
) -> Result<ModelSource, ResolveError> {
    let path = Path::new(name);
    let found = match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            directory::check(path)?;
            return Ok(ModelSource {
                directory: path.to_owned(),
                origin: Origin::Directory,
                known_base: None,
            });
        }
        Ok(_) => return Err(ResolveError::IsAFile(path.to_owned())),
        // Somebody else's directory is closed, and may be there.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => error.to_string(),
        Err(_) => "does not exist".to_owned(),
    };
    let mut looked = vec![Looked { place: format!("directory {name}"), found }];

    if let Some(model) = known::find(name)? {
        let directory = known::fetch(&model, options, &mut looked, on_event)
            .map_err(|error| not_found(name, looked, error))?;
        return Ok(ModelSource { directory, origin: Origin::Known(Box::new(model)), known_base: None });
    }
    let near = known::nearest(name);
    let found = match near.is_empty() {
        true => "no such name; `toller models` lists the known ones".to_owned(),
        false => format!("no such name; similar names: {}", near.join(", ")),
    };
    looked.push(Looked { place: "models/".to_owned(), found });

    match RepoId::parse(name) {
        Ok(repo) => {
            let snapshot = snapshot(&repo, options, &mut looked, on_event)
                .map_err(|error| not_found(name, looked, error))?;
            let known = known::of_repo(&repo.id)?.map(Box::new);
            let origin = Origin::Hub { id: repo.id, commit: snapshot.commit, known };
            Ok(ModelSource { directory: snapshot.directory, origin, known_base: None })
        }
        Err(reason) => {
            looked.push(Looked { place: THE_HUB.to_owned(), found: format!("not asked: {reason}") });
            Err(ResolveError::NotFound { name: name.to_owned(), looked, cause: None })
        }
    }
}

/// The model whose files are in `directory`.
///
/// # Errors
/// When files are missing, also those of the model that an adapter changes.
pub fn resolve_directory(directory: &Path) -> Result<ModelSource, ResolveError> {
    match directory::check(directory)? {
        Found::Model => {
            Ok(ModelSource { directory: directory.to_owned(), origin: Origin::Directory, known_base: None })
        }
        Found::Adapter => Err(ResolveError::Adapter { directory: directory.to_owned() }),
    }
}

/// Adds the hub's error to the places where the model was looked for. Any other error stays as it is.
fn not_found(name: &str, mut looked: Vec<Looked>, error: ResolveError) -> ResolveError {
    match error {
        ResolveError::Offline
        | ResolveError::Status { status: 401 | 403 | 404, .. }
        | ResolveError::Network { .. }
        | ResolveError::Answer { .. } => {
            looked.push(Looked { place: THE_HUB.to_owned(), found: error.to_string() });
            ResolveError::NotFound { name: name.to_owned(), looked, cause: Some(Box::new(error)) }
        }
        _ => error,
    }
}
