//! Who may ask: keys from a file, compared in constant time.

use std::path::Path;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use subtle::{Choice, ConstantTimeEq};
use toller_files::FileError;

use crate::ServerError;

/// What the owner of a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rights {
    /// Ask.
    Read,
    /// Ask, and reload the collection.
    Admin,
}

/// Keys and their owners' rights. Only hashes are kept.
#[derive(Clone, Debug)]
pub struct Keys(Vec<([u8; 32], Rights)>);

impl Keys {
    /// Reads a file of keys: in each line `read KEY` or `admin KEY`. Empty lines, and lines that begin with
    /// `#`, are left out.
    ///
    /// # Errors
    /// A file that cannot be read or has no key; a line of another form.
    pub fn read(path: &Path) -> Result<Self, ServerError> {
        let bytes = std::fs::read(path).map_err(FileError::on("read", path))?;
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
        let mut keys = Vec::new();
        for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            let bad = || ServerError::KeyLine { path: path.to_owned(), line: number };
            let line = str::from_utf8(line).map_err(|_| bad())?;
            let mut words = line.split_whitespace();
            let rights = match words.next() {
                None => continue,
                Some(comment) if comment.starts_with('#') => continue,
                Some("read") => Rights::Read,
                Some("admin") => Rights::Admin,
                Some(_) => return Err(bad()),
            };
            let (Some(key), None) = (words.next(), words.next()) else { return Err(bad()) };
            keys.push((hash(key.as_bytes()), rights));
        }
        if keys.is_empty() {
            return Err(ServerError::NoKeys { path: path.to_owned() });
        }
        Ok(Self(keys))
    }

    /// The rights of a request's key. Takes the same time for every key.
    pub(crate) fn rights(&self, headers: &HeaderMap) -> Option<Rights> {
        let given = hash(given(headers)?);
        let mut rights = None;
        for (key, of_key) in &self.0 {
            let is_equal: Choice = key.ct_eq(&given);
            if bool::from(is_equal) {
                rights = rights.max(Some(*of_key));
            }
        }
        rights
    }
}

/// The key of a request: `Authorization: Bearer KEY`, `X-API-Key` or `api-key`.
fn given(headers: &HeaderMap) -> Option<&[u8]> {
    if let Some(value) = headers.get(AUTHORIZATION) {
        let (scheme, key) = value.as_bytes().split_at_checked(7)?;
        return scheme.eq_ignore_ascii_case(b"bearer ").then(|| key.trim_ascii());
    }
    Some(headers.get("x-api-key").or_else(|| headers.get("api-key"))?.as_bytes())
}

/// Hashes have one length, so that a comparison does not show that of a key.
fn hash(key: &[u8]) -> [u8; 32] {
    *blake3::hash(key).as_bytes()
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue};

    use super::{Keys, Rights};

    #[test]
    fn keys_are_read_and_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Keys::read(&path)
        };
        for bad in ["", "# none", "read", "write abc", "read a b"] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
        let keys = read("# ours\nread abc\n\n  admin  xyz \n").unwrap();
        let rights = |name: &'static str, value: &'static str| {
            keys.rights(&HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_static(value))]))
        };
        assert_eq!(rights("authorization", "Bearer abc"), Some(Rights::Read));
        assert_eq!(rights("authorization", "bearer  xyz"), Some(Rights::Admin));
        assert_eq!(rights("x-api-key", "abc"), Some(Rights::Read));
        assert_eq!(rights("api-key", "xyz"), Some(Rights::Admin));
        for (name, value) in [("authorization", "abc"), ("x-api-key", "ab"), ("cookie", "abc")] {
            assert_eq!(rights(name, value), None);
        }
    }
}
