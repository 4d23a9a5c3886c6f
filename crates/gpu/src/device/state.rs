//! What every device has, however it computes.

use std::sync::atomic::{AtomicBool, Ordering};

use super::copy_queues::CopyQueues;
use super::{Controls, DeviceFacts};
use crate::turns::Turns;

/// What every device has, however it computes.
#[derive(Debug)]
pub struct DeviceState {
    pub(super) facts: DeviceFacts,
    pub(super) controls: Controls,
    pub(super) copy_queues: CopyQueues,
    pub(super) turns: Turns,
    is_lost: AtomicBool,
}

#[cfg_attr(
    not(any(test, feature = "cuda", feature = "shim")),
    expect(dead_code, reason = "a build without devices makes none")
)]
impl DeviceState {
    /// That of a device which has not been used.
    pub(super) fn new(facts: DeviceFacts) -> Self {
        Self {
            facts,
            controls: Controls::default(),
            copy_queues: CopyQueues::default(),
            turns: Turns::default(),
            is_lost: AtomicBool::new(false),
        }
    }

    /// Whether the device has failed in a way that only a new process can undo.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Notes that it has.
    pub(super) fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
    }
}
