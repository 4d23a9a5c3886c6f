//! Objects of object stores as input: what a client of them must be able to do, and which client there is.

use std::fs::Metadata;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

use toller_ir::{AnyError, Explain, Remedy};

/// What the URLs of objects begin with: Amazon S3 and its like, Google Cloud Storage, Azure Blob Storage.
pub const OBJECT_SCHEMES: [&str; 3] = ["s3://", "gs://", "az://"];

/// Whether a text names something in an object store.
#[must_use]
pub fn is_object_url(text: &str) -> bool {
    OBJECT_SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

/// The size of a file or an object, and when it was last written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The length in bytes, as stored.
    pub bytes: u64,
    /// When it was last written, in nanoseconds since 1970; 0 if that is unknown.
    pub modified: u64,
}

impl Stamp {
    /// Those of a file. (Not its inode: on mounted object stores a file may get another one.)
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self { bytes: metadata.len(), modified: modified.map_or(0, |since| since.as_nanos() as u64) }
    }
}

/// A client of object stores.
pub trait ObjectStores: Send + Sync {
    /// The object at a URL. It stays the version that was opened first, until [`ObjectStores::forget`]:
    /// reading fails after the object was replaced, since the passes over one input must see the same bytes.
    ///
    /// # Errors
    /// When the object does not exist or cannot be reached.
    fn open(&self, url: &str) -> Result<Arc<dyn Object>, AnyError>;

    /// The URLs of the objects that a URL stands for, in the byte order of their names: those below it if it
    /// ends in `/`, those that match if it has a `*`, else itself.
    ///
    /// # Errors
    /// When the objects cannot be listed.
    fn list(&self, url: &str) -> Result<Vec<String>, AnyError>;

    /// Lets objects be opened in their present versions. Those that are open stay as they are.
    fn forget(&self);
}

/// An object, in one version.
pub trait Object: Send + Sync {
    /// Its size and age.
    fn stamp(&self) -> Stamp;

    /// A reader of all its bytes.
    fn reader(&self) -> Box<dyn Read + Send>;

    /// Some of its bytes.
    ///
    /// # Errors
    /// When they cannot be read.
    fn read_range(&self, range: Range<u64>) -> io::Result<Vec<u8>>;
}

static INSTALLED: OnceLock<Arc<dyn ObjectStores>> = OnceLock::new();

/// Installs the client through which this process reads objects. The first one stays.
pub fn install_object_stores(client: Arc<dyn ObjectStores>) {
    INSTALLED.get_or_init(|| client);
}

/// Lets inputs be opened in their present versions: a process that lives longer than one command calls this
/// between two.
pub fn forget_objects() {
    if let Some(client) = INSTALLED.get() {
        client.forget();
    }
}

/// No client is installed.
#[derive(Debug, thiserror::Error)]
#[error("this program reads no objects of object stores")]
struct NoClient;

impl Explain for NoClient {
    fn remedy(&self) -> Option<Remedy> {
        Some("copy the object to a file first".into())
    }
}

/// The installed client. An error keeps its remedy: [`io::Error`] asks the error inside.
pub(crate) fn object_stores() -> Result<&'static dyn ObjectStores, AnyError> {
    INSTALLED.get().map(|client| &**client).ok_or_else(|| NoClient.into())
}
