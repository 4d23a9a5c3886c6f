//! How many threads compute.

use anyhow::Context;

/// Sets up the thread pool that every command computes with, and returns its size.
pub fn set_up(asked: Option<u16>) -> anyhow::Result<usize> {
    let mut builder = rayon::ThreadPoolBuilder::new();
    if let Some(threads) = asked {
        builder = builder.num_threads(usize::from(threads));
    }
    builder.build_global().context("cannot start the threads")?;
    Ok(rayon::current_num_threads())
}
