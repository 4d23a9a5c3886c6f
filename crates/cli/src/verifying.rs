//! Opening stores under a progress bar.

use std::sync::OnceLock;

use toller_store::{OpenOptions, VerifyProgress};

use crate::ui::Ui;

/// Calls `open` with options that verify checksums, or do not; the bar appears when there is something to verify.
pub fn verifying<T>(verify: bool, ui: &Ui, open: impl FnOnce(&OpenOptions<'_>) -> T) -> T {
    let bar = OnceLock::new();
    let progress = |progress: VerifyProgress| {
        bar.get_or_init(|| ui.progress("verifying", "bytes", progress.bytes_total)).set(progress.bytes_done);
    };
    let opened = open(&OpenOptions { verify, progress: Some(&progress) });
    if let Some(bar) = bar.into_inner() {
        bar.finish();
    }
    opened
}
