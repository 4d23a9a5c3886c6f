//! What tests and measurements change about a device: who watches its launches, how capable it acts, and
//! whether NVIDIA's library computes.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use toller_ir::locked;

use super::{Launch, LibraryProduct};

/// A launch as a watcher sees it: before the kernel starts, and after it has ended.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// The name of the kernel, or of the library's function.
    pub kernel: &'static str,
    /// Blocks, in three dimensions; of a library's product, the rows, the outputs and the depth.
    pub grid: [u32; 3],
    /// Threads of a block; 0 for a library's product.
    pub threads: u32,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// The seconds that the kernel took; `None` before it starts.
    pub seconds: Option<f64>,
}

impl Watched {
    pub(super) fn kernel(launch: &Launch<'_>) -> Self {
        let Launch { kernel, grid, threads, shared_bytes, .. } = *launch;
        Self { kernel, grid, threads, shared_bytes, seconds: None }
    }

    pub(super) fn product(product: &LibraryProduct) -> Self {
        let LibraryProduct { rows, outputs, depth, .. } = *product;
        let grid = [rows, outputs, depth];
        Self { kernel: "cublasLtMatmul", grid, threads: 0, shared_bytes: 0, seconds: None }
    }
}

/// One line, for example `toller_ip_topk_select: 32 x 1 x 1 blocks of 512 threads, 1280 bytes: 12.5 us`.
impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, grid: [x, y, z], threads, shared_bytes, seconds } = self;
        write!(f, "{kernel}: {x} x {y} x {z}")?;
        if *threads > 0 {
            write!(f, " blocks of {threads} threads, {shared_bytes} bytes")?;
        }
        f.write_str(": ")?;
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
    most_multiprocessors: Mutex<Option<u32>>,
    most_shared_bytes: Mutex<Option<u32>>,
    most_memory: Mutex<Option<u64>>,
    uses_library: AtomicBool,
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

    /// Launches blocks as for a device of at most this many multiprocessors, so that each has several tiles
    /// where there are few.
    pub fn limit_multiprocessors(&self, most: u32) {
        *locked(&self.most_multiprocessors) = Some(most);
    }

    /// The multiprocessors of a device that has this many, as far as blocks use them.
    pub(super) fn limited_multiprocessors(&self, count: u32) -> u32 {
        locked(&self.most_multiprocessors).map_or(count, |most| most.min(count))
    }

    /// Chooses kernels as for a device whose blocks have at most this much shared memory.
    pub fn limit_shared_bytes(&self, most: u32) {
        *locked(&self.most_shared_bytes) = Some(most);
    }

    /// The shared memory of a block that kernels may use, on a device that has this much.
    pub(super) fn limited_shared_bytes(&self, bytes: u32) -> u32 {
        locked(&self.most_shared_bytes).map_or(bytes, |most| most.min(bytes))
    }

    /// Plans as for a device with at most this many bytes of memory.
    pub fn limit_memory(&self, most: u64) {
        *locked(&self.most_memory) = Some(most);
    }

    /// The bytes that may be planned for, of a device that has `bytes`, of which `free` are free.
    pub(super) fn limited_memory(&self, bytes: u64, free: u64) -> u64 {
        locked(&self.most_memory).map_or(free, |most| free.saturating_sub(bytes.saturating_sub(most)))
    }

    /// Leaves linear layers in f16 that are not gated to NVIDIA's cuBLASLt, from the next model on.
    pub fn use_library(&self) {
        self.uses_library.store(true, Ordering::Relaxed);
    }

    pub(super) fn uses_library(&self) -> bool {
        self.uses_library.load(Ordering::Relaxed)
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
