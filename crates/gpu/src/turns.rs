//! Whose turn it is to queue work.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use toller_ir::locked;

/// Turns at queueing the steps of a piece of work on a device. Without them, two threads that begin at the
/// same time mix their steps: both end at the same time, and the device is idle while both prepare the next.
#[derive(Clone, Debug, Default)]
pub struct Turns(Arc<State>);

#[derive(Debug, Default)]
struct State {
    is_taken: Mutex<bool>,
    given_back: Condvar,
}

/// A turn, until it is dropped. A thread that has one must not take another of the same device.
#[derive(Debug)]
pub struct Turn(Arc<State>);

impl Turns {
    /// Waits for a turn.
    pub fn take(&self) -> Turn {
        let state = &self.0;
        let taken = locked(&state.is_taken);
        let free = state.given_back.wait_while(taken, |taken| *taken);
        *free.unwrap_or_else(PoisonError::into_inner) = true;
        Turn(self.0.clone())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *locked(&self.0.is_taken) = false;
        self.0.given_back.notify_one();
    }
}
