//! Directories whose files appear together.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::unfinished::Unfinished;
use crate::{DirectoryLock, FileError, names_in, parent, sync_directory, unfinished};

/// A directory that is filled in a temporary directory inside it. [`StagedDirectory::commit`] moves all files
/// to their places; without it, none stays. After `kill -9` a hidden `.staged.RANDOM.tmp` may stay, which the
/// next writer removes.
#[derive(Debug)]
pub struct StagedDirectory {
    destination: PathBuf,
    lock: Option<DirectoryLock>,
    staged: TempDir,
    _unfinished: Unfinished,
}

/// What temporary directories are called.
const STAGED: &str = "staged";

impl StagedDirectory {
    /// Begins to fill `destination`, which is created if necessary; `None` if it holds anything.
    ///
    /// # Errors
    /// When it cannot be created or listed, and when another process is writing it.
    pub fn create(destination: &Path) -> Result<Option<Self>, FileError> {
        let busy = || io::Error::new(io::ErrorKind::ResourceBusy, "another process is writing it");
        let lock = DirectoryLock::acquire(destination)?;
        let lock = lock.ok_or_else(|| FileError::new("write", destination, busy()))?;
        let names = names_in(destination)?;
        let is_left = |name: &&String| unfinished(name) == Some(STAGED);
        if names.iter().any(|name| name != DirectoryLock::FILE && !is_left(&name)) {
            // A file that stays is harmless: it is not locked.
            let _ = lock.remove();
            return Ok(None);
        }
        for name in names.iter().filter(is_left) {
            let path = destination.join(name);
            fs::remove_dir_all(&path).map_err(FileError::on("remove", &path))?;
        }
        let create = || {
            tempfile::Builder::new()
                .prefix(&format!(".{STAGED}."))
                .rand_bytes(6)
                .suffix(".tmp")
                .tempdir_in(destination)
        };
        let (staged, _unfinished) =
            Unfinished::create(create, TempDir::path).map_err(FileError::on("create", destination))?;
        Ok(Some(Self { destination: destination.to_owned(), lock: Some(lock), staged, _unfinished }))
    }

    /// Where the files are written.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.staged.path()
    }

    /// Moves everything to its place, durably. `last` says by its name what makes the directory complete.
    ///
    /// # Errors
    /// When something cannot be moved; then what was moved is taken back.
    pub fn commit(self, last: &str) -> Result<(), FileError> {
        let mut names = names_in(self.staged.path())?;
        names.sort_by_key(|name| name == last);
        let (staged, destination) = (self.staged.path(), &*self.destination);
        for (place, name) in names.iter().enumerate() {
            let path = destination.join(name);
            if let Err(error) = fs::rename(staged.join(name), &path) {
                for moved in &names[..place] {
                    // What cannot be taken back stays, as after a kill.
                    let _ = fs::rename(destination.join(moved), staged.join(moved));
                }
                return Err(FileError::new("rename", path, error));
            }
        }
        sync_directory(destination)?;
        // A folder that may only be passed through cannot be opened.
        let _ = sync_directory(parent(destination));
        Ok(())
    }
}

impl Drop for StagedDirectory {
    fn drop(&mut self) {
        // What cannot be removed is left to the next writer.
        let _ = fs::remove_dir_all(self.staged.path());
        let _ = self.lock.take().map(DirectoryLock::remove);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::StagedDirectory;
    use crate::names_in;

    #[test]
    fn files_appear_together_or_not_at_all() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let destination = folder.path().join("a/b");
        let fill = |staged: &StagedDirectory| fs::write(staged.path().join("weights"), b"1");
        let staged = StagedDirectory::create(&destination)?.ok_or("it is new")?;
        fill(&staged)?;
        assert!(StagedDirectory::create(&destination).unwrap_err().to_string().contains("another process"));
        drop(staged);
        assert!(!destination.exists(), "without a commit, nothing stays");

        // What a killed writer left.
        fs::create_dir_all(destination.join(".staged.aB3xYz.tmp/deep"))?;
        let staged = StagedDirectory::create(&destination)?.ok_or("nothing of use is there")?;
        fill(&staged)?;
        fs::create_dir(staged.path().join("tower"))?;
        staged.commit("weights")?;
        assert_eq!(names_in(&destination)?, ["tower", "weights"]);
        assert!(StagedDirectory::create(&destination)?.is_none(), "it holds something");
        Ok(())
    }
}
