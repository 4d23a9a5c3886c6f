//! Memory of a device, and pinned memory of the host, that is given back when it is dropped.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit};

use super::{Address, Device, Mark, Queue, Waiting};
use crate::arena::{Arena, Block};
use crate::error::DeviceError;

/// Numbers in the memory of a device. Calls fail as those of a [`Device`] do.
#[derive(Debug)]
pub struct Memory<T> {
    device: Arc<dyn Device>,
    address: Address,
    len: usize,
    /// The place in an arena, if the memory is a part of one.
    block: Option<Block>,
    of: PhantomData<T>,
}

impl<T: NoUninit + AnyBitPattern> Memory<T> {
    /// Memory for `len` numbers, which are not set.
    pub fn new(device: &Arc<dyn Device>, len: usize) -> Result<Self, DeviceError> {
        let address = device.allocate((len * size_of::<T>()).max(1))?;
        Ok(Self { device: device.clone(), address, len, block: None, of: PhantomData })
    }

    /// Memory of an arena for `len` numbers, which are not set.
    pub fn within(arena: &mut Arena, len: usize) -> Result<Self, DeviceError> {
        let block = arena.take(len * size_of::<T>())?;
        let (device, address) = (arena.device().clone(), block.address());
        Ok(Self { device, address, len, block: Some(block), of: PhantomData })
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
    pub fn count(&self) -> usize {
        self.len
    }

    /// The address of the first number.
    pub fn address(&self) -> Address {
        self.address
    }

    /// The address of number `index`, or the end of the memory.
    pub fn at(&self, index: usize) -> Address {
        assert!(index <= self.len, "{index} of {}", self.len);
        self.address.plus(index * size_of::<T>())
    }

    /// Queues that all bytes are set to `byte`.
    pub fn fill(&self, byte: u8) -> Result<(), DeviceError> {
        // SAFETY: the memory has these bytes, and giving it back waits for the queue.
        unsafe { self.device.fill(self.address, byte, self.len * size_of::<T>()) }
    }

    /// Writes `values` from number `first` on, after all queued work, and waits until they are written.
    pub fn write(&self, first: usize, values: &[T]) -> Result<(), DeviceError> {
        assert!(first + values.len() <= self.len, "{first} and {} of {}", values.len(), self.len);
        let bytes: &[u8] = bytemuck::cast_slice(values);
        // SAFETY: the memory has room for them, as asserted, and the values live until the wait below.
        unsafe { self.device.copy_in(Queue::Compute, self.at(first), bytes.as_ptr(), bytes.len())? };
        self.device.synchronize(Queue::Compute)
    }

    /// Reads the numbers from `first` on, after all queued work.
    pub fn read(&self, first: usize, values: &mut [T]) -> Result<(), DeviceError> {
        assert!(first + values.len() <= self.len, "{first} and {} of {}", values.len(), self.len);
        if values.is_empty() {
            return Ok(());
        }
        // A copy to memory that is not pinned would keep the thread busy until all is done.
        self.device.synchronize(Queue::Compute)?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        // SAFETY: the memory has these numbers, as asserted, and `values` has room for them until the wait.
        unsafe { self.device.copy_out(Queue::Compute, bytes.as_mut_ptr(), self.at(first), bytes.len())? };
        self.device.synchronize(Queue::Compute)
    }

    /// All numbers, after all queued work.
    pub fn to_vec(&self) -> Result<Vec<T>, DeviceError> {
        let mut values = vec![T::zeroed(); self.len];
        self.read(0, &mut values)?;
        Ok(values)
    }
}

impl<T> Drop for Memory<T> {
    fn drop(&mut self) {
        if self.block.is_none() {
            // SAFETY: the address comes from `allocate`, and this is its last use.
            unsafe { self.device.free(self.address) };
        }
    }
}

/// Memory of the host that a device copies from and to directly, with its own copy queue. Calls fail as those
/// of a [`Device`] do.
#[derive(Debug)]
pub struct Pinned {
    device: Arc<dyn Device>,
    queue: Queue,
    start: *mut u8,
    len: usize,
    /// After the last copy.
    copied: Mark,
    /// How its copies are waited for.
    waiting: Waiting,
}

// SAFETY: nothing else has the pointer.
unsafe impl Send for Pinned {}

impl Pinned {
    /// A buffer of `len` bytes, all zero, with a copy queue that few others have.
    pub fn new(device: &Arc<dyn Device>, len: usize) -> Result<Self, DeviceError> {
        Self::in_queue(device.clone(), device.next_copy_queue(), Waiting::Awake, len)
    }

    /// The same for uploads: its copies do not wait for kernels, and threads that wait for them sleep, so
    /// that others can fill their buffers.
    pub fn for_uploads(device: &Arc<dyn Device>, len: usize) -> Result<Self, DeviceError> {
        Self::in_queue(device.clone(), device.next_upload_queue(), Waiting::Asleep, len)
    }

    /// A buffer of `len` bytes in place of this one, with its queue.
    pub fn resized(self, len: usize) -> Result<Self, DeviceError> {
        let (device, queue, waiting) = (self.device.clone(), self.queue, self.waiting);
        drop(self);
        Self::in_queue(device, queue, waiting, len)
    }

    fn in_queue(
        device: Arc<dyn Device>,
        queue: Queue,
        waiting: Waiting,
        len: usize,
    ) -> Result<Self, DeviceError> {
        // Before the memory, which an error would leave allocated.
        let copied = device.mark()?;
        let start = device.allocate_pinned(len.max(1))?;
        // SAFETY: `len` bytes were just allocated.
        unsafe { start.write_bytes(0, len) };
        Ok(Self { device, queue, start, len, copied, waiting })
    }

    /// How many bytes there are.
    pub fn size(&self) -> usize {
        self.len
    }

    /// The bytes, after their copy is done.
    pub fn bytes_mut(&mut self) -> Result<&mut [u8], DeviceError> {
        self.synchronize()?;
        // SAFETY: `len` bytes, which are set at first; the last copy was waited for, so that none reads them.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start, self.len) })
    }

    /// Queues a copy of the first `bytes` bytes to the device.
    ///
    /// # Safety
    /// There are `bytes` bytes at `to`, which live until the copy is done.
    pub unsafe fn copy_to(&mut self, to: Address, bytes: usize) -> Result<(), DeviceError> {
        assert!(bytes <= self.len, "{bytes} of {}", self.len);
        // SAFETY: `bytes_mut` and `drop` wait for the copy before the bytes change or are given back; the
        // caller guarantees `to`.
        unsafe { self.device.copy_in(self.queue, to, self.start, bytes)? };
        self.note_copy()
    }

    /// Remembers the copy that was just queued, or waits for it if the mark cannot be set.
    fn note_copy(&mut self) -> Result<(), DeviceError> {
        self.device.set(&self.copied, self.queue).or_else(|_| self.device.synchronize(self.queue))
    }

    /// Lets kernels that are queued from now on wait for the copies. The host does not wait, unless memory is
    /// missing.
    pub fn precede_kernels(&self) -> Result<(), DeviceError> {
        self.device.follow(Queue::Compute, self.queue).or_else(|_| self.synchronize())
    }

    /// Reads the numbers from `first` on, `count` of them, after all queued kernels.
    pub fn read<T: NoUninit + AnyBitPattern>(
        &mut self,
        from: &Memory<T>,
        first: usize,
        count: usize,
    ) -> Result<&[T], DeviceError> {
        self.copy_from(from, first, count)?;
        Ok(bytemuck::cast_slice(&self.bytes_mut()?[..count * size_of::<T>()]))
    }

    /// Queues that the numbers from `first` on, `count` of them, are copied to the first bytes, after all
    /// queued kernels. Memory that is given back before the copy is done may get other content first.
    pub fn copy_from<T: NoUninit + AnyBitPattern>(
        &mut self,
        from: &Memory<T>,
        first: usize,
        count: usize,
    ) -> Result<(), DeviceError> {
        let bytes = count * size_of::<T>();
        assert!(first + count <= from.count() && bytes <= self.len, "{count} numbers, {bytes} bytes");
        if bytes == 0 {
            return Ok(());
        }
        self.device.follow(self.queue, Queue::Compute)?;
        // SAFETY: both have these bytes, as asserted. Memory of the device is freed only when all queued work
        // is done, and `bytes_mut` and `drop` wait for the copy.
        unsafe { self.device.copy_out(self.queue, self.start, from.at(first), bytes)? };
        self.note_copy()
    }

    /// Waits until all copies are done, but not for what other buffers queue later.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.device.wait(&self.copied, self.waiting)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // A device that has failed does not copy any more.
        let _ = self.synchronize();
        // SAFETY: the pointer comes from `allocate_pinned`, and the last copy was waited for.
        unsafe { self.device.free_pinned(self.start) };
    }
}
