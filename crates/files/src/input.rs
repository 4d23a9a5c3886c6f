//! Where input comes from.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::object::object_stores;
use crate::{Compression, FileError, Object, Stamp, WatchedFile, is_object_url};

/// Where bytes come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input, `-` on the command line.
    Stdin,
    /// An object of an object store: its URL.
    Object(String),
    /// A copy of what can be read only once; [`spool`](crate::spool) makes it.
    Spooled {
        /// Where the copy is.
        path: PathBuf,
        /// The name of the original in messages: its path as given, or "standard input".
        name: String,
    },
}

/// What messages call standard input.
const STDIN_NAME: &str = "standard input";

impl Input {
    /// Reads a command line argument: `-` is standard input, a URL of an object store is an object,
    /// everything else is a path (a file called `-` is `./-`).
    #[must_use]
    pub fn parse(argument: impl Into<PathBuf>) -> Self {
        let path = argument.into();
        match path.to_str() {
            Some("-") => Self::Stdin,
            Some(url) if is_object_url(url) => Self::Object(url.to_owned()),
            _ => Self::File(path),
        }
    }

    /// The path to read from, which for a spooled input is the copy's; `None` for standard input and objects.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) | Self::Spooled { path, .. } => Some(path),
            Self::Stdin | Self::Object(_) => None,
        }
    }

    /// The object, if this is one.
    ///
    /// # Errors
    /// When the object does not exist or cannot be reached.
    pub fn object(&self) -> Result<Option<Arc<dyn Object>>, FileError> {
        let Self::Object(url) = self else { return Ok(None) };
        let opened = object_stores().and_then(|client| client.open(url));
        opened.map(Some).map_err(|error| self.error("open", io::Error::other(error)))
    }

    /// The file's name without its directories; of a spooled input, the name of what it is a copy of. `None`
    /// for standard input and for names that are not UTF-8.
    #[must_use]
    pub fn file_name(&self) -> Option<&str> {
        let path = match self {
            Self::File(path) => path,
            Self::Object(url) => Path::new(url),
            Self::Spooled { name, .. } if name != STDIN_NAME => Path::new(name),
            Self::Spooled { .. } | Self::Stdin => return None,
        };
        path.file_name()?.to_str()
    }

    /// The file's name without the extension of its compression: `corpus.tsv` for
    /// `data/corpus.tsv.gz`. `None` for standard input, spooled or not, and for names that are not UTF-8.
    #[must_use]
    pub fn plain_name(&self) -> Option<&str> {
        let name = self.file_name()?;
        let compressed = name.rsplit_once('.').filter(|_| Compression::of_name(name) != Compression::Plain);
        Some(compressed.map_or(name, |(plain, _)| plain))
    }

    /// The size in bytes as stored, for regular files and objects.
    #[must_use]
    pub fn size_bytes(&self) -> Option<u64> {
        if let Some(object) = self.object().ok()? {
            return Some(object.stamp().bytes);
        }
        let metadata = fs::metadata(self.path()?).ok()?;
        metadata.is_file().then_some(metadata.len())
    }

    /// The size and age of what is there; `None` for standard input.
    ///
    /// # Errors
    /// When there is nothing, or it cannot be reached.
    pub fn stamp(&self) -> Result<Option<Stamp>, FileError> {
        if let Some(object) = self.object()? {
            return Ok(Some(object.stamp()));
        }
        let Some(path) = self.path() else { return Ok(None) };
        let metadata = fs::metadata(path).map_err(|error| self.error("open", error))?;
        Ok(Some(Stamp::of(&metadata)))
    }

    /// Whether this can be read only once: standard input, or an existing file that is not a regular one (a
    /// named pipe, the `/dev/fd/63` of a process substitution, a device). [`spool`](crate::spool) makes a
    /// copy that can be read again. (Opening reports missing files and directories.)
    #[must_use]
    pub fn reads_once(&self) -> bool {
        let Some(path) = self.path() else { return *self == Self::Stdin };
        fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
    }

    /// The bytes as stored, and the file that they come from, if it is a regular one.
    pub(crate) fn open(&self) -> Result<(Box<dyn Read + Send>, Option<WatchedFile>), FileError> {
        if let Some(object) = self.object()? {
            return Ok((object.reader(), None));
        }
        let Some(path) = self.path() else { return Ok((Box::new(io::stdin()), None)) };
        let open = |error| self.error("open", error);
        let file = File::open(path).map_err(open)?;
        let metadata = file.metadata().map_err(open)?;
        // On Unix a directory opens and fails only when it is read.
        if metadata.is_dir() {
            return Err(open(io::ErrorKind::IsADirectory.into()));
        }
        if !metadata.is_file() {
            return Ok((Box::new(file), None));
        }
        let watched = WatchedFile::new(file, &metadata);
        Ok((Box::new(watched.clone()), Some(watched)))
    }

    /// An error of `action` ("open", "read") on this input.
    #[must_use]
    pub fn error(&self, action: &'static str, source: io::Error) -> FileError {
        FileError::new(action, self.to_string(), source)
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Stdin => f.write_str(STDIN_NAME),
            Self::Object(name) | Self::Spooled { name, .. } => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use toller_ir::Explain;

    use super::Input;

    #[test]
    fn a_dash_is_standard_input() {
        assert_eq!(Input::parse("-"), Input::Stdin);
        assert_eq!(Input::parse("./-"), Input::File("./-".into()));
        assert_eq!(Input::parse("s3:/bucket/a"), Input::File("s3:/bucket/a".into()));
    }

    #[test]
    fn a_url_is_an_object() {
        let object = Input::parse("gs://bucket/a/corpus.jsonl.gz");
        assert_eq!(object, Input::Object("gs://bucket/a/corpus.jsonl.gz".to_owned()));
        assert_eq!((object.plain_name(), object.path()), (Some("corpus.jsonl"), None));
        assert!(!object.reads_once());
        let error = object.stamp().err();
        let remedy = error.as_ref().and_then(Explain::remedy).map(|remedy| remedy.to_string());
        assert_eq!(remedy.as_deref(), Some("copy the object to a file first"), "{error:?}");
    }

    #[test]
    fn the_plain_name_has_no_compression() {
        assert_eq!(Input::parse("a/corpus.tsv.GZ").plain_name(), Some("corpus.tsv"));
        assert_eq!(Input::parse("corpus.jsonl.zst").plain_name(), Some("corpus.jsonl"));
        assert_eq!(Input::parse("corpus.tsv").plain_name(), Some("corpus.tsv"));
        assert_eq!(Input::parse("part-00").plain_name(), Some("part-00"));
        assert_eq!(Input::Stdin.plain_name(), None);
    }

    #[test]
    fn a_copy_goes_by_the_name_of_the_original() {
        let spooled = |name: &str| Input::Spooled { path: "/proc/self/fd/7".into(), name: name.to_owned() };
        let pipe = spooled("dir/corpus.jsonl.gz");
        assert_eq!(pipe.to_string(), "dir/corpus.jsonl.gz");
        assert_eq!(pipe.plain_name(), Some("corpus.jsonl"));
        let stdin = spooled(&Input::Stdin.to_string());
        assert_eq!((stdin.to_string(), stdin.plain_name()), (Input::Stdin.to_string(), None));
    }

    #[test]
    fn what_reads_once() -> Result<(), Box<dyn std::error::Error>> {
        let file = tempfile::NamedTempFile::new()?;
        assert!(Input::Stdin.reads_once());
        assert!(!Input::File(file.path().into()).reads_once());
        assert!(!Input::File(std::env::temp_dir()).reads_once());
        assert!(!Input::File("no/such/file".into()).reads_once());
        #[cfg(unix)]
        assert!(Input::File("/dev/null".into()).reads_once());
        Ok(())
    }
}
