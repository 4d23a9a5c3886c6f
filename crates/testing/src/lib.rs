//! The files of tests and benchmarks, looked up at run time: clones can share a target directory, so a test
//! may run in another clone than it was compiled in. And servers that tests talk to.

mod object_server;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fmt, fs, io};

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

/// What some tests need, and not every machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The shared test data.
    Shared,
    /// The model all-MiniLM-L6-v2.
    MiniLm,
    /// The programs that Toller is compared with.
    Peers,
    /// The right to mount a file system.
    Mount,
}

impl Need {
    /// Its name in `TOLLER_NEEDS`.
    fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::MiniLm => "minilm",
            Self::Peers => "peers",
            Self::Mount => "mount",
        }
    }
}

/// Says that a test is skipped, and why. What a test prints is shown only if the test fails; this is always
/// shown.
///
/// # Panics
/// If `TOLLER_NEEDS` names `need`: it is a list of what this machine must have, separated by commas.
pub fn skip(need: Need, why: impl fmt::Display) {
    let needs = env::var("TOLLER_NEEDS").unwrap_or_default();
    let (name, mut names) = (need.name(), needs.split(','));
    assert!(!names.any(|other| other == name), "TOLLER_NEEDS names {name}, but {why}");
    // There is no place to report that stderr is closed.
    let _ = io::stderr().write_all(format!("skipped: {why}\n").as_bytes());
}

/// The same as [`shared_path`]. If it is missing, the test is skipped.
#[must_use]
pub fn shared(path: &str) -> Option<PathBuf> {
    let found = shared_path(path);
    if found.exists() {
        return Some(found);
    }
    let folder = "TOLLER_SHARED names the folder of shared test data";
    skip(Need::Shared, format!("{} is not there ({folder})", found.display()));
    None
}

/// Where the caches of programs are.
fn caches() -> Option<PathBuf> {
    env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cache")))
}

/// The directory of all-MiniLM-L6-v2, where `TOLLER_MINILM` says or where scripts/get-minilm puts it. If it
/// is missing, the test is skipped.
#[must_use]
pub fn minilm() -> Option<PathBuf> {
    let cache = env::var_os("TOLLER_CACHE").map(PathBuf::from).or_else(|| Some(caches()?.join("toller")));
    let fetched = cache.map(|cache| cache.join("models/all-MiniLM-L6-v2"));
    let mut candidates = env::var_os("TOLLER_MINILM").map(PathBuf::from).into_iter().chain(fetched);
    let found = candidates.find(|folder| folder.join("config.json").is_file());
    if found.is_none() {
        skip(Need::MiniLm, "all-MiniLM-L6-v2 is not here (scripts/get-minilm gets it)");
    }
    found
}

/// The Python of the programs that Toller is compared with, if it can import these modules: what
/// `TOLLER_PEERS_PYTHON` names, or what scripts/peers made. If not, the test is skipped.
#[must_use]
pub fn peers(modules: &str) -> Option<PathBuf> {
    let made = || caches().map(|caches| caches.join("toller/peers/bin/python"));
    let python = env::var_os("TOLLER_PEERS_PYTHON").map(PathBuf::from).or_else(made);
    let python = python.filter(|python| {
        let imported = Command::new(python).args(["-c", &format!("import {modules}")]).output();
        imported.is_ok_and(|imported| imported.status.success())
    });
    if python.is_none() {
        skip(Need::Peers, format!("Python cannot import {modules} here (scripts/peers installs them)"));
    }
    python
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
    use std::env;
    use std::process::Command;

    use super::{repository, root_above, shared, shared_path};

    #[test]
    fn the_repository_is_found_from_within() {
        let root = repository("");
        assert!(root.join("Cargo.lock").is_file());
        assert_eq!(root_above(&root.join("crates/testing/src")), Some(root.join("").as_path()));
        assert_eq!(root_above(&std::env::temp_dir()), None);
    }

    #[test]
    #[ignore = "the test below runs it"]
    fn one_that_is_skipped() {
        assert_eq!(shared("no-such-file"), None);
        assert!(shared_path("no-such-file").ends_with("no-such-file"));
    }

    #[test]
    fn a_skip_is_shown_though_the_test_passes_and_fails_if_it_must_not_be() {
        let run = |needs: &str| {
            let mut test = Command::new(env::current_exe().unwrap());
            test.args(["--ignored", "--exact", "tests::one_that_is_skipped"]).env("TOLLER_NEEDS", needs);
            test.output().unwrap()
        };
        let skipped = run("minilm");
        assert!(skipped.status.success());
        let said = String::from_utf8(skipped.stderr).unwrap();
        assert!(said.contains("skipped: ") && said.contains("no-such-file is not there"), "{said}");
        assert!(!run("minilm,shared").status.success());
    }
}
