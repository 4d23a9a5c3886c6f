//! What the system does to this process, and lets it do.

use std::{mem, ptr};

/// Lets a write beyond the limit of a file's size (`ulimit -f`) fail with an error, where the signal SIGXFSZ
/// would end the process without a word; and lets as many files be open as the system allows, where shells
/// set a lower limit and a merge has all its parts open. Only for the program: a library must leave a process
/// to its owner.
pub fn prepare() {
    // If nobody can listen, the process ends as it would anyway.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    raise_file_limit();
}

/// Raises the limit of open files as far as a user may.
fn raise_file_limit() {
    // SAFETY: an `rlimit` may be all zeros, and both calls are given a valid one.
    unsafe {
        let mut limit: libc::rlimit = mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            // If the system refuses, the limit stays, and reaching it is an error with a remedy.
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Whether SIGHUP does nothing to this process, as under `nohup`.
pub fn ignores_hangups() -> bool {
    // SAFETY: a `sigaction` may be all zeros, and without a new action the call only tells the present one.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        libc::sigaction(libc::SIGHUP, ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}
