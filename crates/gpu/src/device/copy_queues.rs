//! Which copy queue a pinned buffer gets.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Queue;

/// The number of copy queues: more than there are pinned buffers in use at a time, as a rule. Buffers that
/// share a queue wait for each other's copies, and for the kernels that those wait for.
pub(super) const COPY_QUEUES: usize = 8;

/// Gives out the copy queues of a device in turn.
#[derive(Debug, Default)]
pub struct CopyQueues {
    given: AtomicUsize,
}

impl CopyQueues {
    pub(super) fn next(&self) -> Queue {
        Queue::Copy(self.given.fetch_add(1, Ordering::Relaxed) % COPY_QUEUES)
    }
}
