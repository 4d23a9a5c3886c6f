//! The allocator of the binary.

use libmimalloc_sys::{mi_option_set, mi_option_t, mi_option_use_numa_nodes};

// Many threads make and drop small values: identifiers, terms, lines.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// mi_option_purge_delay, which has no name in the crate: the milliseconds until free pages go back to the
/// system, or -1 for never. It precedes this option.
const PURGE_DELAY: mi_option_t = mi_option_use_numa_nodes - 1;

/// Keeps free pages, for work that needs them again at once. A training step frees hundreds of megabytes
/// that the next one asks for, and fresh pages took a third of its time.
pub fn keep_free_pages() {
    // SAFETY: the function stores a number, at any time.
    unsafe { mi_option_set(PURGE_DELAY, -1) }
}
