//! Files that programs keep for themselves: always regular ones. Opening a named pipe waits for its writer,
//! and a device may have no end.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Opens a file for reading.
///
/// # Errors
/// When it cannot be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    File::open(path)
}

/// The bytes of a file.
///
/// # Errors
/// As those of [`open_regular`], and when it cannot be read.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::read_regular;

    #[test]
    fn only_regular_files_are_opened() -> std::io::Result<()> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("file");
        fs::write(&path, "content")?;
        assert_eq!(read_regular(&path)?, b"content");
        assert!(read_regular(directory.path()).is_err());
        #[cfg(unix)]
        {
            let error = read_regular(std::path::Path::new("/dev/zero")).err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), Some("it is not a regular file"));
        }
        Ok(())
    }
}
