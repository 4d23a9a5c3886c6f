//! Where input comes from.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::FileError;

/// Where bytes come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input, `-` on the command line.
    Stdin,
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
    /// Reads a command line argument: `-` is standard input, everything else is a path (a file called `-` is
    /// `./-`).
    #[must_use]
    pub fn parse(argument: impl Into<PathBuf>) -> Self {
        let path = argument.into();
        if path.as_os_str() == "-" { Self::Stdin } else { Self::File(path) }
    }

    /// The path to read from, which for a spooled input is the copy's; `None` for standard input.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) | Self::Spooled { path, .. } => Some(path),
            Self::Stdin => None,
        }
    }

    /// The file's name without its directories; of a spooled input, the name of what it is a copy of. `None`
    /// for standard input and for names that are not UTF-8.
    pub(crate) fn file_name(&self) -> Option<&str> {
        let path = match self {
            Self::File(path) => path,
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
        let compressed = name.rsplit_once('.').filter(|(_, extension)| {
            ["gz", "zst", "xz"].iter().any(|known| extension.eq_ignore_ascii_case(known))
        });
        Some(compressed.map_or(name, |(plain, _)| plain))
    }

    /// The size in bytes as stored, for regular files.
    #[must_use]
    pub fn size_bytes(&self) -> Option<u64> {
        let metadata = fs::metadata(self.path()?).ok()?;
        metadata.is_file().then_some(metadata.len())
    }

    /// Whether this can be read only once: standard input, or an existing file that is not a regular one (a
    /// named pipe, the `/dev/fd/63` of a process substitution, a device). [`spool`](crate::spool) makes a
    /// copy that can be read again. (Opening reports missing files and directories.)
    #[must_use]
    pub fn reads_once(&self) -> bool {
        let Some(path) = self.path() else { return true };
        fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
    }

    /// The open file; `None` for standard input, which is open already.
    pub(crate) fn open_file(&self) -> Result<Option<File>, FileError> {
        let Some(path) = self.path() else { return Ok(None) };
        let open = |error| self.error("open", error);
        let file = File::open(path).map_err(open)?;
        // On Unix a directory opens and fails only when it is read.
        if file.metadata().map_err(open)?.is_dir() {
            return Err(open(io::ErrorKind::IsADirectory.into()));
        }
        Ok(Some(file))
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
            Self::Spooled { name, .. } => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Input;

    #[test]
    fn a_dash_is_standard_input() {
        assert_eq!(Input::parse("-"), Input::Stdin);
        assert_eq!(Input::parse("./-"), Input::File("./-".into()));
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
