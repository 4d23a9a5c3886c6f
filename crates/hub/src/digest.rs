//! Checksums of files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sha2::Digest;
use toller_files::FileError;

/// The digest `D` of a file's bytes, in lowercase hexadecimal.
pub(crate) fn of_file<D: Digest>(path: &Path) -> Result<String, FileError> {
    let mut file = File::open(path).map_err(FileError::on("open", path))?;
    let mut digest = D::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        let count = file.read(&mut buffer).map_err(FileError::on("read", path))?;
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        digest.update(bytes);
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether `text` is a sha256 in lowercase hexadecimal.
pub(crate) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
