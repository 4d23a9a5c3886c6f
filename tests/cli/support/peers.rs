//! The Python environment of the programs that toller is compared with, where it is.

use std::path::PathBuf;

/// The Python that has FAISS, NumPy and pyarrow. `None`, with a line on stderr, if it is not on this machine.
pub(crate) fn peers_python() -> Option<PathBuf> {
    let found = toller_testing::peers("faiss, numpy, pyarrow.parquet");
    if found.is_none() {
        eprintln!("skipped: FAISS, NumPy and pyarrow are not here (scripts/peers installs them)");
    }
    found
}
