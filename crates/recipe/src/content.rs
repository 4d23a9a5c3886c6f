//! Checksums of files and directories. They are computed again only when a file may have changed.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use toller_files::{Checksum, ChecksumHasher, DirectoryLock, FileError};

/// The checksums of files, with the metadata that the files had when the checksums were computed.
///
/// A file with the same size, times, inode and device counts as unchanged, if it had not been written for
/// [`SETTLED`] by then: within a tick of the clock it could have been written again and look the same. The
/// time of the last change of the metadata counts too: programs can set the time of modification, but not
/// this one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Contents {
    known: BTreeMap<String, Known>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Known {
    stamp: Stamp,
    checksum: Checksum,
}

/// The metadata of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    bytes: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
    inode: u64,
    device: u64,
}

/// How long a file must not have been written.
const SETTLED: Duration = Duration::from_secs(2);

/// The most levels of directories: more are a link that leads back.
const DEEPEST: usize = 64;

impl Contents {
    /// The checksum of a file's bytes, or of the names and checksums of all files in a directory except
    /// locks; `None` if the path does not exist.
    pub(super) fn checksum(&mut self, path: &Path) -> Result<Option<Checksum>, FileError> {
        let metadata = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            metadata => metadata.map_err(FileError::on("open", path))?,
        };
        if !metadata.is_dir() {
            return self.of_file(path, &metadata).map(Some);
        }
        let mut listing = ChecksumHasher::default();
        self.list(path, "", &mut listing, DEEPEST)?;
        Ok(Some(listing.finish()))
    }

    fn list(
        &mut self,
        directory: &Path,
        prefix: &str,
        listing: &mut ChecksumHasher,
        deepest: usize,
    ) -> Result<(), FileError> {
        let failed = FileError::on("list", directory);
        let entries = fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = entries.map_err(failed)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries.into_iter().filter(|entry| entry.file_name() != DirectoryLock::FILE) {
            let path = entry.path();
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let metadata = fs::metadata(&path).map_err(FileError::on("open", &path))?;
            if metadata.is_dir() {
                if deepest == 0 {
                    let error = io::Error::other("directories lie in each other without end");
                    return Err(FileError::new("list", path, error));
                }
                self.list(&path, &format!("{name}/"), listing, deepest - 1)?;
            } else {
                let checksum = self.of_file(&path, &metadata)?;
                listing.update(format!("{} {name}{checksum}", name.len()).as_bytes());
            }
        }
        Ok(())
    }

    fn of_file(&mut self, path: &Path, metadata: &Metadata) -> Result<Checksum, FileError> {
        if !metadata.is_file() {
            let error = io::Error::other("it is not a regular file, so its content may differ each time");
            return Err(FileError::new("read", path, error));
        }
        let stamp = Stamp::of(metadata);
        // Two ways to write a path are two entries: that costs time and nothing else.
        let absolute = std::path::absolute(path).map_err(FileError::on("open", path))?;
        let key = absolute.to_str();
        if let Some(known) = key.and_then(|key| self.known.get(key)).filter(|known| known.stamp == stamp) {
            return Ok(known.checksum);
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "decides whether a file is read again, and changes no output"
        )]
        let now = SystemTime::now();
        let checksum = hash(path).map_err(FileError::on("read", path))?;
        if let Some(key) = key {
            if stamp.is_settled(now) {
                self.known.insert(key.to_owned(), Known { stamp, checksum });
            } else {
                self.known.remove(key);
            }
        }
        Ok(checksum)
    }
}

impl Stamp {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            device: metadata.dev(),
        }
    }

    #[cfg(not(unix))]
    fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = modified.unwrap_or_default();
        let modified = (modified.as_secs() as i64, i64::from(modified.subsec_nanos()));
        Self { bytes: metadata.len(), modified, changed: modified, inode: 0, device: 0 }
    }

    /// Whether the file had not been written for long enough at `now`. A time in the future does not count.
    fn is_settled(&self, now: SystemTime) -> bool {
        let latest = self.modified.0.max(self.changed.0);
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(latest).is_ok_and(|latest| {
            // Fractions of a second are cut off, so one more second is required.
            now.saturating_sub(Duration::from_secs(latest + 1)) >= SETTLED
        })
    }
}

fn hash(path: &Path) -> io::Result<Checksum> {
    let mut file = File::open(path)?;
    let mut hasher = ChecksumHasher::default();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finish()),
            Ok(read) => hasher.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::fs::{self, File};
    use std::time::Duration;

    use super::{Contents, Stamp};

    #[test]
    fn content_decides_and_not_the_time() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&a, "text")?;
        fs::write(&b, "text")?;
        let mut contents = Contents::default();
        let first = contents.checksum(&a)?;
        assert!(first.is_some());
        assert_eq!(first, contents.checksum(&b)?);
        assert_eq!(contents.checksum(&folder.path().join("none"))?, None);
        // The same size and the same time of modification, and yet another file.
        let modified = fs::metadata(&a)?.modified()?;
        fs::write(&a, "next")?;
        File::options().write(true).open(&a)?.set_modified(modified)?;
        assert_ne!(first, contents.checksum(&a)?);
        Ok(())
    }

    #[test]
    fn a_file_that_was_just_written_is_not_trusted() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("file");
        fs::write(&file, "text")?;
        let mut contents = Contents::default();
        contents.checksum(&file)?;
        assert!(contents.known.is_empty());
        let metadata = fs::metadata(&file)?;
        let (stamp, written) = (Stamp::of(&metadata), metadata.modified()?);
        assert!(!stamp.is_settled(written + Duration::from_secs(1)));
        assert!(stamp.is_settled(written + Duration::from_secs(5)));
        Ok(())
    }

    #[test]
    fn a_directory_is_its_names_and_files() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let mut prints = Vec::new();
        let mut contents = Contents::default();
        let mut print = |prints: &mut Vec<_>| {
            let print = contents.checksum(folder.path())?;
            assert!(!prints.contains(&print));
            prints.push(print);
            Ok::<_, Box<dyn Error>>(())
        };
        print(&mut prints)?;
        fs::create_dir(folder.path().join("in"))?;
        fs::write(folder.path().join("in/a"), "1")?;
        print(&mut prints)?;
        fs::rename(folder.path().join("in/a"), folder.path().join("in/b"))?;
        print(&mut prints)?;
        fs::write(folder.path().join("in/b"), "2")?;
        print(&mut prints)?;
        // A lock is not content.
        fs::write(folder.path().join(".lock"), "")?;
        assert_eq!(contents.checksum(folder.path())?, prints[3]);
        Ok(())
    }
}
