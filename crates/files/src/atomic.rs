//! Files that appear whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use crate::FileError;

/// A file that is written under a temporary name beside its destination and renamed over it by
/// [`AtomicFile::commit`], after the bytes have reached the disk. A reader sees the old file or the
/// new one, never a part; dropping without a commit removes the temporary file.
///
/// A destination that exists and is no regular file (`/dev/stdout`, `/dev/null`, a named pipe) is written
/// directly: renaming over it would replace the device. A symbolic link is followed, and its target replaced.
#[derive(Debug)]
pub struct AtomicFile {
    writer: Option<BufWriter<File>>,
    /// Where the bytes go before the commit; `None` when they are written directly.
    temporary: Option<PathBuf>,
    destination: PathBuf,
}

impl AtomicFile {
    /// Starts writing `destination`. The temporary file is `destination` with `.tmp` appended; one
    /// that an interrupted process left behind is overwritten.
    ///
    /// # Errors
    /// When the temporary file cannot be created, or the destination is a directory.
    pub fn create(destination: impl Into<PathBuf>) -> Result<Self, FileError> {
        let mut destination = destination.into();
        match fs::metadata(&destination) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(FileError::new("write", destination, io::ErrorKind::IsADirectory.into()));
            }
            Ok(metadata) if metadata.is_file() => {
                // A path that is no link stays as the caller wrote it.
                if fs::symlink_metadata(&destination).is_ok_and(|metadata| metadata.is_symlink()) {
                    destination =
                        fs::canonicalize(&destination).map_err(FileError::on("open", &destination))?;
                }
            }
            Ok(_) => {
                let device = OpenOptions::new().write(true).open(&destination);
                let writer = buffered(device.map_err(FileError::on("open", &destination))?);
                return Ok(Self { writer: Some(writer), temporary: None, destination });
            }
            // It does not exist, or creating the temporary file says what is wrong.
            Err(_) => {}
        }
        let mut temporary = destination.clone().into_os_string();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        let file = File::create(&temporary).map_err(FileError::on("create", &temporary))?;
        Ok(Self { writer: Some(buffered(file)), temporary: Some(temporary), destination })
    }

    /// The path that the file will have.
    #[must_use]
    pub fn destination(&self) -> &Path {
        &self.destination
    }

    /// Flushes, syncs the file, renames it over the destination and syncs the directory.
    ///
    /// # Errors
    /// When a step fails; the destination is then as it was before.
    pub fn commit(mut self) -> Result<(), FileError> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let written = self.temporary.as_deref().unwrap_or(&self.destination);
        let finish = || -> Result<(), FileError> {
            let file =
                writer.into_inner().map_err(|error| FileError::new("write", written, error.into_error()))?;
            let Some(temporary) = &self.temporary else { return Ok(()) };
            file.sync_all().map_err(FileError::on("sync", temporary))?;
            drop(file);
            fs::rename(temporary, &self.destination)
                .map_err(FileError::on("rename to", &self.destination))?;
            sync_parent(&self.destination)
        };
        let finished = finish();
        if finished.is_err() {
            self.remove_temporary();
        }
        finished
    }

    /// Best effort: there is an error to report already, or nothing that could be done.
    fn remove_temporary(&self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }

    fn inner(&mut self) -> io::Result<&mut BufWriter<File>> {
        self.writer.as_mut().ok_or_else(|| io::Error::other("written to after the commit"))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner()?.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, position: io::SeekFrom) -> io::Result<u64> {
        self.inner()?.seek(position)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            // The bytes are abandoned, so they need not be flushed first.
            drop(writer.into_parts());
            self.remove_temporary();
        }
    }
}

fn buffered(file: File) -> BufWriter<File> {
    BufWriter::with_capacity(1 << 20, file)
}

/// Makes a rename in the directory of `path` durable.
#[cfg(unix)]
fn sync_parent(path: &Path) -> Result<(), FileError> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(parent).and_then(|directory| directory.sync_all()).map_err(FileError::on("sync", parent))
}

/// Directories cannot be synced here.
#[cfg(not(unix))]
fn sync_parent(_path: &Path) -> Result<(), FileError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use toller_ir::Explain;

    use super::AtomicFile;

    #[test]
    fn appears_whole_or_not_at_all() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("run.txt");

        let mut abandoned = AtomicFile::create(&path)?;
        abandoned.write_all(b"half")?;
        drop(abandoned);
        assert!(!path.exists());
        assert_eq!(fs::read_dir(directory.path())?.count(), 0);

        let mut file = AtomicFile::create(&path)?;
        file.write_all(b"whole")?;
        assert!(!path.exists());
        file.commit()?;
        assert_eq!(fs::read(&path)?, b"whole");
        assert_eq!(fs::read_dir(directory.path())?.count(), 1);
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_and_stays_one() -> Result<(), Box<dyn std::error::Error>> {
        use std::os::unix::fs::FileTypeExt;
        let directory = tempfile::tempdir()?;
        let link = directory.path().join("out");
        std::os::unix::fs::symlink("/dev/null", &link)?;
        let mut file = AtomicFile::create(&link)?;
        file.write_all(b"into the void")?;
        file.commit()?;
        assert!(fs::metadata(&link)?.file_type().is_char_device());
        assert!(fs::symlink_metadata(&link)?.is_symlink());
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn a_link_keeps_pointing_at_its_target() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let (target, link) = (directory.path().join("target"), directory.path().join("link"));
        fs::write(&target, "old")?;
        std::os::unix::fs::symlink(&target, &link)?;
        let mut file = AtomicFile::create(&link)?;
        file.write_all(b"new")?;
        file.commit()?;
        assert_eq!(fs::read(&target)?, b"new");
        assert!(fs::symlink_metadata(&link)?.is_symlink());
        Ok(())
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_with_a_hint() -> Result<(), Box<dyn std::error::Error>> {
        let mut file = AtomicFile::create("/dev/full")?;
        file.write_all(b"no room")?;
        let error = file.commit().err().ok_or("the disk is full")?;
        assert!(error.to_string().contains("/dev/full") && error.remedy().is_some(), "{error}");
        Ok(())
    }

    #[test]
    fn a_directory_is_refused_before_the_work() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        assert!(AtomicFile::create(directory.path()).is_err());
        Ok(())
    }

    #[test]
    fn an_error_names_the_file() {
        let error = AtomicFile::create("no/such/directory/run.txt").err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.contains("no/such/directory/run.txt.tmp")));
    }
}
