//! The threads of this process. A forked child has none of its parent's, so it gets its own.

use std::iter;
use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use rayon::{ThreadPool, ThreadPoolBuilder};
use toller_engine::check_threads;

use crate::error::Failed;

/// The pool of one process.
struct Pool {
    process: u32,
    /// What was asked for, 0 for as many as there are processors.
    asked: usize,
    pool: ThreadPool,
    /// The pool that was the latest before.
    before: Option<&'static Self>,
}

/// The latest pool. Never a lock: a lock that is held while another thread forks stays held in the child. All
/// pools are kept: work may still run in them, and they are used again for the same number of threads.
static POOL: AtomicPtr<Pool> = AtomicPtr::new(ptr::null_mut());

/// The number of threads that was asked for, 0 for as many as there are processors.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// Computes in this many threads from now on, 0 for as many as there are processors.
pub(crate) fn ask_for(threads: usize) -> Result<(), Failed> {
    check_threads(threads)?;
    ASKED.store(threads, Ordering::Relaxed);
    Ok(())
}

/// The pool to compute in.
pub(crate) fn pool() -> Result<&'static ThreadPool, Failed> {
    let (process, asked) = (process::id(), ASKED.load(Ordering::Relaxed));
    let latest = POOL.load(Ordering::Acquire);
    // SAFETY: POOL is null or holds a pool that is never freed.
    let before: Option<&'static Pool> = unsafe { latest.as_ref() };
    let mut pools = iter::successors(before, |pool| pool.before);
    if let Some(fitting) = pools.find(|pool| (pool.process, pool.asked) == (process, asked)) {
        return Ok(&fitting.pool);
    }
    let pool = ThreadPoolBuilder::new().num_threads(asked).thread_name(|number| format!("toller-{number}"));
    let pool = pool.build().map_err(|error| {
        Failed::other(format!("cannot start threads: {error}")).hint("call set_num_threads with fewer")
    })?;
    let own = Box::into_raw(Box::new(Pool { process, asked, pool, before }));
    match POOL.compare_exchange(latest, own, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: it is in POOL now.
        Ok(_) => Ok(unsafe { &(*own).pool }),
        Err(_) => {
            // Another thread was quicker.
            // SAFETY: nobody else has seen this pool.
            drop(unsafe { Box::from_raw(own) });
            self::pool()
        }
    }
}
