//! Memory that gives itself back.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit};

use super::{Address, Device, Queue};
use crate::DeviceError;

/// Numbers in the memory of a device.
#[derive(Debug)]
pub struct Memory<T> {
    device: Arc<dyn Device>,
    address: Address,
    len: usize,
    of: PhantomData<T>,
}

impl<T: NoUninit + AnyBitPattern> Memory<T> {
    /// Room for `len` numbers, whose values are not set.
    pub fn new(device: &Arc<dyn Device>, len: usize) -> Result<Self, DeviceError> {
        let address = device.allocate((len * size_of::<T>()).max(1))?;
        Ok(Self { device: device.clone(), address, len, of: PhantomData })
    }

    /// The numbers of a slice.
    pub fn of(device: &Arc<dyn Device>, values: &[T]) -> Result<Self, DeviceError> {
        let memory = Self::new(device, values.len())?;
        memory.write(0, values)?;
        Ok(memory)
    }

    /// Numbers whose bytes are all `byte`.
    pub fn filled(device: &Arc<dyn Device>, len: usize, byte: u8) -> Result<Self, DeviceError> {
        let memory = Self::new(device, len)?;
        memory.fill(byte)?;
        Ok(memory)
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Where the first is.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Where number `index` is, of which there may be none behind the last.
    pub fn at(&self, index: usize) -> Address {
        assert!(index <= self.len, "{index} of {}", self.len);
        self.address.plus(index * size_of::<T>())
    }

    /// Sets the bytes of all numbers, in turn.
    pub fn fill(&self, byte: u8) -> Result<(), DeviceError> {
        // SAFETY: the memory has as many bytes.
        unsafe { self.device.fill(self.address, byte, self.len * size_of::<T>()) }
    }

    /// Writes `values` from number `first` on, in turn, and waits until they are read.
    pub fn write(&self, first: usize, values: &[T]) -> Result<(), DeviceError> {
        assert!(first + values.len() <= self.len, "{first} and {} of {}", values.len(), self.len);
        let bytes: &[u8] = bytemuck::cast_slice(values);
        // SAFETY: there is room, and the values live until the queue is done.
        unsafe { self.device.copy_in(Queue::Compute, self.at(first), bytes.as_ptr(), bytes.len())? };
        self.device.synchronize(Queue::Compute)
    }

    /// The numbers from `first` on, when what is queued is done.
    pub fn read(&self, first: usize, values: &mut [T]) -> Result<(), DeviceError> {
        assert!(first + values.len() <= self.len, "{first} and {} of {}", values.len(), self.len);
        if values.is_empty() {
            return Ok(());
        }
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        // SAFETY: both have as many bytes.
        unsafe { self.device.copy_out(bytes.as_mut_ptr(), self.at(first), bytes.len()) }
    }

    /// All numbers, when what is queued is done.
    pub fn to_vec(&self) -> Result<Vec<T>, DeviceError> {
        let mut values = vec![T::zeroed(); self.len];
        self.read(0, &mut values)?;
        Ok(values)
    }
}

impl<T> Drop for Memory<T> {
    fn drop(&mut self) {
        // SAFETY: of `allocate`, and nobody has it any more.
        unsafe { self.device.free(self.address) };
    }
}

/// Memory of the host that a device copies from without a detour, with a queue of its own.
#[derive(Debug)]
pub struct Pinned {
    device: Arc<dyn Device>,
    queue: Queue,
    start: *mut u8,
    len: usize,
}

// SAFETY: the pointer is to memory of its own.
unsafe impl Send for Pinned {}

impl Pinned {
    /// Room for `len` bytes, all zero. No other buffer of the device has the same `number`, which is below [`COPY_QUEUES`](super::COPY_QUEUES).
    pub fn new(device: &Arc<dyn Device>, len: usize, number: usize) -> Result<Self, DeviceError> {
        let start = device.allocate_pinned(len.max(1))?;
        // SAFETY: there is room for `len` bytes.
        unsafe { start.write_bytes(0, len) };
        Ok(Self { device: device.clone(), queue: Queue::Copy(number), start, len })
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The bytes, when they are copied.
    pub fn bytes_mut(&mut self) -> Result<&mut [u8], DeviceError> {
        self.synchronize()?;
        // SAFETY: `len` bytes, set when they were allocated; no copy is under way.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start, self.len) })
    }

    /// Copies the first `bytes` to the device, in turn.
    ///
    /// # Safety
    /// There is room at `to` until that is done.
    pub unsafe fn copy_to(&self, to: Address, bytes: usize) -> Result<(), DeviceError> {
        assert!(bytes <= self.len, "{bytes} of {}", self.len);
        // SAFETY: the bytes are read before they are written again or dropped: see `bytes_mut` and `drop`.
        unsafe { self.device.copy_in(self.queue, to, self.start, bytes) }
    }

    /// Waits until what was copied is there.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.device.synchronize(self.queue)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // A failed device copies nothing any more.
        let _ = self.synchronize();
        // SAFETY: of `allocate_pinned`, and nothing reads it any more.
        unsafe { self.device.free_pinned(self.start) };
    }
}
