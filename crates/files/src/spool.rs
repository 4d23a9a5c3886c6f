//! Temporary files for work that takes more than one pass: copies of input that can be read only once, and
//! what a caller writes.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::{FileError, Input};

/// Keeps the file that [`spool`] or a [`Spool`] made; dropping the guard removes the file, and the input must
/// not be read after that.
///
/// On Linux the copy has no name in its directory, so it disappears however the process ends. On other
/// systems it has a name, and a killed process leaves it behind.
#[derive(Debug)]
#[must_use = "the copy is removed when the guard is dropped"]
pub struct SpoolGuard {
    _kept: Option<Kept>,
}

/// A temporary file. (The file is closed before its name is removed, as Windows wants it.)
#[derive(Debug)]
struct Kept {
    file: File,
    /// Removes the file. A file without a name disappears with its last descriptor.
    _name: Option<TempPath>,
}

/// A temporary file that is written, and then is an input.
#[derive(Debug)]
pub struct Spool {
    file: BufWriter<File>,
    name: Option<TempPath>,
    path: PathBuf,
    directory: PathBuf,
}

impl Spool {
    /// Creates the file in `directory`.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create(directory: &Path) -> Result<Self, FileError> {
        let (Kept { file, _name: name }, path) =
            create(directory).map_err(FileError::on("create a temporary file in", directory))?;
        Ok(Self {
            file: BufWriter::with_capacity(1 << 17, file),
            name,
            path,
            directory: directory.to_owned(),
        })
    }

    /// Writes `bytes` at the end.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.file.write_all(bytes).map_err(|error| Self::failed(&self.directory, error))
    }

    /// The file as an input that messages call `name`, as long as the guard lives.
    ///
    /// # Errors
    /// When the last bytes cannot be written.
    pub fn finish(self, name: impl Into<String>) -> Result<(Input, SpoolGuard), FileError> {
        let Self { file, name: file_name, path, directory } = self;
        let file = file.into_inner().map_err(|error| Self::failed(&directory, error.into_error()))?;
        let guard = SpoolGuard { _kept: Some(Kept { file, _name: file_name }) };
        Ok((Input::Spooled { path, name: name.into() }, guard))
    }

    fn failed(directory: &Path, error: io::Error) -> FileError {
        FileError::new("write a temporary file in", directory, error)
    }
}

/// An input that can be read any number of times, as long as the guard lives: a copy of `input` in
/// `directory`, byte for byte (compressed data stay compressed), if it [can be read only
/// once](Input::reads_once); else `input` itself. Messages, and the detection of formats by extension, use
/// the name of the original.
///
/// # Errors
/// When `input` cannot be opened or read, or the copy cannot be made or written.
pub fn spool(input: &Input, directory: &Path) -> Result<(Input, SpoolGuard), FileError> {
    if !input.reads_once() {
        return Ok((input.clone(), SpoolGuard { _kept: None }));
    }
    spool_from(input.open()?.0, input, directory)
}

/// Copies `raw`, the content of `input`.
fn spool_from(mut raw: impl Read, input: &Input, directory: &Path) -> Result<(Input, SpoolGuard), FileError> {
    let mut spool = Spool::create(directory)?;
    let mut buffer = vec![0; 1 << 17];
    // Not `io::copy`, whose error does not say which of the two files failed.
    loop {
        let read = match raw.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(input.error("read", error)),
        };
        spool.write(buffer.get(..read).unwrap_or_default())?;
    }
    spool.finish(input.to_string())
}

/// A temporary file in `directory`, and a path that opens it.
fn create(directory: &Path) -> io::Result<(Kept, PathBuf)> {
    if let Some(unnamed) = create_unnamed(directory)? {
        return Ok(unnamed);
    }
    let (file, path) = tempfile::Builder::new().prefix("toller-").tempfile_in(directory)?.into_parts();
    let named = path.to_path_buf();
    Ok((Kept { file, _name: Some(path) }, named))
}

/// A file without a name, which Linux opens again through the file descriptor; `None` where `/proc` is
/// missing.
#[cfg(target_os = "linux")]
fn create_unnamed(directory: &Path) -> io::Result<Option<(Kept, PathBuf)>> {
    use std::os::fd::AsRawFd;
    let file = tempfile::tempfile_in(directory)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    Ok(File::open(&path).is_ok().then(|| (Kept { file, _name: None }, path)))
}

/// A file without a name has no path that opens it here.
#[cfg(not(target_os = "linux"))]
fn create_unnamed(_directory: &Path) -> io::Result<Option<(Kept, PathBuf)>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::fs;
    use std::io::{self, Read};

    use toller_ir::Explain;

    use super::{spool, spool_from};
    use crate::{Input, InputReader};

    type Outcome = Result<(), Box<dyn Error>>;

    fn content(input: &Input) -> Result<Vec<u8>, Box<dyn Error>> {
        let mut read = Vec::new();
        InputReader::open(input)?.read_to_end(&mut read)?;
        Ok(read)
    }

    #[test]
    fn a_stream_reads_twice_and_leaves_nothing() -> Outcome {
        let directory = tempfile::tempdir()?;
        // Longer than the buffer.
        let text = "1\ttext\n".repeat(50_000).into_bytes();
        let (input, guard) = spool_from(text.as_slice(), &Input::Stdin, directory.path())?;
        assert!(!input.reads_once());
        assert_eq!((input.to_string(), input.plain_name()), ("standard input".to_owned(), None));
        assert_eq!(input.size_bytes(), Some(text.len() as u64));
        assert!(content(&input)? == text && content(&input)? == text);
        if cfg!(target_os = "linux") {
            assert_eq!(fs::read_dir(directory.path())?.count(), 0, "it has no name");
        }
        drop(guard);
        assert_eq!(fs::read_dir(directory.path())?.count(), 0);
        Ok(())
    }

    #[test]
    fn a_regular_file_is_not_copied() -> Outcome {
        let directory = tempfile::tempdir()?;
        let input = Input::File(directory.path().join("c.tsv"));
        let (missing, _guard) = spool(&input, directory.path())?;
        assert_eq!(missing, input, "opening it is to say that it is missing");
        fs::write(directory.path().join("c.tsv"), "1\ttext\n")?;
        let (regular, _guard) = spool(&input, directory.path())?;
        assert_eq!(regular, input);
        Ok(())
    }

    #[test]
    fn errors_tell_the_source_from_the_copy() -> Outcome {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the cable is out"))
            }
        }
        let directory = tempfile::tempdir()?;
        let error = spool_from(Failing, &Input::Stdin, directory.path()).err().ok_or("it fails")?;
        assert_eq!(error.to_string(), "cannot read standard input: the cable is out");
        assert_eq!(fs::read_dir(directory.path())?.count(), 0);
        let nowhere = directory.path().join("none");
        let error = spool_from(io::empty(), &Input::Stdin, &nowhere).err().ok_or("there is no directory")?;
        assert!(error.path == nowhere && error.remedy().is_some(), "{error}");
        Ok(())
    }
}
