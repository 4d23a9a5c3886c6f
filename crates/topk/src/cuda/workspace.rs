//! The memory of a search, which is kept for the next one.

use std::sync::Arc;

use toller_gpu::{Arena, Device, DeviceError, Pinned};

use super::sizes::Sizes;

/// The most bytes of the pinned buffer, unless one query needs more: enough that a copy takes longer than
/// starting the copy.
const PINNED_BYTES: usize = 64 << 20;
/// The most bytes of the arena that are kept: enough for few queries. An index that is opened on the same
/// device later may need the rest.
const KEPT_BYTES: u64 = 256 << 20;
/// The most bytes of filters that are kept: enough for a bit of each of 500 million documents.
const KEPT_FILTERS: usize = 64 << 20;

/// Memory of a device and pinned memory of the host. To allocate either one takes longer than a search for
/// one query, so both are kept, except the memory of a large search. And the threads that copy.
#[derive(Debug)]
pub(crate) struct Workspace {
    device: Arc<dyn Device>,
    arena: Arena,
    /// Bytes of the arena.
    reserved: u64,
    /// Filters have memory of their own, since their sizes are not those of a group.
    filters: Arena,
    pinned: Option<Pinned>,
    /// The most threads that copy queries and hits.
    pub(crate) threads: usize,
}

impl Workspace {
    /// Without memory, and with one thread.
    pub(crate) fn new(device: &Arc<dyn Device>) -> Self {
        let [arena, filters] = [(); 2].map(|()| Arena::new(device.clone()));
        Self { device: device.clone(), arena, reserved: 0, filters, pinned: None, threads: 1 }
    }

    /// Memory for the arrays of a group of these sizes.
    pub(crate) fn arena(&mut self, sizes: Sizes) -> Result<&mut Arena, DeviceError> {
        if self.reserved < sizes.bytes() {
            self.reserved = 0;
            self.arena.reserve(sizes.bytes() as usize)?;
            self.reserved = sizes.bytes();
        }
        Ok(&mut self.arena)
    }

    /// A filter of a search, which `new` makes in the memory of filters. If there is too little, what earlier
    /// searches and groups left is given back. That waits for all work of the device.
    pub(crate) fn filter<T>(
        &mut self,
        new: impl Fn(&mut Arena) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        match new(&mut self.filters) {
            Err(error) if error.is_out_of_memory() => {
                let threads = self.threads;
                *self = Self { threads, ..Self::new(&self.device) };
                new(&mut self.filters)
            }
            made => made,
        }
    }

    /// Gives back the memory of a large search.
    pub(crate) fn shrink(&mut self) {
        if self.filters.bytes() > KEPT_FILTERS {
            self.filters = Arena::new(self.device.clone());
        }
        if self.reserved > KEPT_BYTES {
            self.arena = Arena::new(self.device.clone());
            self.reserved = 0;
        }
    }

    /// A buffer for as many of `count` items of `item` bytes as are copied together, and their number.
    pub(crate) fn pinned(&mut self, count: usize, item: usize) -> Result<(&mut Pinned, usize), DeviceError> {
        let together = (PINNED_BYTES / item).clamp(1, count);
        let pinned = match self.pinned.take() {
            Some(pinned) if pinned.size() >= together * item => pinned,
            Some(pinned) => pinned.resized(together * item)?,
            None => Pinned::new(&self.device, together * item)?,
        };
        Ok((self.pinned.insert(pinned), together))
    }
}
