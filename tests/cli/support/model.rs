//! The real model, where it is.

use std::env;
use std::path::PathBuf;

/// The directory of all-MiniLM-L6-v2, where `TOLLER_MINILM` says or where scripts/get-minilm puts it.
/// `None`, with a line on stderr, if it is not on this machine.
pub(crate) fn minilm() -> Option<PathBuf> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from);
    let caches = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let cache = variable("TOLLER_CACHE").or_else(|| Some(caches?.join("toller")));
    let fetched = cache.map(|cache| cache.join("models/all-MiniLM-L6-v2"));
    let mut candidates = variable("TOLLER_MINILM").into_iter().chain(fetched);
    let found = candidates.find(|folder| folder.join("config.json").is_file());
    if found.is_none() {
        eprintln!("skipped: all-MiniLM-L6-v2 is not here (scripts/get-minilm gets it)");
    }
    found
}
