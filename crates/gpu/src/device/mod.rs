//! The interface of a device: memory, queues, and kernels by name. The GPU implements it through CUDA's
//! driver. For tests the CPU does, and executes the same kernels thread by thread.

#[cfg(feature = "cuda")]
mod blas;
#[cfg(feature = "cuda")]
mod blas_lt;
mod copy_queues;
#[cfg(feature = "cuda")]
mod driver;
#[cfg(feature = "cuda")]
mod event;
#[cfg(any(test, feature = "shim"))]
mod host;
mod memory;
mod state;
mod tensor_map;
mod watch;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use bytemuck::{NoUninit, Pod, Zeroable};

#[cfg(any(test, feature = "shim"))]
pub(crate) use self::host::HostDevice;
pub use self::memory::{Memory, Pinned};
pub use self::state::DeviceState;
pub use self::tensor_map::{Matrix, TensorMap};
pub use self::watch::{Controls, Watched, Watcher};
use crate::error::DeviceError;
use crate::turns::Turns;

/// A place in the memory of a device; zero is not a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Address(pub u64);

impl Address {
    /// The place `bytes` bytes further on.
    pub fn plus(self, bytes: usize) -> Self {
        Self(self.0 + bytes as u64)
    }
}

/// A queue does its work in order. Queues do not wait for each other: work that needs the results of another
/// queue must be queued after a [`Device::synchronize`] of that queue, or after a [`Device::follow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Kernels, and the copies between them.
    Compute,
    /// Copies to and from pinned memory, which overlap with kernels and with each other. The numbers are
    /// those of [`Device::next_copy_queue`] and [`Device::next_upload_queue`].
    Copy(usize),
}

/// A place in a queue, once it is set.
pub struct Mark(Box<dyn Any + Send>);

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Mark").field(&self.0).finish()
    }
}

/// How a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Asks again and again for a millisecond, and then sleeps: a thread that sleeps is woken late.
    Awake,
    /// Sleeps at once.
    Asleep,
}

/// Bytes of shared memory that a block of every kernel may use. For more, a kernel must be allowed to.
pub const COMMON_SHARED_BYTES: u32 = 48 << 10;

/// The name and the sizes of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// `cuda:0 (NVIDIA H200)`.
    pub name: String,
    /// Compute capability: major and minor.
    pub capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// The most bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// Bytes of memory.
    pub memory_bytes: u64,
}

/// The launch of a kernel.
pub struct Launch<'a> {
    /// The name of its entry.
    pub kernel: &'static str,
    /// Blocks, in three dimensions.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of shared memory of a block, in addition to those that the kernel declares.
    pub shared_bytes: u32,
    /// The structure that the kernel takes by value.
    pub argument: &'a [u8],
}

/// A linear layer in f16 that NVIDIA's library computes: `out = x weight^T + bias`, plus `residual` if there
/// is one, with sums in f32. Matrices are dense, and begin at multiples of 16 bytes.
#[derive(Clone, Copy, Debug)]
pub struct LibraryProduct {
    /// States `[rows, depth]`.
    pub x: Address,
    /// Weight `[outputs, depth]`.
    pub weight: Address,
    /// Bias `[outputs]`.
    pub bias: Address,
    /// `[rows, outputs]`.
    pub residual: Option<Address>,
    /// `[rows, outputs]`; may be `residual`.
    pub out: Address,
    /// Rows of the states.
    pub rows: u32,
    /// Rows of the weight, a multiple of eight.
    pub outputs: u32,
    /// Numbers of a row, a multiple of eight.
    pub depth: u32,
}

/// A device with its own memory and kernels. After an error other than of memory it is of no further use.
///
/// # Errors
/// Unless a call says otherwise, it fails with [`DeviceError::Failed`], which names the device and the call.
pub trait Device: Any + fmt::Debug + Send + Sync {
    /// What every device has.
    fn state(&self) -> &DeviceState;

    /// The name and the sizes of the device.
    fn facts(&self) -> &DeviceFacts {
        &self.state().facts
    }

    /// What tests and measurements change about the device.
    fn controls(&self) -> &Controls {
        &self.state().controls
    }

    /// Whose turn it is to queue work.
    fn turns(&self) -> &Turns {
        &self.state().turns
    }

    /// The queue of the next pinned buffer, in turn.
    fn next_copy_queue(&self) -> Queue {
        self.state().copy_queues.next()
    }

    /// The queue of the next pinned buffer whose copies are not to wait for kernels.
    fn next_upload_queue(&self) -> Queue {
        self.state().copy_queues.next_for_uploads()
    }

    /// The compute capability for which kernels are chosen: at most that of the device.
    fn capability(&self) -> (u32, u32) {
        self.controls().limited(self.facts().capability)
    }

    /// Whether kernels with wgmma and bulk tensor copies are chosen. A newer device that acts as one of this
    /// capability does not have them.
    fn copies_in_bulk(&self) -> bool {
        const CAPABILITY: (u32, u32) = (9, 0);
        self.facts().capability == CAPABILITY && self.capability() == CAPABILITY
    }

    /// The multiprocessors that blocks are launched for: at most those of the device.
    fn multiprocessors(&self) -> u32 {
        self.controls().limited_multiprocessors(self.facts().multiprocessors)
    }

    /// The shared memory of a block for which kernels are chosen, in bytes: at most that of the device.
    fn shared_bytes(&self) -> u32 {
        self.controls().limited_shared_bytes(self.facts().shared_bytes)
    }

    /// Whether NVIDIA's library computes what it can.
    fn uses_library(&self) -> bool {
        self.controls().uses_library()
    }

    /// Whether the device has failed in a way that only a new process can undo.
    fn is_lost(&self) -> bool {
        self.state().is_lost()
    }

    /// Bytes of memory that can still be allocated.
    fn free_bytes(&self) -> Result<u64, DeviceError>;

    /// Bytes of memory that may be planned for: those that are free, unless the memory is limited.
    fn available_bytes(&self) -> Result<u64, DeviceError> {
        Ok(self.controls().limited_memory(self.facts().memory_bytes, self.free_bytes()?))
    }

    /// Memory of `bytes` bytes, at least one, aligned to 256 bytes.
    fn allocate(&self, bytes: usize) -> Result<Address, DeviceError>;

    /// Gives memory back, after all queued work.
    ///
    /// # Safety
    /// `address` comes from [`Device::allocate`] and is not used again.
    unsafe fn free(&self, address: Address);

    /// Memory of the host of `bytes` bytes, at least one, that the device can copy from directly.
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError>;

    /// Gives memory of the host back.
    ///
    /// # Safety
    /// `start` comes from [`Device::allocate_pinned`] and is not used again, also not by queued work.
    unsafe fn free_pinned(&self, start: *mut u8);

    /// Queues a copy from the host to the device.
    ///
    /// # Safety
    /// There are `bytes` bytes at `from` and at `to`, which live and do not change until the copy is
    /// done.
    unsafe fn copy_in(
        &self,
        queue: Queue,
        to: Address,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), DeviceError>;

    /// Queues a copy from the device to the host.
    ///
    /// # Safety
    /// There are `bytes` bytes at `from` and at `to`, which live until the copy is done.
    unsafe fn copy_out(
        &self,
        queue: Queue,
        to: *mut u8,
        from: Address,
        bytes: usize,
    ) -> Result<(), DeviceError>;

    /// Queues for [`Queue::Compute`] that bytes are set to `byte`.
    ///
    /// # Safety
    /// There are `bytes` bytes at `to`, which live until that is done.
    unsafe fn fill(&self, to: Address, byte: u8, bytes: usize) -> Result<(), DeviceError>;

    /// Queues a copy inside the device for [`Queue::Compute`].
    ///
    /// # Safety
    /// There are `bytes` bytes at `from` and at `to`, which live until the copy is done.
    unsafe fn copy_within(&self, to: Address, from: Address, bytes: usize) -> Result<(), DeviceError>;

    /// Describes a matrix to bulk tensor copies, swizzled by 128 bytes, with zeros beyond the matrix. Only
    /// devices of compute capability 9.0 or higher have such copies.
    ///
    /// # Errors
    /// If the driver refuses the matrix.
    fn tensor_map(&self, matrix: &Matrix) -> Result<TensorMap, DeviceError>;

    /// Queues a kernel for [`Queue::Compute`]. If the device has a watcher, waits until the kernel has ended,
    /// so that a fault is reported under the name of its kernel.
    ///
    /// # Safety
    /// The argument is the structure that the kernel takes. The memory at its addresses is as large as the
    /// kernel requires and lives until the kernel is done.
    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        // SAFETY: the caller keeps the contract for the argument and the memory.
        self.watched(Watched::kernel(launch), &|| unsafe { self.queue_kernel(launch) })
    }

    /// Queues a product of NVIDIA's library for [`Queue::Compute`]. It is watched as kernels are.
    ///
    /// # Errors
    /// [`DeviceError::NoLibrary`] where the library is not found.
    ///
    /// # Safety
    /// The matrices are as [`LibraryProduct`] says, and live until the product is done.
    unsafe fn multiply(&self, product: &LibraryProduct) -> Result<(), DeviceError> {
        // SAFETY: the caller keeps the contract for the matrices.
        self.watched(Watched::product(product), &|| unsafe { self.queue_product(product) })
    }

    /// Does `work`, which queues one step. If the device has a watcher, waits until the step has ended.
    fn watched(&self, step: Watched, work: &dyn Fn() -> Result<(), DeviceError>) -> Result<(), DeviceError> {
        let Some(watcher) = self.controls().watcher() else { return work() };
        watcher(&step);
        let seconds = self.time(step.kernel, work)?;
        watcher(&Watched { seconds: Some(seconds), ..step });
        Ok(())
    }

    /// Queues a kernel for [`Queue::Compute`].
    ///
    /// # Safety
    /// As for [`Device::launch`].
    unsafe fn queue_kernel(&self, launch: &Launch<'_>) -> Result<(), DeviceError>;

    /// Queues a product of NVIDIA's library for [`Queue::Compute`].
    ///
    /// # Safety
    /// As for [`Device::multiply`].
    unsafe fn queue_product(&self, product: &LibraryProduct) -> Result<(), DeviceError>;

    /// Does `work`, which queues steps for [`Queue::Compute`], waits for them, and returns their seconds.
    /// `name` names them in errors.
    fn time(&self, name: &str, work: &dyn Fn() -> Result<(), DeviceError>) -> Result<f64, DeviceError>;

    /// Lets all work that is queued for `queue` from now on wait for what is queued for `other`. The host
    /// does not wait.
    fn follow(&self, queue: Queue, other: Queue) -> Result<(), DeviceError>;

    /// A mark that is not set: nothing is before it.
    fn mark(&self) -> Result<Mark, DeviceError>;

    /// Sets a mark of this device after what is queued so far, wherever it was before.
    fn set(&self, mark: &Mark, queue: Queue) -> Result<(), DeviceError>;

    /// Waits for all work before a mark of this device.
    fn wait(&self, mark: &Mark, waiting: Waiting) -> Result<(), DeviceError>;

    /// Waits for all work of a queue, but not for what other threads queue meanwhile.
    fn synchronize(&self, queue: Queue) -> Result<(), DeviceError>;
}

impl dyn Device {
    /// Launches a kernel that takes `args`, unless the grid is empty.
    ///
    /// # Errors
    /// [`DeviceError::TooLittleSharedMemory`], and those of [`Device::launch`].
    ///
    /// # Safety
    /// As for [`Device::launch`].
    pub unsafe fn run<T: NoUninit>(
        &self,
        kernel: &'static str,
        grid: [u32; 3],
        threads: u32,
        shared_bytes: u32,
        args: &T,
    ) -> Result<(), DeviceError> {
        if grid.contains(&0) {
            return Ok(());
        }
        let most = self.shared_bytes();
        if shared_bytes > most {
            let name = self.facts().name.clone();
            return Err(DeviceError::TooLittleSharedMemory { name, kernel, needed: shared_bytes, most });
        }
        let argument = bytemuck::bytes_of(args);
        // SAFETY: the caller keeps the contract for the argument and the arrays.
        unsafe { self.launch(&Launch { kernel, grid, threads, shared_bytes, argument }) }
    }
}

/// How many devices the driver sees.
///
/// # Errors
/// [`DeviceError::NotBuilt`], [`DeviceError::NoDriver`], [`DeviceError::StubDriver`],
/// [`DeviceError::DriverTooOld`].
pub(crate) fn count() -> Result<usize, DeviceError> {
    #[cfg(feature = "cuda")]
    return driver::count();
    #[cfg(not(feature = "cuda"))]
    Err(DeviceError::NotBuilt)
}

/// Opens the GPU with this number.
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

/// Multiplications and additions a second of cuBLAS in f16 matrix products with f32 sums, if it is there.
pub(crate) fn matrix_rate(device: &Arc<dyn Device>) -> Result<Option<f64>, DeviceError> {
    #[cfg(feature = "cuda")]
    return blas::matrix_rate(device);
    #[cfg(not(feature = "cuda"))]
    {
        let _ = device;
        Ok(None)
    }
}
