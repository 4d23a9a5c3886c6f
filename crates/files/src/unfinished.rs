//! The temporary files and directories of this process, so that it can end without leaving any.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use toller_ir::locked;

static FILES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn files() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    locked(&FILES)
}

/// A temporary file or directory that is there as long as this value.
#[derive(Debug)]
pub(crate) struct Unfinished(PathBuf);

impl Unfinished {
    /// Lets `create` create it, unless the process ends now. `path` says where it is.
    pub(crate) fn create<T, E>(
        create: impl FnOnce() -> Result<T, E>,
        path: impl FnOnce(&T) -> &Path,
    ) -> Result<(T, Self), E> {
        let mut files = files();
        let created = create()?;
        let path = path(&created).to_owned();
        files.insert(path.clone());
        Ok((created, Self(path)))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        files().remove(&self.0);
    }
}

/// Removes what every [`crate::AtomicFile`] and [`crate::StagedDirectory`] of this process has written, then
/// ends it by `exit`. No other thread can create one meanwhile.
pub fn exit_without_unfinished<T>(exit: impl FnOnce() -> T) -> T {
    let files = files();
    for path in &*files {
        // It may be renamed already. What cannot be removed stays, as after any other end.
        let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
    }
    exit()
}
