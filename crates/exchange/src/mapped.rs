//! A file in memory, as the system pages it in.

use std::path::{Path, PathBuf};

use memmap2::Mmap;
use toller_files::{FileError, map, open_regular};

use crate::ExchangeError;

/// A mapped file.
pub(crate) struct Mapped {
    pub(crate) path: PathBuf,
    map: Mmap,
}

impl Mapped {
    pub(crate) fn open(path: &Path) -> Result<Self, ExchangeError> {
        let file = open_regular(path).map_err(FileError::on("open", path))?;
        // The content is checked as bytes and never trusted as more.
        Ok(Self { path: path.to_owned(), map: map(&file, path)? })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }
}
