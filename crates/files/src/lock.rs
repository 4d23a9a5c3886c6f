//! The exclusive right to write a directory.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::FileError;

/// An empty file that the writing process locks.
const LOCK: &str = ".lock";

/// An exclusive right to write a directory. The system revokes it when the process ends in any way.
#[derive(Debug)]
pub struct DirectoryLock {
    file: File,
}

impl DirectoryLock {
    /// The name of the locked file in the directory; the file stays when the lock is released.
    pub const FILE: &str = LOCK;

    /// The action of a [`FileError`] that comes from locking.
    pub const ACTION: &str = "lock";

    /// Locks `directory`, which exists; `None` if another process holds the lock.
    ///
    /// # Errors
    /// When the file cannot be created or the file system has no locks.
    pub fn acquire(directory: &Path) -> Result<Option<Self>, FileError> {
        let path = directory.join(LOCK);
        let file =
            File::options().create(true).append(true).open(&path).map_err(FileError::on("create", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(FileError::new(Self::ACTION, path, error)),
        }
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // Closing is not enough: a child process that is just being started may hold the file open too. If
        // this fails, the lock is released when the last process closes the file.
        let _ = self.file.unlock();
    }
}
