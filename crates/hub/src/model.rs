//! From a name to a model's files.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::hub::RepoId;
use toller_checkpoint::KnownModel;

use super::{Looked, ResolveError, ResolveEvent, ResolveOptions, directory, hub, known};

/// The hub as a place that is looked in.
const THE_HUB: &str = "the hub";

/// A model whose files are on this machine.
#[derive(Clone, Debug)]
pub struct ModelSource {
    /// The directory with the files, in one of the layouts of sentence-transformers, transformers and DPR.
    pub directory: PathBuf,
    /// Where they come from.
    pub origin: Origin,
}

/// Where a model's files come from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// The directory that was named.
    Directory,
    /// A known model; every file has the checksum of its manifest.
    Known(Box<KnownModel>),
    /// A repository of the hub.
    Hub {
        /// Its id, `org/name`.
        id: String,
        /// The commit.
        commit: String,
    },
}

/// Resolves `name`, downloading what is missing: an existing directory, else the name (or the hub's
/// id) of a manifest in `models/`, else a Hugging Face id `org/name`, with `@revision` (a branch, a tag or a commit) after it
/// if it is not to be `main`.
///
/// A model that the hub cache holds is used without asking the hub; name a revision to pin it.
///
/// # Errors
/// When there is no such model ([`ResolveError::NotFound`] lists every place that was looked in), when
/// files are missing or damaged, when the hub refuses or breaks off, or when `on_event` breaks.
pub fn resolve_model(
    name: &str,
    options: &ResolveOptions,
    on_event: &mut dyn FnMut(ResolveEvent<'_>) -> ControlFlow<()>,
) -> Result<ModelSource, ResolveError> {
    let path = Path::new(name);
    if path.is_dir() {
        directory::check(path)?;
        return Ok(ModelSource { directory: path.to_owned(), origin: Origin::Directory });
    }
    if path.is_file() {
        return Err(ResolveError::IsAFile(path.to_owned()));
    }
    let mut looked = vec![Looked { place: format!("directory {name}"), found: "does not exist".to_owned() }];

    if let Some(model) = known::find(name)? {
        let directory = known::fetch(&model, options, &mut looked, on_event)
            .map_err(|error| not_found(name, looked, error))?;
        return Ok(ModelSource { directory, origin: Origin::Known(Box::new(model)) });
    }
    let near = known::nearest(name);
    let found = match near.is_empty() {
        true => "no such name; `toller models` lists the known ones".to_owned(),
        false => format!("no such name; near are {}", near.join(", ")),
    };
    looked.push(Looked { place: "models/".to_owned(), found });

    match RepoId::parse(name) {
        Ok(repo) => {
            let snapshot = hub::snapshot(&repo, options, &mut looked, on_event)
                .map_err(|error| not_found(name, looked, error))?;
            let origin = Origin::Hub { id: repo.id, commit: snapshot.commit };
            Ok(ModelSource { directory: snapshot.directory, origin })
        }
        Err(reason) => {
            looked.push(Looked { place: THE_HUB.to_owned(), found: format!("not asked: {reason}") });
            Err(ResolveError::NotFound { name: name.to_owned(), looked, cause: None })
        }
    }
}

/// The error of the hub as the last place of a search; an error of a file that was found stays as it is.
fn not_found(name: &str, mut looked: Vec<Looked>, error: ResolveError) -> ResolveError {
    match error {
        ResolveError::Offline
        | ResolveError::Refused { .. }
        | ResolveError::Absent { .. }
        | ResolveError::Network { .. }
        | ResolveError::Answer { .. } => {
            looked.push(Looked { place: THE_HUB.to_owned(), found: error.to_string() });
            ResolveError::NotFound { name: name.to_owned(), looked, cause: Some(Box::new(error)) }
        }
        _ => error,
    }
}
