//! What the system does to this process.

use std::{mem, ptr};

/// Whether SIGHUP does nothing to this process, as under `nohup`.
pub fn ignores_hangups() -> bool {
    // SAFETY: a `sigaction` may be all zeros, and without a new action the call only tells the present one.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        libc::sigaction(libc::SIGHUP, ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}
