//! The files of tests and benchmarks, looked up at run time: clones can share a target directory, so a test
//! may run in another clone than it was compiled in. And servers that tests talk to.

mod object_server;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

pub use object_server::{ACCESS_KEY, Fault, ObjectServer};

/// A file or folder of the repository, by its path from the root.
///
/// # Panics
/// If neither the package that cargo runs nor the working directory is in the repository.
#[must_use]
pub fn repository(path: &str) -> PathBuf {
    let start = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).or_else(|| env::current_dir().ok());
    let root = start.as_deref().and_then(root_above);
    root.expect("tests run in the repository, or by cargo").join(path)
}

/// The root of the repository that `folder` is in.
fn root_above(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|folder| folder.join("crates/testing/Cargo.toml").is_file())
}

/// A file or folder of the shared test data: in the folder that `TOLLER_SHARED` names, or else in `shared`
/// next to the repository. It may be missing.
#[must_use]
pub fn shared_path(path: &str) -> PathBuf {
    let named = env::var_os("TOLLER_SHARED").map(PathBuf::from);
    named.unwrap_or_else(|| repository("../shared")).join(path)
}

/// The same. If it is missing, prints that the test is skipped.
#[must_use]
#[allow(clippy::print_stderr, reason = "the test reports it")]
pub fn shared(path: &str) -> Option<PathBuf> {
    let found = shared_path(path);
    if found.exists() {
        return Some(found);
    }
    eprintln!(
        "skipped: {} is not there (TOLLER_SHARED names the folder of shared test data)",
        found.display()
    );
    None
}

/// The Python of the programs that Toller is compared with, if it can import these modules: what
/// `TOLLER_PEERS_PYTHON` names, or what scripts/peers made.
#[must_use]
pub fn peers(modules: &str) -> Option<PathBuf> {
    let caches =
        env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cache")));
    let made = caches.map(|caches| caches.join("toller/peers/bin/python"));
    let python = env::var_os("TOLLER_PEERS_PYTHON").map(PathBuf::from).or(made);
    python.filter(|python| {
        let imported = Command::new(python).args(["-c", &format!("import {modules}")]).output();
        imported.is_ok_and(|imported| imported.status.success())
    })
}

/// Every file below `directory`: its path there, and its content.
///
/// # Errors
/// When the directory or a file cannot be read.
pub fn files(directory: &Path) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            let below = files(&entry.path())?;
            found.extend(below.into_iter().map(|(path, bytes)| (format!("{name}/{path}"), bytes)));
        } else {
            found.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{repository, root_above, shared, shared_path};

    #[test]
    fn the_repository_is_found_from_within() {
        let root = repository("");
        assert!(root.join("Cargo.lock").is_file());
        assert_eq!(root_above(&root.join("crates/testing/src")), Some(root.join("").as_path()));
        assert_eq!(root_above(&std::env::temp_dir()), None);
    }

    #[test]
    fn what_is_not_there_is_skipped() {
        assert_eq!(shared("no-such-file"), None);
        assert!(shared_path("no-such-file").ends_with("no-such-file"));
    }
}
