//! A device as the operations see it: memory, two queues, and kernels by name. The GPU implements it through CUDA's driver, and for tests
//! the CPU does, by executing the same kernels thread by thread.

#[cfg(feature = "cuda")]
mod blas;
#[cfg(feature = "cuda")]
mod driver;
#[cfg(any(test, feature = "shim"))]
mod host;
mod memory;

use std::fmt;
use std::sync::Arc;

use bytemuck::NoUninit;

#[cfg(any(test, feature = "shim"))]
pub(crate) use self::host::HostDevice;
pub use self::memory::{Memory, Pinned};
use super::DeviceError;

/// A place in the memory of a device; zero is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit)]
#[repr(transparent)]
pub struct Address(pub u64);

impl Address {
    /// So many bytes further on.
    pub fn plus(self, bytes: usize) -> Self {
        Self(self.0 + bytes as u64)
    }
}

/// Work is done in the order in which it is put into a queue; the queues know nothing of each other: who needs what another has done
/// waits for it with [`Device::synchronize`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Kernels, and the copies between them.
    Compute,
    /// Copies to the device that overlap with kernels, and with the filling of the other pinned buffer: one of [`COPY_QUEUES`].
    Copy(usize),
}

/// As many as there are pinned buffers.
pub const COPY_QUEUES: usize = 2;

/// What a device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// `cuda:0 (NVIDIA H200)`.
    pub name: String,
    /// Major and minor.
    pub capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of shared memory that a block can have.
    pub shared_bytes: u32,
    /// Bytes of memory.
    pub memory_bytes: u64,
}

/// A kernel, how many threads run it, and its argument.
pub struct Launch<'a> {
    /// The name of its entry.
    pub kernel: &'static str,
    /// Blocks, in three dimensions.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of shared memory that a block is given beside what the kernel declares.
    pub shared_bytes: u32,
    /// The structure that the kernel is given by value.
    pub argument: &'a [u8],
}

/// See the top of this file. A search ends with the first error.
pub trait Device: fmt::Debug + Send + Sync {
    /// What it is.
    fn facts(&self) -> &DeviceFacts;

    /// Bytes of memory that can still be allocated.
    fn free_bytes(&self) -> Result<u64, DeviceError>;

    /// Memory of so many bytes, at least one, aligned to 256 bytes.
    fn allocate(&self, bytes: usize) -> Result<Address, DeviceError>;

    /// Gives memory back, after all that is queued.
    ///
    /// # Safety
    /// `address` is of [`Device::allocate`] and is not used again.
    unsafe fn free(&self, address: Address);

    /// Memory of the host of so many bytes, at least one, that is copied from without a detour.
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError>;

    /// Gives such memory back.
    ///
    /// # Safety
    /// `start` is of [`Device::allocate_pinned`], is not used again, and nothing that is queued reads it.
    unsafe fn free_pinned(&self, start: *mut u8);

    /// Copies bytes of the host to the device, in its turn.
    ///
    /// # Safety
    /// There is room at `to`, and `from` lives and keeps its bytes until the queue has done it.
    unsafe fn copy_in(
        &self,
        queue: Queue,
        to: Address,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), DeviceError>;

    /// Copies bytes of the device to the host when all that is queued for [`Queue::Compute`] is done, and waits for it.
    ///
    /// # Safety
    /// There are so many bytes at `from`, and room at `to`.
    unsafe fn copy_out(&self, to: *mut u8, from: Address, bytes: usize) -> Result<(), DeviceError>;

    /// Sets bytes, in turn on [`Queue::Compute`].
    ///
    /// # Safety
    /// There is room at `to`.
    unsafe fn fill(&self, to: Address, byte: u8, bytes: usize) -> Result<(), DeviceError>;

    /// Copies bytes inside the device, in turn on [`Queue::Compute`].
    ///
    /// # Safety
    /// There are so many bytes at `from`, room at `to`, and both live until it is done.
    unsafe fn copy_within(&self, to: Address, from: Address, bytes: usize) -> Result<(), DeviceError>;

    /// The f16 matrix product of `n` rows and columns with f32 sums of whoever made the device, in turn on [`Queue::Compute`]: to compare with.
    ///
    /// # Safety
    /// `a` and `b` are of n * n f16, `c` of as many f32, and live until it is done.
    unsafe fn multiply(&self, n: usize, a: Address, b: Address, c: Address) -> Result<(), DeviceError>;

    /// Runs a kernel, in turn on [`Queue::Compute`].
    ///
    /// # Safety
    /// The argument is the structure that the kernel takes, and its addresses are of memory that suffices and lives until it is done.
    unsafe fn launch(&self, launch: Launch<'_>) -> Result<(), DeviceError>;

    /// Waits for all that is queued there.
    fn synchronize(&self, queue: Queue) -> Result<(), DeviceError>;
}

/// How many devices the driver sees.
///
/// # Errors
/// [`DeviceError::NotBuilt`], [`DeviceError::NoDriver`], [`DeviceError::StubDriver`], [`DeviceError::DriverTooOld`].
pub(crate) fn count() -> Result<usize, DeviceError> {
    #[cfg(feature = "cuda")]
    return driver::count();
    #[cfg(not(feature = "cuda"))]
    Err(DeviceError::NotBuilt)
}

/// Opens a device.
///
/// # Errors
/// Those of [`count`], and [`DeviceError::NoDevice`], [`DeviceError::TooOldDevice`], [`DeviceError::Failed`].
pub(crate) fn open(ordinal: usize) -> Result<Arc<dyn Device>, DeviceError> {
    #[cfg(feature = "cuda")]
    return Ok(Arc::new(driver::CudaDevice::open(ordinal)?));
    #[cfg(not(feature = "cuda"))]
    {
        let _ = ordinal;
        Err(DeviceError::NotBuilt)
    }
}
