//! The engine: how everything is opened.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Weak};

use rayon::{ThreadPool, ThreadPoolBuilder};
use toller_files::{FileError, Input, OpenOptions, VerifyProgress, expand};
use toller_gpu::{Devices, Watcher};
use toller_hub::ResolveOptions;

use crate::EngineError;
use crate::event::{Event, Observer, Work};
use crate::threads::{Threads, check_threads};

/// Opens models, stores, indexes and searchers, and computes in its threads.
///
/// See the [crate] for an example.
pub struct Engine {
    pub(crate) hub: Option<ResolveOptions>,
    pub(crate) cache: Option<PathBuf>,
    pub(crate) threads: Threads,
    pub(crate) observer: Option<Observer>,
    pub(crate) stop: Option<Arc<AtomicBool>>,
    pub(crate) launch_watcher: Option<Watcher>,
    pub(crate) adjust: Option<Adjust>,
    /// The devices that were opened, as long as they are used.
    pub(crate) opened: Mutex<Vec<Weak<dyn toller_gpu::Device>>>,
}

/// What is changed about opened devices.
pub(crate) type Adjust = Box<dyn Fn(&Devices) + Send + Sync>;

/// Makes an [`Engine`].
#[derive(Default)]
pub struct Builder {
    hub: Option<ResolveOptions>,
    cache: Option<PathBuf>,
    threads: Option<usize>,
    pool: Option<Arc<ThreadPool>>,
    observer: Option<Observer>,
    stop: Option<Arc<AtomicBool>>,
    launch_watcher: Option<Watcher>,
    adjust: Option<Adjust>,
}

impl Builder {
    /// How models are found by name and downloaded. Without this, models are
    /// directories.
    #[must_use]
    pub fn hub(mut self, options: ResolveOptions) -> Self {
        self.hub = Some(options);
        self
    }

    /// A folder for what is kept between uses and has no better place: indexes of texts.
    #[must_use]
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }

    /// Computes in this many threads of the engine's own, instead of in rayon's current pool.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Computes in this pool, which others may share.
    #[must_use]
    pub fn pool(mut self, pool: Arc<ThreadPool>) -> Self {
        self.pool = Some(pool);
        self
    }

    /// Is called with every event.
    #[must_use]
    pub fn observer(mut self, observer: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Stops waiting for the hub once `stop` is set. Jobs are stopped by flags of their own.
    #[must_use]
    pub fn stop(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Sees every launch of a kernel on devices, which then wait for each kernel: to find the kernel that
    /// hangs or fails.
    #[must_use]
    pub fn watch_launches(mut self, watcher: Watcher) -> Self {
        self.launch_watcher = Some(watcher);
        self
    }

    /// Changes devices after they were opened: to measure other kernels than the usual.
    #[must_use]
    pub fn adjust(mut self, adjust: impl Fn(&Devices) + Send + Sync + 'static) -> Self {
        self.adjust = Some(Box::new(adjust));
        self
    }

    /// The engine.
    ///
    /// # Errors
    /// [`EngineError::Threads`] if the system refuses the threads, [`EngineError::TooManyThreads`] if they
    /// would be too many, [`EngineError::TwoPools`] if both threads and a pool were given.
    pub fn build(self) -> Result<Engine, EngineError> {
        let own = |threads: usize| {
            check_threads(threads)?;
            let pool = ThreadPoolBuilder::new().num_threads(threads).build();
            pool.map(Arc::new).map_err(|source| EngineError::Threads { threads, source })
        };
        let pool = match (self.threads, self.pool) {
            (Some(_), Some(_)) => return Err(EngineError::TwoPools),
            (Some(threads), None) => Some(own(threads)?),
            (None, pool) => pool,
        };
        Ok(Engine {
            hub: self.hub,
            cache: self.cache,
            threads: Threads(pool),
            observer: self.observer,
            stop: self.stop,
            launch_watcher: self.launch_watcher,
            adjust: self.adjust,
            opened: Mutex::default(),
        })
    }
}

/// The files of queries that were named by files and folders; of a folder as BEIR publishes them, which holds
/// the corpus too, the queries.
///
/// # Errors
/// When a folder cannot be listed.
pub fn query_files<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<Input>, FileError> {
    let names = ["queries.jsonl", "queries.jsonl.gz", "queries.jsonl.zst", "queries.jsonl.xz"];
    let queries = |path: &P| {
        let path = path.as_ref();
        names.map(|name| path.join(name)).into_iter().find(|file| file.is_file()).unwrap_or(path.to_owned())
    };
    expand(paths.iter().map(queries))
}

impl Engine {
    /// Makes an engine.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The number of threads that compute.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.count()
    }

    /// Does `work` in the engine's threads.
    pub fn in_threads<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.threads.run(work)
    }

    /// The files of a collection that is named by files and folders. A folder in BEIR's form holds queries
    /// too; only its corpus is taken.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn collection_files<P: AsRef<Path>>(&self, paths: &[P]) -> Result<Vec<Input>, EngineError> {
        for folder in paths.iter().map(AsRef::as_ref) {
            if let Some(file) = beir_corpus(folder) {
                self.notify(Event::BeirCorpus { folder, file: &file });
            }
        }
        Ok(collection_files(paths)?)
    }

    /// [`query_files`], as the engine's own.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn query_files<P: AsRef<Path>>(&self, paths: &[P]) -> Result<Vec<Input>, EngineError> {
        Ok(query_files(paths)?)
    }

    pub(crate) fn notify(&self, event: Event<'_>) {
        if let Some(observer) = &self.observer {
            observer(&event);
        }
    }

    /// Opens files whose checksums are verified, or not, in the engine's threads.
    pub fn opening<T: Send>(&self, verify: bool, open: impl FnOnce(&OpenOptions<'_>) -> T + Send) -> T {
        self.verifying(|progress| open(&OpenOptions { verify, progress: Some(progress) }))
    }

    /// Verifies checksums in the engine's threads, and reports the progress.
    pub(crate) fn verifying<T: Send>(
        &self,
        verify: impl FnOnce(&(dyn Fn(VerifyProgress) + Sync)) -> T + Send,
    ) -> T {
        let progress = |VerifyProgress { bytes_done, bytes_total }: VerifyProgress| {
            self.notify(Event::Progress { work: Work::Verify, done: bytes_done, total: Some(bytes_total) });
        };
        let verified = self.threads.run(|| verify(&progress));
        self.notify(Event::Finished);
        verified
    }
}

/// The files of a collection, as [`Engine::collection_files`] finds them.
///
/// # Errors
/// When a folder cannot be listed.
pub fn collection_files<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<Input>, FileError> {
    let corpus = |path: &P| beir_corpus(path.as_ref()).unwrap_or_else(|| path.as_ref().to_owned());
    expand(paths.iter().map(corpus))
}

/// The file of the passages in a folder in BEIR's form; `None` for other folders and for files.
#[must_use]
pub fn beir_corpus(folder: &Path) -> Option<PathBuf> {
    let names = ["corpus.jsonl", "corpus.jsonl.gz", "corpus.jsonl.zst", "corpus.jsonl.xz"];
    names.map(|name| folder.join(name)).into_iter().find(|file| file.is_file())
}
