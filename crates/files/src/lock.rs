//! The exclusive right to write a directory.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::{FileError, names_in};

/// An empty file that the writing process locks.
const LOCK: &str = ".lock";

/// A try fails when another process removes the directory at that moment.
const TRIES: usize = 100;

/// An exclusive right to write a directory. The system revokes it when the process ends in any way.
#[derive(Debug)]
pub struct DirectoryLock {
    directory: PathBuf,
    file: File,
}

impl DirectoryLock {
    /// The name of the locked file in the directory; the file stays when the lock is released.
    pub const FILE: &str = LOCK;

    /// The action of a [`FileError`] that comes from locking.
    pub const ACTION: &str = "lock";

    /// Locks `directory`, which is created if necessary; `None` if another process holds the lock.
    ///
    /// # Errors
    /// When the directory or the file cannot be created, or the file system has no locks.
    pub fn acquire(directory: &Path) -> Result<Option<Self>, FileError> {
        let path = directory.join(LOCK);
        let mut tries = 1..TRIES;
        loop {
            let is_last = tries.next().is_none();
            match fs::create_dir_all(directory) {
                // Another process removed the directory after it was found.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !is_last => continue,
                made => made.map_err(FileError::on("create", directory))?,
            }
            let file = match File::options().create(true).append(true).open(&path) {
                // The same after it was made.
                Err(error) if error.kind() == io::ErrorKind::NotFound && !is_last => continue,
                file => file.map_err(FileError::on("create", &path))?,
            };
            match file.try_lock() {
                // Another process removed the file after it was opened: the lock would keep nobody out.
                Ok(()) if !is_at(&file, &path) => {
                    if is_last {
                        let gone = io::Error::new(
                            io::ErrorKind::NotFound,
                            "other processes remove it again and again",
                        );
                        return Err(FileError::new(Self::ACTION, path, gone));
                    }
                }
                Ok(()) => return Ok(Some(Self { directory: directory.to_owned(), file })),
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(FileError::new(Self::ACTION, path, error)),
            }
        }
    }

    /// Removes the locked file, and the directory if nothing else is in it. A process that locks the
    /// directory at the same time gets a new file.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn remove(self) -> Result<(), FileError> {
        let path = self.directory.join(LOCK);
        fs::remove_file(&path).map_err(FileError::on("remove", &path))?;
        self.remove_empty()
    }

    /// Removes the directory with its files. A process that locks the directory at the same time gets a new
    /// one.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn remove_directory(self) -> Result<(), FileError> {
        let names = names_in(&self.directory)?;
        // The locked file is the last: nobody writes here while it is there.
        for name in names.iter().map(String::as_str).filter(|name| *name != LOCK).chain([LOCK]) {
            let path = self.directory.join(name);
            fs::remove_file(&path).map_err(FileError::on("remove", &path))?;
        }
        self.remove_empty()
    }

    fn remove_empty(&self) -> Result<(), FileError> {
        match fs::remove_dir(&self.directory) {
            // It has files, or belongs to another process already.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotFound) =>
            {
                Ok(())
            }
            removed => removed.map_err(FileError::on("remove", &self.directory)),
        }
    }
}

/// Whether an open file is the one that a path names.
fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        let (open, named) = (file.metadata().map(identity), fs::metadata(path).map(identity));
        matches!((open, named), (Ok(open), Ok(named)) if open == named)
    }
    // There, an open file cannot be replaced.
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // Closing is not enough: a child process that is just being started may hold the file open too. If
        // this fails, the lock is released when the last process closes the file.
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::DirectoryLock;

    #[test]
    fn one_at_a_time() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let directory = folder.path().join("a/b");
        let first = DirectoryLock::acquire(&directory)?.ok_or("it is free")?;
        assert!(DirectoryLock::acquire(&directory)?.is_none());
        drop(first);
        assert!(DirectoryLock::acquire(&directory)?.is_some());
        Ok(())
    }

    #[test]
    fn a_removed_lock_leaves_the_files() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let directory = folder.path().join("a");
        DirectoryLock::acquire(&directory)?.ok_or("it is free")?.remove()?;
        assert!(!directory.exists());
        let lock = DirectoryLock::acquire(&directory)?.ok_or("it is free")?;
        fs::write(directory.join("file"), b"1")?;
        lock.remove()?;
        assert_eq!(crate::names_in(&directory)?, ["file"]);
        Ok(())
    }

    #[test]
    fn a_lock_that_is_held_is_in_a_directory_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("journal");
        let held = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut turns = 0;
                    while turns < 500 {
                        let Some(lock) = DirectoryLock::acquire(&directory).unwrap() else { continue };
                        assert!(!held.swap(true, Ordering::SeqCst), "two hold it");
                        fs::write(directory.join("scores.log"), b"1").unwrap();
                        held.store(false, Ordering::SeqCst);
                        lock.remove_directory().unwrap();
                        turns += 1;
                    }
                });
            }
        });
        assert!(!directory.exists());
    }
}
