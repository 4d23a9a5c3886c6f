//! Which copy queue a pinned buffer gets.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Queue;

/// The number of copy queues: more than there are pinned buffers in use at a time, as a rule. Buffers that
/// share a queue wait for each other's copies, and for the kernels that those wait for. With that of kernels
/// they are fewer than the driver's eight connections: streams that share one wait for each other.
pub(super) const COPY_QUEUES: usize = 6;

/// Gives out the copy queues of a device in turn.
#[derive(Debug, Default)]
pub(super) struct CopyQueues {
    given: AtomicUsize,
}

impl CopyQueues {
    pub(super) fn next(&self) -> Queue {
        Queue::Copy(self.given.fetch_add(1, Ordering::Relaxed) % COPY_QUEUES)
    }
}
