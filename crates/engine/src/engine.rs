//! The engine: how everything is opened.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Weak};

use rayon::{ThreadPool, ThreadPoolBuilder};
use toller_files::{OpenOptions, VerifyProgress};
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
