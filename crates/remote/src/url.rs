//! URLs of objects.

use std::fmt;

use object_store::path::Path;

use crate::RemoteError;

/// Whose object stores there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scheme {
    /// Amazon S3, or a server with its interface.
    S3,
    /// Google Cloud Storage.
    Gs,
    /// Azure Blob Storage.
    Az,
}

/// A bucket, and an object or a folder in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectUrl {
    pub(crate) scheme: Scheme,
    pub(crate) bucket: String,
    /// Without a slash at either end; empty for the whole bucket.
    pub(crate) key: String,
}

impl ObjectUrl {
    pub(crate) fn parse(text: &str) -> Result<Self, RemoteError> {
        let wrong = || RemoteError::Url(text.to_owned());
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let scheme = [Scheme::S3, Scheme::Gs, Scheme::Az].into_iter().find(|known| known.name() == scheme);
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        let key = key.trim_end_matches('/');
        // Azure has containers of its own, such as `$web`.
        let is_named = |character: char| character.is_ascii_alphanumeric() || "-_.$".contains(character);
        if bucket.is_empty() || !bucket.chars().all(is_named) || Path::parse(key).is_err() {
            return Err(wrong());
        }
        Ok(Self { scheme: scheme.ok_or_else(wrong)?, bucket: bucket.to_owned(), key: key.to_owned() })
    }

    /// The same bucket with another key.
    pub(crate) fn with_key(&self, key: impl Into<String>) -> Self {
        Self { key: key.into(), ..self.clone() }
    }

    /// `name` below this.
    pub(crate) fn below(&self, name: &str) -> Self {
        self.with_key(if self.key.is_empty() { name.to_owned() } else { format!("{}/{name}", self.key) })
    }

    /// The address of the bucket, without the key.
    pub(crate) fn bucket_url(&self) -> String {
        format!("{}://{}", self.scheme.name(), self.bucket)
    }

    pub(crate) fn path(&self) -> Result<Path, RemoteError> {
        Path::parse(&self.key).map_err(|_| RemoteError::Url(self.to_string()))
    }
}

impl Scheme {
    fn name(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gs => "gs",
            Self::Az => "az",
        }
    }
}

impl fmt::Display for ObjectUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.bucket_url(), self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::ObjectUrl;

    #[test]
    fn urls_have_a_bucket_and_a_key() {
        let key = |text| ObjectUrl::parse(text).ok().map(|url| (url.bucket, url.key));
        let found = |bucket: &str, key: &str| Some((bucket.to_owned(), key.to_owned()));
        assert_eq!(key("s3://bucket/a/b c.tsv"), found("bucket", "a/b c.tsv"));
        assert_eq!(key("gs://bucket/a/"), found("bucket", "a"));
        assert_eq!(key("az://bucket"), found("bucket", ""));
        for wrong in [
            "s3:///a", "s3://", "s3://[/x", "ftp://bucket/a", "bucket/a", "s3://bucket/a//b",
            "s3://bucket/../a",
        ] {
            assert_eq!(key(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn names_come_below_a_folder_or_a_bucket() -> Result<(), crate::RemoteError> {
        let below = |text: &str| ObjectUrl::parse(text).map(|url| url.below("x").to_string());
        assert_eq!(below("s3://bucket/a/")?, "s3://bucket/a/x");
        assert_eq!(below("s3://bucket")?, "s3://bucket/x");
        Ok(())
    }
}
