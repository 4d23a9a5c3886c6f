//! How many threads compute.

use crate::error::Remedied;

/// Sets up the thread pool that every command computes with, and returns its size.
pub fn set_up(asked: Option<u16>) -> crate::Result<usize> {
    let mut builder = rayon::ThreadPoolBuilder::new();
    if let Some(threads) = asked {
        builder = builder.num_threads(usize::from(threads));
    }
    builder
        .build_global()
        .map_err(|error| Remedied::without_remedy(format!("cannot start the threads: {error}")))?;
    Ok(rayon::current_num_threads())
}
