//! A folder of objects, by their names in it.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, GetOptions, MultipartUpload, ObjectStore, ObjectStoreExt, PutMode,
    PutMultipartOptions, PutOptions, UpdateVersion,
};
use toller_files::{Checksum, FileError};
use toller_ir::AnyError;

use crate::RemoteError;
use crate::object::RemoteObject;
use crate::url::ObjectUrl;
use crate::wait::wait;

/// Larger files are sent in parts, so that a broken connection costs one part.
const PART_BYTES: usize = 16 << 20;

/// The most parts that S3 takes.
const MOST_PARTS: usize = 10_000;

/// How often a conditional write is tried, and the time between.
const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(500);

/// The name under which an object carries the checksum of its bytes. Azure takes no hyphens.
const CHECKSUM: Attribute = Attribute::Metadata(std::borrow::Cow::Borrowed("checksum"));

/// A folder of an object store.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    bucket: Arc<dyn ObjectStore>,
    url: ObjectUrl,
}

/// A small object, with the version that a conditional write replaces.
#[derive(Debug)]
pub(crate) struct Versioned {
    pub(crate) bytes: Bytes,
    pub(crate) version: UpdateVersion,
}

impl Folder {
    pub(crate) fn new(bucket: Arc<dyn ObjectStore>, url: ObjectUrl) -> Self {
        Self { bucket, url }
    }

    pub(crate) fn url(&self) -> &ObjectUrl {
        &self.url
    }

    /// A folder in this one.
    pub(crate) fn below(&self, name: &str) -> Self {
        Self { bucket: Arc::clone(&self.bucket), url: self.url.below(name) }
    }

    /// The names in the folder: those of its objects and of its folders.
    pub(crate) fn names(&self) -> Result<Vec<String>, FileError> {
        let list = || {
            let prefix = self.url.path()?;
            wait(self.bucket.list_with_delimiter(Some(&prefix).filter(|prefix| **prefix != Path::default())))
        };
        let listed = list().map_err(|error| failure("list", &self.url, error))?;
        let objects = listed.objects.iter().map(|meta| &meta.location);
        let names = objects.chain(&listed.common_prefixes).filter_map(Path::filename);
        Ok(names.map(str::to_owned).collect())
    }

    /// A small object; `None` if there is none.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Versioned>, FileError> {
        self.at("read", name, |path| async move {
            let found = self.bucket.get_opts(&path, GetOptions::default()).await?;
            let version =
                UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
            Ok(Versioned { bytes: found.bytes().await?, version })
        })
        .or_none()
    }

    /// An object, in its present version.
    pub(crate) fn object(&self, name: &str) -> Result<Option<RemoteObject>, FileError> {
        let meta = self.at("open", name, |path| async move { self.bucket.head(&path).await }).or_none()?;
        Ok(meta.map(|meta| RemoteObject::new(Arc::clone(&self.bucket), meta)))
    }

    /// Whether there is an object of these bytes, as [`Folder::send`] and [`Folder::put`] write it.
    pub(crate) fn has(&self, name: &str, bytes: u64, checksum: Checksum) -> Result<bool, FileError> {
        let options = || GetOptions { head: true, ..GetOptions::default() };
        let found = self.at("open", name, |path| async move { self.bucket.get_opts(&path, options()).await });
        Ok(found.or_none()?.is_some_and(|found| {
            let carried = found.attributes.get(&CHECKSUM).map(|value| value.to_string());
            found.meta.size == bytes && carried == Some(checksum.to_string())
        }))
    }

    /// Writes a small object on a condition. False if another writer was first with other bytes.
    ///
    /// `object_store` does not repeat a conditional write whose answer is lost, since the first attempt may
    /// have changed what the condition is about. Reading the object shows it.
    pub(crate) fn put(&self, name: &str, bytes: &Bytes, mode: &PutMode) -> Result<bool, FileError> {
        let checksum = Checksum::of(bytes);
        let put = |path| async move {
            let attributes = Attributes::from_iter([(CHECKSUM, checksum.to_string())]);
            let options = PutOptions { mode: mode.clone(), attributes, ..PutOptions::default() };
            self.bucket.put_opts(&path, bytes.clone().into(), options).await
        };
        for attempt in 1.. {
            let Err(Missed { error, failed }) = self.at("write", name, put) else { break };
            if self.read(name)?.is_some_and(|found| found.bytes == *bytes) {
                break;
            }
            match error {
                RemoteError::Conflict | RemoteError::Replaced => return Ok(false),
                // Another writer has removed what was to be replaced.
                RemoteError::NotFound(_) if matches!(mode, PutMode::Update(_)) => return Ok(false),
                RemoteError::Other(_) if attempt < ATTEMPTS => thread::sleep(PAUSE),
                _ => return Err(failed),
            }
        }
        Ok(true)
    }

    /// Removes an object, if there is one.
    pub(crate) fn remove(&self, name: &str) -> Result<(), FileError> {
        let removed = self.at("remove", name, |path| async move { self.bucket.delete(&path).await });
        removed.or_none().map(|_| ())
    }

    /// Writes an object, and calls `advance` with the length of each piece that has arrived.
    pub(crate) fn send<E: From<FileError>>(
        &self,
        name: &str,
        bytes: Bytes,
        checksum: Checksum,
        advance: &dyn Fn(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let attributes = Attributes::from_iter([(CHECKSUM, checksum.to_string())]);
        if bytes.len() <= PART_BYTES {
            let length = bytes.len() as u64;
            let options = PutOptions { attributes, ..PutOptions::default() };
            let put = |path| async move { self.bucket.put_opts(&path, bytes.into(), options).await };
            self.at("write", name, put).map_err(|missed| missed.failed)?;
            return advance(length);
        }
        let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
        let begin = |path| async move { self.bucket.put_multipart_opts(&path, options).await };
        let mut upload = self.at("write", name, begin).map_err(|missed| missed.failed)?;
        let sent = self.send_parts(name, &mut *upload, &bytes, checksum, advance);
        if sent.is_err() {
            // The server would keep the parts. The error of sending them is the one to report.
            let _ = wait(upload.abort());
        }
        sent
    }

    fn send_parts<E: From<FileError>>(
        &self,
        name: &str,
        upload: &mut dyn MultipartUpload,
        bytes: &Bytes,
        checksum: Checksum,
        advance: &dyn Fn(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = |error| failure("write", &self.url.below(name), error);
        let part_bytes = PART_BYTES.max(bytes.len().div_ceil(MOST_PARTS));
        for start in (0..bytes.len()).step_by(part_bytes) {
            let part = bytes.slice(start..bytes.len().min(start + part_bytes));
            let length = part.len() as u64;
            wait(upload.put_part(part.into())).map_err(failed)?;
            advance(length)?;
        }
        // If the answer is lost, the request is repeated, and the server no longer knows the upload.
        match wait(upload.complete()) {
            Err(error) if !self.has(name, bytes.len() as u64, checksum)? => Err(failed(error).into()),
            _ => Ok(()),
        }
    }

    /// Does something with the object of this name.
    fn at<T, F: Future<Output = object_store::Result<T>>>(
        &self,
        action: &'static str,
        name: &str,
        work: impl FnOnce(Path) -> F,
    ) -> Result<T, Missed> {
        let url = self.url.below(name);
        let done = url.path().and_then(|path| wait(work(path)));
        done.map_err(|error| Missed { failed: failure(action, &url, error.clone()), error })
    }
}

/// What was not done.
struct Missed {
    error: RemoteError,
    failed: FileError,
}

trait OrNone<T> {
    /// `None` if there is no such object.
    fn or_none(self) -> Result<Option<T>, FileError>;
}

impl<T> OrNone<T> for Result<T, Missed> {
    fn or_none(self) -> Result<Option<T>, FileError> {
        match self {
            Ok(found) => Ok(Some(found)),
            Err(Missed { error: RemoteError::NotFound(_), .. }) => Ok(None),
            Err(missed) => Err(missed.failed),
        }
    }
}

/// An error with the URL.
pub(crate) fn failure(action: &'static str, url: &ObjectUrl, error: RemoteError) -> FileError {
    FileError::new(action, url.to_string(), io::Error::other(AnyError::from(error)))
}
