//! Memory that is kept for the next work: slabs of a device's memory, cut into blocks that are given back
//! when they are dropped.
//!
//! Kernels are queued in order, so a block can be used again as soon as the last kernel that reads it is
//! queued. A copy of another queue into the block has to wait for the kernels first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::device::{Address, Device, Memory, Pinned};
use crate::error::DeviceError;

/// Blocks begin at multiples of this.
const ALIGNMENT: usize = 256;

/// Slabs. Work that is not larger than the work before finds room, and allocates nothing. Calls fail as those
/// of a [`Device`] do.
#[derive(Debug)]
pub struct Arena {
    device: Arc<dyn Device>,
    slabs: Vec<Arc<Slab>>,
}

#[derive(Debug)]
struct Slab {
    memory: Memory<u8>,
    /// Starts and sizes of what is free, in order.
    free: Mutex<Vec<(usize, usize)>>,
}

/// Bytes of a slab. To copy them fails as calls of a [`Device`] do.
#[derive(Debug)]
pub struct Block {
    slab: Arc<Slab>,
    start: usize,
    size: usize,
}

impl Arena {
    /// Without slabs.
    pub fn new(device: Arc<dyn Device>) -> Self {
        Self { device, slabs: Vec::new() }
    }

    pub(crate) fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// Bytes of all slabs.
    pub fn bytes(&self) -> usize {
        self.slabs.iter().map(|slab| slab.memory.count()).sum()
    }

    /// Replaces all slabs by one of this many bytes. Blocks that are in use keep theirs.
    pub fn reserve(&mut self, bytes: usize) -> Result<(), DeviceError> {
        self.slabs.clear();
        self.slabs.push(Arc::new(Slab::new(&self.device, bytes)?));
        Ok(())
    }

    /// A block of this many bytes. Its content is undefined.
    pub fn take(&mut self, bytes: usize) -> Result<Block, DeviceError> {
        let size = bytes.max(1).next_multiple_of(ALIGNMENT);
        if let Some(block) = self.slabs.iter().find_map(|slab| slab.take(size)) {
            return Ok(block);
        }
        let slab = Arc::new(Slab::new(&self.device, size)?);
        self.slabs.push(slab.clone());
        // The block is all of the slab, so nothing of it is free.
        slab.free().clear();
        Ok(Block { slab, start: 0, size })
    }
}

impl Slab {
    fn new(device: &Arc<dyn Device>, bytes: usize) -> Result<Self, DeviceError> {
        let memory = Memory::new(device, bytes)?;
        Ok(Self { memory, free: Mutex::new(vec![(0, bytes / ALIGNMENT * ALIGNMENT)]) })
    }

    fn free(&self) -> MutexGuard<'_, Vec<(usize, usize)>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first place where `size` bytes are free.
    fn take(self: &Arc<Self>, size: usize) -> Option<Block> {
        let mut free = self.free();
        let place = free.iter().position(|&(_, room)| room >= size)?;
        let (start, room) = free[place];
        if room == size {
            free.remove(place);
        } else {
            free[place] = (start + size, room - size);
        }
        Some(Block { slab: self.clone(), start, size })
    }
}

impl Block {
    /// The address of the first byte.
    pub fn address(&self) -> Address {
        self.slab.memory.at(self.start)
    }

    /// Queues that the first `bytes` bytes are copied to pinned memory, after all queued kernels. A block
    /// that is dropped before the copy is done may get other content first.
    pub fn copy_to(&self, pinned: &mut Pinned, bytes: usize) -> Result<(), DeviceError> {
        assert!(bytes <= self.size, "{bytes} of {} bytes", self.size);
        pinned.copy_from(&self.slab.memory, self.start, bytes)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let mut free = self.slab.free();
        let place = free.partition_point(|&(start, _)| start < self.start);
        free.insert(place, (self.start, self.size));
        // With what is free after it, and before it.
        for first in [place, place.saturating_sub(1)] {
            if let [(start, size), (next, more), ..] = free[first..]
                && start + size == next
            {
                free[first].1 += more;
                free.remove(first + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Arena, Block};
    use crate::Devices;

    #[test]
    fn blocks_are_apart_and_used_again() {
        let devices = Devices::shim(&[1 << 20]);
        let device = devices.iter().next().unwrap().clone();
        let mut arena = Arena::new(device.clone());
        arena.reserve(16 << 10).unwrap();
        let left = device.free_bytes().unwrap();
        let mut state = 1_u64;
        let mut held: Vec<Block> = Vec::new();
        for _ in 0..2000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let random = (state >> 33) as usize;
            if held.len() < 6 && random.is_multiple_of(2) {
                held.push(arena.take(random % 1500).unwrap());
            } else if !held.is_empty() {
                held.swap_remove(random % held.len());
            }
            let mut places: Vec<_> =
                held.iter().map(|block| (block.address().0, block.size as u64)).collect();
            places.sort_unstable();
            assert!(places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{places:?}");
        }
        assert_eq!(device.free_bytes().unwrap(), left, "six blocks of 1.5 KB fit 16 KB");
        held.clear();
        assert_eq!(*arena.slabs[0].free(), [(0, 16 << 10)], "neighbours are joined");
        assert!(arena.take(2 << 20).is_err(), "more than the device has");
        drop(arena.take(20 << 10).unwrap());
        assert!(device.free_bytes().unwrap() < left, "a larger block has a slab of its own");
    }
}
