//! The CPU in the place of a GPU: the shim executes the kernels' own sources. For tests.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use toller_ir::locked;
use toller_shim::Linear;

use super::{
    Address, Device, DeviceFacts, DeviceState, Launch, LibraryProduct, Mark, Matrix, Queue, TensorMap,
    Waiting,
};
use crate::error::DeviceError;

/// Held by a launch of any stand-in: the shim runs one at a time.
static LAUNCHES: Mutex<()> = Mutex::new(());

/// A stand-in for a GPU, with the shared memory of an H100.
#[derive(Debug)]
pub(crate) struct HostDevice {
    state: DeviceState,
    /// The bytes of each allocation, by address.
    allocated: Mutex<HashMap<u64, usize>>,
    /// The layout of each pinned buffer of the host, by address.
    pinned: Mutex<HashMap<usize, Layout>>,
}

/// Addresses are multiples of this.
const ALIGNMENT: usize = 256;

impl HostDevice {
    /// A device with `memory_bytes` bytes of memory.
    pub(crate) fn new(number: usize, memory_bytes: u64) -> Self {
        let facts = DeviceFacts {
            name: format!("shim:{number}"),
            capability: (9, 0),
            multiprocessors: 2,
            shared_bytes: 227 << 10,
            memory_bytes,
        };
        Self { state: DeviceState::new(facts), allocated: Mutex::default(), pinned: Mutex::default() }
    }

    fn allocated(&self) -> MutexGuard<'_, HashMap<u64, usize>> {
        locked(&self.allocated)
    }
}

impl Device for HostDevice {
    fn state(&self) -> &DeviceState {
        &self.state
    }

    fn free_bytes(&self) -> Result<u64, DeviceError> {
        let used: usize = self.allocated().values().map(|bytes| bytes.next_multiple_of(ALIGNMENT)).sum();
        Ok(self.state.facts.memory_bytes.saturating_sub(used as u64))
    }

    fn allocate(&self, bytes: usize) -> Result<Address, DeviceError> {
        let free = self.free_bytes()?;
        if bytes.next_multiple_of(ALIGNMENT) as u64 > free {
            let (name, needed) = (self.state.facts.name.clone(), bytes as u64);
            return Err(DeviceError::TooLittleMemory { name, free, needed, what: "a buffer".to_owned() });
        }
        let address = toller_shim::allocate(bytes).addr() as u64;
        self.allocated().insert(address, bytes);
        Ok(Address(address))
    }

    unsafe fn free(&self, address: Address) {
        self.allocated().remove(&address.0);
        // SAFETY: the caller keeps the contract for the address and its last use.
        unsafe { toller_shim::free(pointer(address)) };
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        let layout = Layout::from_size_align(bytes, ALIGNMENT).map_err(|error| DeviceError::Failed {
            name: self.state.facts.name.clone(),
            call: "allocate_pinned".to_owned(),
            message: error.to_string(),
            code: 0,
        })?;
        // SAFETY: the layout is of at least one byte, as `Device` requires.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        locked(&self.pinned).insert(start.addr(), layout);
        Ok(start)
    }

    unsafe fn free_pinned(&self, start: *mut u8) {
        let layout = locked(&self.pinned).remove(&start.addr());
        if let Some(layout) = layout {
            // SAFETY: `allocate_pinned` allocated it with this layout.
            unsafe { dealloc(start, layout) };
        }
    }

    unsafe fn copy_in(
        &self,
        _: Queue,
        to: Address,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller guarantees `bytes` bytes at both places, one of the host and one of the device.
        unsafe { pointer(to).copy_from_nonoverlapping(from, bytes) };
        Ok(())
    }

    unsafe fn copy_out(&self, _: Queue, to: *mut u8, from: Address, bytes: usize) -> Result<(), DeviceError> {
        // SAFETY: the caller guarantees `bytes` bytes at both places, one of the host and one of the device.
        unsafe { to.copy_from_nonoverlapping(pointer(from), bytes) };
        Ok(())
    }

    unsafe fn fill(&self, to: Address, byte: u8, bytes: usize) -> Result<(), DeviceError> {
        // SAFETY: the caller guarantees `bytes` bytes at `to`.
        unsafe { pointer(to).write_bytes(byte, bytes) };
        Ok(())
    }

    unsafe fn copy_within(&self, to: Address, from: Address, bytes: usize) -> Result<(), DeviceError> {
        // SAFETY: the caller guarantees `bytes` bytes at both places.
        unsafe { pointer(to).copy_from(pointer(from), bytes) };
        Ok(())
    }

    fn tensor_map(&self, matrix: &Matrix) -> Result<TensorMap, DeviceError> {
        let Matrix { start, rows, row_bytes, box_rows } = *matrix;
        let words = toller_shim::tensor_map(pointer(start), rows, row_bytes, box_rows);
        words.map(TensorMap).ok_or_else(|| DeviceError::Failed {
            name: self.state.facts.name.clone(),
            call: "tensor_map".to_owned(),
            message: format!("{matrix:?}"),
            code: 0,
        })
    }

    unsafe fn queue_kernel(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let _one = locked(&LAUNCHES);
        let Launch { kernel, grid: [x, y, _], threads, shared_bytes, argument } = *launch;
        // SAFETY: `_one` makes this the only launch, and the caller keeps the contract for the argument; the
        // shim checks where the kernel reads and writes.
        let ran = unsafe { toller_shim::launch(kernel, argument, [x, y], threads, shared_bytes) };
        ran.map_err(|message| {
            self.state.lose();
            let (name, call) = (self.state.facts.name.clone(), kernel.to_owned());
            DeviceError::Failed { name, call, message, code: 0 }
        })
    }

    unsafe fn queue_product(&self, product: &LibraryProduct) -> Result<(), DeviceError> {
        let LibraryProduct { x, weight, bias, residual, out, rows, outputs, depth } = *product;
        let halves = |address| pointer(address).cast::<u16>();
        let residual = residual.map_or(std::ptr::null(), |residual| halves(residual).cast_const());
        let (x, weight, bias, out) = (halves(x), halves(weight), halves(bias), halves(out));
        // SAFETY: the caller keeps the contract for the matrices.
        unsafe { toller_shim::multiply(Linear { x, weight, bias, residual, out, rows, outputs, depth }) };
        Ok(())
    }

    fn time(&self, _: &str, work: &dyn Fn() -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
        let started = Instant::now();
        work()?;
        Ok(started.elapsed().as_secs_f64())
    }

    fn follow(&self, _: Queue, _: Queue) -> Result<(), DeviceError> {
        Ok(())
    }

    fn mark(&self) -> Result<Mark, DeviceError> {
        Ok(Mark(Box::new(())))
    }

    fn set(&self, _: &Mark, _: Queue) -> Result<(), DeviceError> {
        Ok(())
    }

    fn wait(&self, _: &Mark, _: Waiting) -> Result<(), DeviceError> {
        Ok(())
    }

    fn synchronize(&self, _: Queue) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// The memory at an address: the shim uses the memory of the process.
fn pointer(address: Address) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address.0 as usize)
}
