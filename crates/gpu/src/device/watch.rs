//! What tests and measurements change about a device: who watches its launches, how capable it acts, and
//! which kernels it prefers.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Launch;

/// A launch as a watcher sees it: before the kernel starts, and after it has ended.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// The name of the kernel.
    pub kernel: &'static str,
    /// Blocks, in three dimensions.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// The seconds that the kernel took; `None` before it starts.
    pub seconds: Option<f64>,
}

impl Watched {
    pub(super) fn new(launch: &Launch<'_>, seconds: Option<f64>) -> Self {
        let Launch { kernel, grid, threads, shared_bytes, .. } = *launch;
        Self { kernel, grid, threads, shared_bytes, seconds }
    }
}

/// One line, for example `toller_ip_topk_select: 32 x 1 x 1 blocks of 512 threads, 1280 bytes: 12.5 us`.
impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, grid: [x, y, z], threads, shared_bytes, seconds } = self;
        write!(f, "{kernel}: {x} x {y} x {z} blocks of {threads} threads, {shared_bytes} bytes: ")?;
        match seconds {
            Some(seconds) => write!(f, "{:.1} us", seconds * 1e6),
            None => f.write_str("starts"),
        }
    }
}

/// Is called twice for every launch. A device that has a watcher waits for each kernel.
pub type Watcher = Arc<dyn Fn(&Watched) + Send + Sync>;

/// What can be changed about an opened device.
#[derive(Default)]
pub struct Controls {
    watcher: Mutex<Option<Watcher>>,
    most_capability: Mutex<Option<(u32, u32)>>,
    bulk_copies: AtomicBool,
}

impl Controls {
    pub(crate) fn watcher(&self) -> Option<Watcher> {
        locked(&self.watcher).clone()
    }

    /// Sets the watcher and returns the previous one.
    pub(crate) fn set_watcher(&self, watcher: Option<Watcher>) -> Option<Watcher> {
        std::mem::replace(&mut *locked(&self.watcher), watcher)
    }

    /// Chooses kernels as for a device of at most this compute capability.
    pub fn limit_capability(&self, most: (u32, u32)) {
        *locked(&self.most_capability) = Some(most);
    }

    /// Chooses kernels with bulk tensor copies where there are any.
    pub fn prefer_bulk_copies(&self) {
        self.bulk_copies.store(true, Ordering::Relaxed);
    }

    pub(super) fn prefers_bulk_copies(&self) -> bool {
        self.bulk_copies.load(Ordering::Relaxed)
    }

    /// The compute capability that a device of this capability acts with.
    pub(super) fn limited(&self, capability: (u32, u32)) -> (u32, u32) {
        locked(&self.most_capability).map_or(capability, |most| most.min(capability))
    }
}

impl fmt::Debug for Controls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controls").finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
