//! Files in memory, as the system pages them in.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

use crate::FileError;

/// Maps a file, to be read. `path` is for the error. An empty file has an empty map.
///
/// Files of Toller's own are replaced by renaming or have no name, so a mapped one stays as it is, even after
/// it is replaced or removed. Files of others have to stay as they are while they are mapped: the system ends
/// a program that reads what another one cut off.
///
/// # Errors
/// When the system refuses.
pub fn map(file: &File, path: &Path) -> Result<Mmap, FileError> {
    // SAFETY: Toller only reads mapped files, and never changes one in place. The user has to keep other
    // programs from changing them.
    unsafe { Mmap::map(file) }.map_err(FileError::on("map", path))
}
