//! What sending and fetching a store have in common.

use std::path::Path;
use std::time::Instant;

use toller_ir::counted;
use toller_remote::{Transfer, TransferError, Transferred};

use crate::interrupt::{self, Interrupted};
use crate::ui::{Ui, per_second};

/// Transfers a store with a progress bar, and prints the result.
pub fn carry(
    title: &str,
    store: &Path,
    url: &str,
    overwrite: bool,
    ui: &Ui,
    work: impl FnOnce(&Transfer<'_>) -> Result<Transferred, TransferError>,
) -> crate::Result<()> {
    let stop = interrupt::flag(ui, "stopping; what has arrived is kept")?;
    let (began, bar) = (Instant::now(), std::sync::OnceLock::new());
    let progress = |done, all| bar.get_or_init(|| ui.progress(title, "bytes", all)).set(done);
    let done = work(&Transfer { overwrite, stop: &stop, progress: &progress });
    drop(bar);
    let Transferred { files, bytes, moved_files, moved_bytes } = match done {
        Err(TransferError::Interrupted) => {
            let resume = "run the command again to go on with what has arrived".to_owned();
            return Err(Interrupted { resume }.into());
        }
        done => done?,
    };
    let seconds = began.elapsed().as_secs_f64();
    if moved_files == 0 {
        ui.status(format!("already there: {}", counted(files, "file")));
    } else {
        let rate = per_second(moved_bytes, seconds) / 1e6;
        ui.status(format!(
            "{title}: {moved_files} of {}, {:.1} of {:.1} MB, in {seconds:.1} s ({rate:.1} MB/s)",
            counted(files, "file"),
            moved_bytes as f64 / 1e6,
            bytes as f64 / 1e6
        ));
    }
    ui.json(|| {
        serde_json::json!({
            "store": store.display().to_string(),
            "url": url,
            "files": files,
            "bytes": bytes,
            "moved_files": moved_files,
            "moved_bytes": moved_bytes,
            "seconds": seconds,
        })
    })
}
