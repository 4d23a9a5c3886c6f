//! The verification of checksums, and its progress.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Checksum, ChecksumHasher};

/// Bytes hashed between two reports of progress.
const STEP_BYTES: usize = 4 << 20;

/// How checksummed files are opened.
#[derive(Clone, Copy)]
pub struct OpenOptions<'a> {
    /// Whether to read all files and verify their checksums, in parallel in rayon's current pool. Manifests
    /// and headers are checked in any case. On by default.
    pub verify: bool,
    /// Called while verifying, every few megabytes, from several threads at once.
    pub progress: Option<&'a (dyn Fn(VerifyProgress) + Sync)>,
}

impl Default for OpenOptions<'_> {
    fn default() -> Self {
        Self { verify: true, progress: None }
    }
}

/// The progress of verifying files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyProgress {
    /// Bytes read and hashed, all threads together.
    pub bytes_done: u64,
    /// Bytes of all files.
    pub bytes_total: u64,
}

/// Hashes files, from several threads at once, and reports progress.
pub struct Verifier<'a> {
    options: &'a OpenOptions<'a>,
    bytes_done: AtomicU64,
    bytes_total: u64,
}

impl<'a> Verifier<'a> {
    /// A verifier of `bytes_total` bytes in all.
    #[must_use]
    pub fn new(options: &'a OpenOptions<'a>, bytes_total: u64) -> Self {
        Self { options, bytes_done: AtomicU64::new(0), bytes_total }
    }

    /// The checksum of `bytes`, or `None` if the options ask for no verification.
    #[must_use]
    pub fn checksum(&self, bytes: &[u8]) -> Option<Checksum> {
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
