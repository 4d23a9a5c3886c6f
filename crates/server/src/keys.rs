//! Who may ask: keys from a file, compared in constant time.

use std::path::Path;

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue};
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

    /// The best rights of a request's keys. Clients that always send some key may have been given another
    /// header for the right one.
    pub(crate) fn rights(&self, headers: &HeaderMap) -> Option<Rights> {
        given(headers).filter_map(|key| self.rights_of(key)).max()
    }

    /// Takes the same time for every key.
    fn rights_of(&self, given: &[u8]) -> Option<Rights> {
        let given = hash(given);
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

/// The keys of a request: `Authorization: Bearer KEY`, `X-API-Key` and `api-key`.
fn given(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let bearer = |value| {
        let (scheme, key) = HeaderValue::as_bytes(value).split_at_checked(7)?;
        scheme.eq_ignore_ascii_case(b"bearer ").then(|| key.trim_ascii())
    };
    let bare = ["x-api-key", "api-key"].into_iter().flat_map(|name| headers.get_all(name));
    headers.get_all(AUTHORIZATION).iter().filter_map(bearer).chain(bare.map(HeaderValue::as_bytes))
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
        let both = |first: (&'static str, &'static str), second: (&'static str, &'static str)| {
            let header = |(name, value): (&'static str, &'static str)| {
                (name.parse().unwrap(), HeaderValue::from_static(value))
            };
            keys.rights(&HeaderMap::from_iter([first, second].map(header)))
        };
        for other in ["Bearer none", "Basic abc", "", "Bearer abc"] {
            assert_eq!(both(("authorization", other), ("x-api-key", "xyz")), Some(Rights::Admin), "{other}");
        }
        assert_eq!(both(("x-api-key", "none"), ("api-key", "abc")), Some(Rights::Read));
        assert_eq!(both(("authorization", "Bearer none"), ("api-key", "ab")), None);
    }
}
