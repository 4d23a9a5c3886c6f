//! Files that appear whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, IntoInnerError, Seek, Write};
use std::mem;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::FileError;
use crate::unfinished::Unfinished;

/// What every temporary file ends in.
const SUFFIX: &str = ".tmp";

/// How many random letters and digits a temporary file has in its name.
const RANDOM: usize = 6;

/// How many symbolic links are followed one after the other, as by Linux.
const MOST_LINKS: usize = 40;

/// A file that is written under a temporary name in its destination's directory and renamed to the
/// destination by [`AtomicFile::commit`], after the bytes have reached the disk. A reader sees the old file
/// or the new one, never a part. Any number of writers, in one process or several, can write one destination
/// at once: each has a temporary file of its own, and the last commit wins. Dropping without a commit removes
/// the temporary file.
///
/// A destination that exists and is not a regular file (`/dev/stdout`, `/dev/null`, a named pipe) is written
/// directly: renaming over it would replace the device. A symbolic link is followed, and its target replaced.
#[derive(Debug)]
pub struct AtomicFile {
    writer: Option<BufWriter<File>>,
    /// Where the bytes go before the commit; `None` when they are written directly.
    temporary: Option<Temporary>,
    destination: PathBuf,
}

/// A temporary file, and its entry in the list of those that are there.
type Temporary = (TempPath, Unfinished);

impl AtomicFile {
    /// Starts writing `destination`. The temporary file of `run.txt` is `.run.txt.RANDOM.tmp`, with six
    /// random characters. It is always a new file, never one that exists, nor one that a symbolic link leads
    /// to.
    ///
    /// # Errors
    /// When the temporary file cannot be created, or the destination is a directory or a read-only file.
    pub fn create(destination: impl Into<PathBuf>) -> Result<Self, FileError> {
        let destination = destination.into();
        if fs::metadata(&destination).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            let device = OpenOptions::new().write(true).open(&destination);
            let writer = buffered(device.map_err(FileError::on("open", &destination))?);
            return Ok(Self { writer: Some(writer), temporary: None, destination });
        }
        Self::replace(destination)
    }

    /// As [`AtomicFile::create`], but a device or a named pipe is replaced too: only files belong where a
    /// program keeps its files.
    ///
    /// # Errors
    /// As [`AtomicFile::create`].
    pub(crate) fn replace(destination: impl Into<PathBuf>) -> Result<Self, FileError> {
        let mut destination = destination.into();
        // Whether or not it is there: the file would only fail to get its name at the end.
        if destination.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(FileError::new("write", destination, io::ErrorKind::IsADirectory.into()));
        }
        match fs::metadata(&destination) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(FileError::new("write", destination, io::ErrorKind::IsADirectory.into()));
            }
            Ok(metadata) if metadata.permissions().readonly() => {
                let read_only = io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only");
                return Err(FileError::new("write", destination, read_only));
            }
            Ok(metadata) if metadata.is_file() => {
                // A path that is not a link stays as the caller wrote it.
                if fs::symlink_metadata(&destination).is_ok_and(|metadata| metadata.is_symlink()) {
                    destination =
                        fs::canonicalize(&destination).map_err(FileError::on("open", &destination))?;
                }
            }
            Ok(_) => {}
            // It does not exist, or creating the temporary file says what is wrong.
            Err(_) => {
                // Links to a file that does not exist yet.
                for _ in 0..MOST_LINKS {
                    let Ok(target) = fs::read_link(&destination) else { break };
                    destination = parent(&destination).join(target);
                }
            }
        }
        let mut prefix = OsString::from(".");
        prefix.push(destination.file_name().unwrap_or_default());
        prefix.push(".");
        let create = || {
            tempfile::Builder::new()
                .prefix(&prefix)
                .rand_bytes(RANDOM)
                .suffix(SUFFIX)
                // A plain `File`, so that it gets the permissions of every other new file.
                .make_in(parent(&destination), |path| File::create_new(path))
        };
        let (file, unfinished) =
            Unfinished::create(create, |file| file.path()).map_err(FileError::on("create", &destination))?;
        let (file, temporary) = file.into_parts();
        // A file that is replaced keeps its permissions: what is private stays so.
        if let Some(replaced) = fs::metadata(&destination).ok().filter(fs::Metadata::is_file) {
            let permissions = replaced.permissions();
            // Some file systems have one mode for all files, and refuse to set it.
            if file.metadata().is_ok_and(|new| new.permissions() != permissions) {
                file.set_permissions(permissions).map_err(FileError::on("create", &destination))?;
            }
        }
        Ok(Self { writer: Some(buffered(file)), temporary: Some((temporary, unfinished)), destination })
    }

    /// The path that the file will have.
    #[must_use]
    pub fn destination(&self) -> &Path {
        &self.destination
    }

    /// Flushes, syncs the file, renames it to the destination and syncs the directory.
    ///
    /// # Errors
    /// When a step fails. The destination is then as it was before, unless the last step failed: that the
    /// directory could not be synced.
    pub fn commit(self) -> Result<(), FileError> {
        self.complete()?.commit()
    }

    /// Flushes and syncs the file, which still has its temporary name: for files that belong together, which
    /// are renamed only when all are complete.
    ///
    /// # Errors
    /// When a step fails. The destination is then as it was before.
    pub fn complete(mut self) -> Result<CompleteFile, FileError> {
        let (temporary, destination) = (self.temporary.take(), mem::take(&mut self.destination));
        if let Some(writer) = self.writer.take() {
            let failed = |error: IntoInnerError<_>| FileError::new("write", &destination, error.into_error());
            let file = writer.into_inner().map_err(failed)?;
            if temporary.is_some() {
                file.sync_all().map_err(FileError::on("sync", &destination))?;
            }
        }
        Ok(CompleteFile { temporary, destination })
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
            // The bytes are abandoned, so they need not be flushed. The temporary file is removed after this.
            drop(writer.into_parts());
        }
    }
}

/// A file that has all its bytes and a temporary name. Dropping it without a commit removes it.
#[derive(Debug)]
#[must_use = "it is removed unless it is committed"]
pub struct CompleteFile {
    temporary: Option<Temporary>,
    destination: PathBuf,
}

impl CompleteFile {
    /// Where its bytes are until the commit.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &self.temporary {
            Some((temporary, _)) => temporary,
            None => &self.destination,
        }
    }

    /// Renames the file to the destination and syncs the directory.
    ///
    /// # Errors
    /// As those of [`AtomicFile::commit`].
    pub fn commit(self) -> Result<(), FileError> {
        let Some((temporary, _unfinished)) = self.temporary else { return Ok(()) };
        temporary
            .persist(&self.destination)
            .map_err(|error| FileError::new("rename to", &self.destination, error.error))?;
        sync_directory(parent(&self.destination))
    }
}

/// Renames files that belong together to their destinations. What they replace is removed before the first
/// one is renamed: a process that is killed in between leaves some of them, and no old file among new ones.
/// After an error, there is none of them.
///
/// # Errors
/// When a file that is replaced cannot be removed, and as [`CompleteFile::commit`].
pub fn commit_together(files: Vec<CompleteFile>) -> Result<(), FileError> {
    // One file is replaced in one step, and is there at any time.
    if files.len() > 1 {
        let mut replaced = files.iter().filter(|file| file.temporary.is_some());
        replaced.try_for_each(|file| remove_durably(&file.destination))?;
    }
    let mut renamed = Vec::new();
    for file in files {
        let destination = file.temporary.is_some().then(|| file.destination.clone());
        if let Err(error) = file.commit() {
            // What cannot be removed stays: the first error says more.
            renamed.iter().for_each(|path: &PathBuf| drop(remove_durably(path)));
            return Err(error);
        }
        renamed.extend(destination);
    }
    Ok(())
}

/// Removes a file if there is one, and makes that durable.
///
/// # Errors
/// When the file is there and cannot be removed.
pub fn remove_durably(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Ok(()) => sync_directory(parent(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(FileError::new("remove", path, error)),
    }
}

fn buffered(file: File) -> BufWriter<File> {
    BufWriter::with_capacity(1 << 20, file)
}

/// The folder that holds `path`.
#[must_use]
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes changes of names in a directory durable.
///
/// # Errors
/// When the directory cannot be opened or synced.
pub fn sync_directory(directory: &Path) -> Result<(), FileError> {
    if cfg!(unix) {
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(FileError::on("sync", directory))?;
    }
    Ok(())
}

/// The name of the file that a temporary file was to become: `run.txt` for `.run.txt.k3Xw0b.tmp`. `None` if
/// `name` is not that of a temporary file.
#[must_use]
pub fn unfinished(name: &str) -> Option<&str> {
    let (destination, random) = name.strip_prefix('.')?.strip_suffix(SUFFIX)?.rsplit_once('.')?;
    let is_random = random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_random.then_some(destination)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::path::PathBuf;
    use std::sync::Barrier;

    use toller_ir::Explain;

    use super::{AtomicFile, commit_together, unfinished};
    use crate::FileError;

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

    #[test]
    fn no_old_file_stays_among_new_ones() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let [first, second] = ["corpus", "qrels"].map(|name| directory.path().join(name));
        let complete = |content: &str| {
            let file = |path: &PathBuf| {
                let mut file = AtomicFile::create(path)?;
                file.write_all(content.as_bytes()).map_err(FileError::on("write", path))?;
                file.complete()
            };
            [&first, &second].into_iter().map(file).collect::<Result<Vec<_>, FileError>>()
        };
        commit_together(complete("old")?)?;
        commit_together(complete("newer")?)?;
        assert_eq!((fs::read(&first)?, fs::read(&second)?), (b"newer".to_vec(), b"newer".to_vec()));
        let files = complete("newest")?;
        // The last one cannot be renamed.
        fs::remove_file(&second)?;
        fs::create_dir(&second)?;
        assert!(commit_together(files).is_err());
        assert!(!first.exists(), "it is the new one, or the old one");
        fs::remove_dir(&second)?;
        let files = complete("newest")?;
        fs::remove_file(&files[1].temporary.as_ref().ok_or("a file")?.0)?;
        assert!(commit_together(files).is_err());
        assert!(!first.exists(), "one of two files is there");
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
    fn what_is_no_file_is_replaced_where_files_are_kept() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let socket = directory.path().join("shard-00000.safetensors");
        let _bound = std::os::unix::net::UnixListener::bind(&socket)?;
        let mut file = AtomicFile::replace(&socket)?;
        file.write_all(b"rows")?;
        file.commit()?;
        assert_eq!(fs::read(&socket)?, b"rows");
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
        // The same if the target does not exist yet, also behind several links.
        fs::remove_file(&target)?;
        let outer = directory.path().join("outer");
        std::os::unix::fs::symlink("link", &outer)?;
        let mut file = AtomicFile::create(&outer)?;
        file.write_all(b"made")?;
        file.commit()?;
        assert_eq!(fs::read(&target)?, b"made");
        assert!(fs::symlink_metadata(&link)?.is_symlink() && fs::symlink_metadata(&outer)?.is_symlink());
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn what_is_replaced_keeps_its_permissions() -> Result<(), Box<dyn std::error::Error>> {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("private");
        fs::write(&path, "old")?;
        let permit = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode));
        permit(0o600)?;
        let mut file = AtomicFile::create(&path)?;
        file.write_all(b"new")?;
        file.commit()?;
        assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
        permit(0o444)?;
        let refused = AtomicFile::create(&path).err().ok_or("it is read-only")?;
        assert!(refused.to_string().contains("read-only"), "{refused}");
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
        assert!(error.is_some_and(|error| error.contains("create no/such/directory/run.txt: ")));
    }

    #[test]
    fn writers_of_one_file_do_not_mix() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("run.txt");
        let barrier = Barrier::new(4);
        let write = |letter: u8| -> Result<(), FileError> {
            let mut file = AtomicFile::create(&path)?;
            barrier.wait();
            for _ in 0..64 {
                file.write_all(&[letter; 1 << 15]).map_err(FileError::on("write", &path))?;
            }
            barrier.wait();
            file.commit()
        };
        std::thread::scope(|scope| {
            let writers = [b'a', b'b', b'c', b'd'].map(|letter| scope.spawn(move || write(letter)));
            writers.map(|writer| writer.join().map_err(|_| "a writer panicked"))
        })
        .into_iter()
        .try_for_each(|written| Ok::<_, Box<dyn std::error::Error>>(written??))?;
        let bytes = fs::read(&path)?;
        assert_eq!(bytes.len(), 64 << 15);
        assert!(bytes.iter().all(|byte| *byte == bytes[0]), "it is a mix of several writers");
        assert_eq!(fs::read_dir(directory.path())?.count(), 1);
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn no_link_is_followed_and_the_umask_decides_who_may_read() -> Result<(), Box<dyn std::error::Error>> {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir()?;
        let [path, planted, victim, plain] =
            ["run.txt", "run.txt.tmp", "victim", "plain"].map(|name| directory.path().join(name));
        fs::write(&victim, "mine")?;
        std::os::unix::fs::symlink(&victim, &planted)?;
        let mut file = AtomicFile::create(&path)?;
        file.write_all(b"new")?;
        file.commit()?;
        assert_eq!((fs::read(&victim)?, fs::read(&path)?), (b"mine".to_vec(), b"new".to_vec()));
        assert!(fs::symlink_metadata(&planted)?.is_symlink(), "it belongs to someone else");
        fs::write(&plain, "")?;
        assert_eq!(fs::metadata(&path)?.permissions().mode(), fs::metadata(&plain)?.permissions().mode());
        Ok(())
    }

    #[test]
    fn an_unfinished_file_is_known_by_its_name() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let _file = AtomicFile::create(directory.path().join("shard-00000.bin"))?;
        let entry = fs::read_dir(directory.path())?.next().ok_or("it has a temporary file")??;
        let name = entry.file_name().into_string().map_err(|_| "its name is text")?;
        assert_eq!(unfinished(&name), Some("shard-00000.bin"), "{name}");
        for other in ["manifest.json.tmp", ".manifest.json.tmp", ".notes.of-mine.tmp", ".lock"] {
            assert_eq!(unfinished(other), None, "{other}");
        }
        Ok(())
    }
}
