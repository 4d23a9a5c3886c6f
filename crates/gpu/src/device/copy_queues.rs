//! Which copy queue a pinned buffer gets.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Queue;

/// Queues of buffers whose copies may wait for kernels. Buffers that share a queue wait for each other's
/// copies, and for the kernels that those wait for.
const SHARED: usize = 4;

/// The number of copy queues; the last ones are those of uploads, whose copies wait for nothing. With that of
/// kernels they are fewer than the driver's eight connections: streams that share one wait for each other.
pub(super) const COPY_QUEUES: usize = SHARED + 2;

/// Gives out the copy queues of a device in turn.
#[derive(Debug, Default)]
pub(super) struct CopyQueues {
    given: AtomicUsize,
    given_to_uploads: AtomicUsize,
}

impl CopyQueues {
    pub(super) fn next(&self) -> Queue {
        Queue::Copy(self.given.fetch_add(1, Ordering::Relaxed) % SHARED)
    }

    pub(super) fn next_for_uploads(&self) -> Queue {
        Queue::Copy(SHARED + self.given_to_uploads.fetch_add(1, Ordering::Relaxed) % (COPY_QUEUES - SHARED))
    }
}
