//! Ctrl-C: once to stop when nothing is lost, twice to stop now.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::ui::Ui;

/// The work was stopped by the user, and nothing finished was lost.
#[derive(Debug)]
pub struct Interrupted {
    /// How to go on.
    pub resume: String,
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interrupted; {}", self.resume)
    }
}

impl std::error::Error for Interrupted {}

/// The exit status of an interrupted command.
pub const STATUS: u8 = 130;

/// Sets the returned flag at the first SIGINT or SIGTERM, saying `message`; exits at the second. SIGHUP is
/// left alone, so that `nohup` does what it is for.
pub fn flag(ui: &Ui, message: &'static str) -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let (set, ui) = (flag.clone(), *ui);
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot listen for Ctrl-C")?;
    thread::spawn(move || {
        for _ in signals.forever() {
            if set.swap(true, Ordering::Relaxed) {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "asked twice; an unfinished file stays a .tmp"
                )]
                std::process::exit(i32::from(STATUS));
            }
            ui.status(format!("\n{message} (once more: stop now)"));
        }
    });
    Ok(flag)
}
