//! The Python environment of the programs that toller is compared with, where it is.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// The Python that has FAISS, NumPy and pyarrow: what `TOLLER_PEERS_PYTHON` names, or what scripts/peers
/// made. `None`, with a line on stderr, if it is not on this machine.
pub(crate) fn peers_python() -> Option<PathBuf> {
    let caches =
        env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cache")));
    let made = caches.map(|caches| caches.join("toller/peers/bin/python"));
    let python = env::var_os("TOLLER_PEERS_PYTHON").map(PathBuf::from).or(made);
    let has_peers = |python: &PathBuf| {
        let imported = Command::new(python).args(["-c", "import faiss, numpy, pyarrow.parquet"]).output();
        imported.is_ok_and(|imported| imported.status.success())
    };
    let found = python.filter(has_peers);
    if found.is_none() {
        eprintln!("skipped: FAISS, NumPy and pyarrow are not here (scripts/peers installs them)");
    }
    found
}
