//! Reading the files of a model, which may be pointers of Git LFS: a clone without LFS has those in the place
//! of large files.

use std::path::Path;

use toller_files::{FileError, read_regular};

use crate::ModelError;

/// What every pointer begins with.
const POINTER: &[u8] = b"version https://git-lfs";

/// The content of a file.
///
/// # Errors
/// [`ModelError::File`], and [`ModelError::Pointer`].
pub fn read_file(path: &Path) -> Result<Vec<u8>, ModelError> {
    let content = read_regular(path).map_err(FileError::on("read", path))?;
    check_pulled(path, &content)?;
    Ok(content)
}

/// The content of a file of text.
///
/// # Errors
/// As for [`read_file`].
pub fn read_text(path: &Path) -> Result<String, ModelError> {
    let text = std::fs::read_to_string(path).map_err(FileError::on("read", path))?;
    check_pulled(path, text.as_bytes())?;
    Ok(text)
}

/// Refuses the content of a pointer.
pub(crate) fn check_pulled(path: &Path, content: &[u8]) -> Result<(), ModelError> {
    if content.starts_with(POINTER) { Err(ModelError::Pointer { path: path.to_owned() }) } else { Ok(()) }
}
