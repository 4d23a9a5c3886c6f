//! Where input comes from.

use std::fmt;
use std::fs;
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
}

impl Input {
    /// Reads a command line argument: `-` is standard input, all else a path (a file that is really
    /// called `-` is `./-`).
    #[must_use]
    pub fn parse(argument: impl Into<PathBuf>) -> Self {
        let path = argument.into();
        if path.as_os_str() == "-" { Self::Stdin } else { Self::File(path) }
    }

    /// The path, unless this is standard input.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Stdin => None,
        }
    }

    /// The file's name without the extension of its compression: `corpus.tsv` for
    /// `data/corpus.tsv.gz`. `None` for standard input and for names that are not UTF-8.
    #[must_use]
    pub fn plain_name(&self) -> Option<&str> {
        let name = self.path()?.file_name()?.to_str()?;
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
            Self::Stdin => f.write_str("standard input"),
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
}
