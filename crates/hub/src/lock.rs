//! Files that one process at a time may write.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use toller_files::FileError;

use crate::ResolveError;

/// How long to wait before a lock that another process holds is tried again.
const LOCK_INTERVAL: Duration = Duration::from_millis(100);

/// Locks a file, which is created if it is missing, until the result is dropped. `on_wait` is called again
/// and again while another process holds the lock. `None` on a file system without locks.
pub(crate) fn lock(
    path: &Path,
    mut on_wait: impl FnMut() -> Result<(), ResolveError>,
) -> Result<Option<File>, ResolveError> {
    let file = File::options().append(true).create(true).open(path);
    let file = file.map_err(FileError::on("create", path))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) => on_wait()?,
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                return Ok(None);
            }
            Err(TryLockError::Error(error)) => {
                return Err(FileError::new("lock", path, error).into());
            }
        }
        thread::sleep(LOCK_INTERVAL);
    }
}
