//! The client: one connection for each bucket, and the versions of the objects that were opened.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::TryStreamExt;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, Checksum};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig};
use toller_files::{Object, ObjectStores};
use toller_hub::ResolveOptions;
use toller_ir::{AnyError, locked};

use crate::RemoteError;
use crate::connection::Connector;
use crate::folder::Folder;
use crate::object::RemoteObject;
use crate::pattern;
use crate::settings;
use crate::url::{ObjectUrl, Scheme};
use crate::wait::wait;

/// How often a request is sent again if it fails for a reason that may pass: a broken connection, a server
/// that has too much to do.
const RETRIES: usize = 6;

/// How long a request is sent again at most.
const RETRY_TIME: Duration = Duration::from_secs(120);

/// A client of object stores. Shared by any number of threads.
pub struct Client {
    connector: Connector,
    /// The settings, by the names of environment variables.
    variables: Vec<(String, String)>,
    buckets: Mutex<HashMap<(Scheme, String), Arc<dyn ObjectStore>>>,
    /// By their URLs.
    opened: Mutex<HashMap<String, RemoteObject>>,
}

/// A builder of one of the three with the settings that concern it.
macro_rules! build {
    ($client:expr, $url:expr, $builder:expr, $key:ty) => {{
        let mut builder = $builder;
        for (name, value) in &$client.variables {
            if let Ok(key) = name.to_ascii_lowercase().parse::<$key>() {
                settings::check(name, value)?;
                builder = builder.with_config(key, value);
            }
        }
        let retry = RetryConfig { max_retries: RETRIES, retry_timeout: RETRY_TIME, ..RetryConfig::default() };
        let builder = builder.with_url($url).with_retry(retry).with_http_connector($client.connector.clone());
        builder.build().map(|store| Arc::new(store) as Arc<dyn ObjectStore>)
    }};
}

impl Client {
    /// A client with the proxy, the certificates and the timeouts of `hub`. Credentials, endpoints and
    /// regions are in `variables`: environment variables of Amazon's, Google's and Azure's tools, with
    /// their values.
    #[must_use]
    pub fn new(hub: ResolveOptions, variables: Vec<(String, String)>) -> Self {
        Self { connector: Connector(hub), variables, buckets: Mutex::default(), opened: Mutex::default() }
    }

    /// The bucket of a URL.
    fn bucket(&self, url: &ObjectUrl) -> Result<Arc<dyn ObjectStore>, RemoteError> {
        let mut buckets = locked(&self.buckets);
        let key = (url.scheme, url.bucket.clone());
        if let Some(bucket) = buckets.get(&key) {
            return Ok(Arc::clone(bucket));
        }
        let at = url.bucket_url();
        let built = match url.scheme {
            Scheme::S3 => {
                // A sum of each request lets the server notice damage on the way. Not every server with the
                // interface of S3 removes several objects at once.
                let amazon = AmazonS3Builder::new()
                    .with_checksum_algorithm(Checksum::SHA256)
                    .with_config(AmazonS3ConfigKey::DisableBulkDelete, "true");
                build!(self, at, amazon, AmazonS3ConfigKey)
            }
            Scheme::Gs => build!(self, at, GoogleCloudStorageBuilder::new(), GoogleConfigKey),
            Scheme::Az => build!(self, at, MicrosoftAzureBuilder::new(), AzureConfigKey),
        };
        let bucket = built.map_err(|error| RemoteError::of(&error))?;
        buckets.insert(key, Arc::clone(&bucket));
        Ok(bucket)
    }

    /// The folder at a URL, which need not hold anything.
    pub(crate) fn folder(&self, url: &str) -> Result<Folder, RemoteError> {
        let url = ObjectUrl::parse(url)?;
        Ok(Folder::new(self.bucket(&url)?, url))
    }

    /// The object at a URL, in the version in which this client saw it first since it last forgot.
    fn object(&self, url: &str) -> Result<RemoteObject, RemoteError> {
        if let Some(object) = locked(&self.opened).get(url) {
            return Ok(object.clone());
        }
        let place = ObjectUrl::parse(url)?;
        let (bucket, path) = (self.bucket(&place)?, place.path()?);
        let meta = wait(bucket.head(&path))?;
        Ok(self.keep(url.to_owned(), RemoteObject::new(bucket, meta)))
    }

    /// Remembers the version of an object, unless another thread was first.
    fn keep(&self, url: String, object: RemoteObject) -> RemoteObject {
        locked(&self.opened).entry(url).or_insert(object).clone()
    }

    /// The URLs of the objects below a folder whose keys `wanted` accepts.
    fn below(&self, folder: &ObjectUrl, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, RemoteError> {
        let bucket = self.bucket(folder)?;
        let prefix = folder.path()?;
        let list = bucket.list(Some(&prefix).filter(|prefix| **prefix != Path::default()));
        let mut found: Vec<ObjectMeta> = wait(list.try_collect())?;
        // Some tools mark folders by empty objects.
        found.retain(|meta| wanted(meta.location.as_ref()) && !(meta.size == 0 && meta.location == prefix));
        // The order in which a folder on disk is read: `a/x` comes before `a-b/x`.
        found.sort_unstable_by(|a, b| a.location.as_ref().split('/').cmp(b.location.as_ref().split('/')));
        let keep = |meta: ObjectMeta| {
            let url = folder.with_key(meta.location.as_ref()).to_string();
            self.keep(url.clone(), RemoteObject::new(Arc::clone(&bucket), meta));
            url
        };
        Ok(found.into_iter().map(keep).collect())
    }
}

impl ObjectStores for Client {
    fn open(&self, url: &str) -> Result<Arc<dyn Object>, AnyError> {
        Ok(Arc::new(self.object(url)?))
    }

    fn list(&self, url: &str) -> Result<Vec<String>, AnyError> {
        let place = ObjectUrl::parse(url)?;
        if place.key.contains('*') {
            let folder = place.with_key(pattern::folder(&place.key));
            return Ok(self.below(&folder, |key| pattern::matches(&place.key, key))?);
        }
        if url.ends_with('/') || place.key.is_empty() {
            return Ok(self.below(&place, |_| true)?);
        }
        self.object(url)?;
        Ok(vec![url.to_owned()])
    }

    fn forget(&self) {
        locked(&self.opened).clear();
    }
}
