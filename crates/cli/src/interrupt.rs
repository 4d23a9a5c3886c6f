//! Ctrl-C: once to stop as soon as nothing is lost, twice to stop now.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use toller_ir::{Explain, Remedy};

use crate::error::Context;
use crate::ui::Ui;

/// The work was stopped by the user, and nothing finished was lost.
#[derive(Debug, thiserror::Error)]
#[error("interrupted; {resume}")]
pub struct Interrupted {
    /// How to go on.
    pub resume: String,
}

impl Explain for Interrupted {
    fn remedy(&self) -> Option<Remedy> {
        None
    }
}

/// An error if the work is to stop; `resume` says how to go on.
pub fn check(stop: &AtomicBool, resume: &str) -> Result<(), Interrupted> {
    if stop.load(Ordering::Relaxed) {
        return Err(Interrupted { resume: resume.to_owned() });
    }
    Ok(())
}

/// The exit status of an interrupted command.
pub const STATUS: u8 = 130;

/// The one flag of this process, and the message when it is set.
struct Listener {
    flag: Arc<AtomicBool>,
    message: &'static str,
}

static LISTENER: Mutex<Option<Listener>> = Mutex::new(None);

/// The flag, if a command of this process listens for Ctrl-C.
pub fn current() -> Option<Arc<AtomicBool>> {
    LISTENER.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|listener| listener.flag.clone())
}

/// Sets the returned flag at the first SIGINT or SIGTERM and prints `message`; exits at the second. SIGHUP is
/// left alone, so that `nohup` works. The steps of a recipe run in one process: they share the flag, and the
/// message of the last step is printed.
pub fn flag(ui: &Ui, message: &'static str) -> crate::Result<Arc<AtomicBool>> {
    let mut listener = LISTENER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(listener) = listener.as_mut() {
        listener.message = message;
        return Ok(listener.flag.clone());
    }
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot listen for Ctrl-C")?;
    let flag = Arc::new(AtomicBool::new(false));
    *listener = Some(Listener { flag: flag.clone(), message });
    let (set, ui) = (flag.clone(), ui.clone());
    thread::spawn(move || {
        for _ in signals.forever() {
            if set.swap(true, Ordering::Relaxed) {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "asked twice; an unfinished file stays a .tmp"
                )]
                std::process::exit(i32::from(STATUS));
            }
            let listener = LISTENER.lock().unwrap_or_else(PoisonError::into_inner);
            let message = listener.as_ref().map_or("stopping", |listener| listener.message);
            ui.status(format!("\n{message} (once more: stop now)"));
        }
    });
    Ok(flag)
}
