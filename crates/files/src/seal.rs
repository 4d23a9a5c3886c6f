//! JSON files that carry the checksum of their own bytes.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::{AtomicFile, Checksum, FileError};

/// Writes a JSON object with a seal, atomically.
///
/// # Errors
/// When it cannot be written.
pub fn write_sealed<T: Serialize>(path: &Path, object: &T) -> Result<(), FileError> {
    let failed = |error: io::Error| FileError::new("write", path, error);
    let json = serde_json::to_string_pretty(object).map_err(|error| failed(error.into()))?;
    let mut file = AtomicFile::create(path)?;
    file.write_all(sealed(&json).as_bytes()).map_err(failed)?;
    file.commit()
}

/// Puts the field `checksum` at the end of a pretty-printed JSON object that is not empty. It is the checksum
/// of all bytes before its line, and the bytes after it are fixed, so every byte of the file is guarded.
fn sealed(json: &str) -> String {
    let body = json.strip_suffix("\n}").unwrap_or(json).to_owned() + ",\n";
    let seal = seal_of(body.as_bytes());
    body + &seal
}

/// The last lines of an object with `body` before them.
fn seal_of(body: &[u8]) -> String {
    format!("  \"checksum\": \"{}\"\n}}\n", Checksum::of(body))
}

/// Whether `bytes` end in the seal of the bytes before it.
#[must_use]
pub fn is_sealed(bytes: &[u8]) -> bool {
    let seal_bytes = seal_of(b"").len();
    bytes
        .len()
        .checked_sub(seal_bytes)
        .and_then(|body_bytes| bytes.split_at_checked(body_bytes))
        .is_some_and(|(body, seal)| seal == seal_of(body).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{is_sealed, sealed};

    #[test]
    fn every_byte_is_guarded() {
        let whole = sealed("{\n  \"count\": 3\n}").into_bytes();
        assert!(is_sealed(&whole));
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            assert!(!is_sealed(&damaged), "byte {place}");
        }
        assert!(!is_sealed(b"") && !is_sealed(&whole[1..]) && !is_sealed(&whole[..whole.len() - 1]));
    }
}
