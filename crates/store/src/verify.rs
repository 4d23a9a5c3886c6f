//! Progress of the verification of checksums.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::checksum::ChecksumHasher;
use crate::{Checksum, OpenOptions};

/// Bytes hashed between two reports of progress.
const STEP_BYTES: usize = 4 << 20;

/// How far the verification of an opened store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyProgress {
    /// Bytes read and hashed, all threads together.
    pub bytes_done: u64,
    /// Bytes of all shards.
    pub bytes_total: u64,
}

/// Hashes shards, from several threads at once, and reports how far it is.
pub(crate) struct Verifier<'a> {
    options: &'a OpenOptions<'a>,
    bytes_done: AtomicU64,
    bytes_total: u64,
}

impl<'a> Verifier<'a> {
    pub(crate) fn new(options: &'a OpenOptions<'a>, bytes_total: u64) -> Self {
        Self { options, bytes_done: AtomicU64::new(0), bytes_total }
    }

    /// The checksum of `bytes`, or `None` if the options leave verification out.
    pub(crate) fn checksum(&self, bytes: &[u8]) -> Option<Checksum> {
        if !self.options.verify {
            return None;
        }
        let mut hasher = ChecksumHasher::default();
        for step in bytes.chunks(STEP_BYTES) {
            hasher.update(step);
            let step_bytes = step.len() as u64;
            let bytes_done = self.bytes_done.fetch_add(step_bytes, Ordering::Relaxed) + step_bytes;
            if let Some(report) = self.options.progress {
                report(VerifyProgress { bytes_done, bytes_total: self.bytes_total });
            }
        }
        Some(hasher.finish())
    }
}
