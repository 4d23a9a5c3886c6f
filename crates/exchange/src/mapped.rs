//! A file in memory, as the system pages it in.

use std::path::{Path, PathBuf};

use memmap2::Mmap;
use toller_files::{FileError, open_regular};

use crate::ExchangeError;

/// A mapped file.
pub(crate) struct Mapped {
    pub(crate) path: PathBuf,
    map: Mmap,
}

impl Mapped {
    pub(crate) fn open(path: &Path) -> Result<Self, ExchangeError> {
        let file = open_regular(path).map_err(FileError::on("open", path))?;
        // SAFETY: the file is only read. The user must not let another program truncate or change it
        // meanwhile, as with any memory map. The content is checked as bytes and never trusted as more.
        let map = unsafe { Mmap::map(&file) }.map_err(FileError::on("map", path))?;
        Ok(Self { path: path.to_owned(), map })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }
}
