//! Ctrl-C: once to stop as soon as nothing is lost, twice to stop now.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use toller_files::exit_without_unfinished;
use toller_ir::{Explain, Remedy, locked};

use crate::error::{self, Context};
use crate::process::ignores_hangups;
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

/// Whether the work is to stop.
pub fn is_asked(stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed)
}

/// An error if the work is to stop; `resume` says how to go on.
pub fn check(stop: &AtomicBool, resume: &str) -> Result<(), Interrupted> {
    if is_asked(stop) {
        return Err(Interrupted { resume: resume.to_owned() });
    }
    Ok(())
}

/// The exit status of an interrupted command.
pub const STATUS: u8 = 130;

/// What is known of signals in this process.
#[derive(Default)]
struct Listening {
    is_on: bool,
    /// Whether the work is to stop. The steps of a recipe run in one process and share it.
    flag: Arc<AtomicBool>,
    /// What is printed when the flag is set, if the work looks at it.
    message: Option<&'static str>,
    /// When the flag was set.
    since: Option<Instant>,
}

/// How long signals count as one. `timeout` sends one to its child and one to the group; of a terminal that
/// is closed, the shell and the system send one each.
const AS_ONE: Duration = Duration::from_secs(1);

static LISTENING: LazyLock<Mutex<Listening>> = LazyLock::new(Mutex::default);

fn listening() -> MutexGuard<'static, Listening> {
    locked(&LISTENING)
}

/// The flag, if the work looks at it.
pub fn current() -> Option<Arc<AtomicBool>> {
    let listening = listening();
    listening.message.map(|_| listening.flag.clone())
}

/// Listens for SIGINT, SIGTERM and SIGHUP, which comes when a terminal is closed or a connection breaks. The
/// first one ends the process, unless the command asked for the [`flag`]: then the second one does. A SIGHUP
/// that is ignored stays so: `nohup` works.
pub fn listen(ui: &Ui) -> crate::Result<()> {
    let mut listening = listening();
    if !listening.is_on {
        let hangup = (!ignores_hangups()).then_some(SIGHUP);
        let heard = [SIGINT, SIGTERM].into_iter().chain(hangup);
        let mut signals = Signals::new(heard).context("cannot listen for Ctrl-C")?;
        let ui = ui.clone();
        thread::spawn(move || signals.forever().for_each(|_| hear(&ui)));
        listening.is_on = true;
    }
    Ok(())
}

/// The flag that the first of these signals sets, which prints `message`. It is for work of which something
/// is kept; other work can end at any time.
pub fn flag(ui: &Ui, message: &'static str) -> crate::Result<Arc<AtomicBool>> {
    listen(ui)?;
    let mut listening = listening();
    listening.message = Some(message);
    Ok(listening.flag.clone())
}

/// Does work of which nothing is kept, unless it asks for the [`flag`] itself: meanwhile the first of these
/// signals ends the process. It is an error if one has come before.
pub fn at_once<T>(work: impl FnOnce() -> T) -> Result<T, Interrupted> {
    let (flag, message) = {
        let mut listening = listening();
        (listening.flag.clone(), listening.message.take())
    };
    let done = check(&flag, "run the same command again").map(|()| work());
    listening().message = message;
    done
}

/// Asks the command to stop, or ends the process if that does not help.
fn hear(ui: &Ui) {
    let ui = ui.clone();
    let (flag, message, since) = {
        let listening = listening();
        (listening.flag.clone(), listening.message, listening.since)
    };
    match message {
        Some(_) if since.is_some_and(|since| since.elapsed() < AS_ONE) => {}
        Some(message) if !is_asked(&flag) => {
            listening().since = Some(Instant::now());
            // First: the work may end at once.
            try_for_a_while(move || ui.status(format!("\n{message} (again: stop now)")));
            flag.store(true, Ordering::Relaxed);
        }
        _ => {
            try_for_a_while(move || {
                exit_without_unfinished(|| {
                    let resume = "unfinished files were removed".to_owned();
                    error::print(&Interrupted { resume }.into(), ui.json);
                    #[expect(clippy::disallowed_methods, reason = "no unfinished file is left")]
                    std::process::exit(i32::from(STATUS))
                })
            });
            signal_hook::low_level::exit(i32::from(STATUS))
        }
    }
}

/// How long an answer to Ctrl-C may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Does what another thread can delay for ever: one that writes to a stderr that takes nothing, or to a disk
/// that does not answer, holds the locks. It is not waited for longer than [`PATIENCE`].
fn try_for_a_while(work: impl FnOnce() + Send + 'static) {
    let (ended, end) = mpsc::channel();
    let started = thread::Builder::new().spawn(move || {
        work();
        // Nobody may wait any longer.
        let _ = ended.send(());
    });
    if started.is_ok() {
        let _ = end.recv_timeout(PATIENCE);
    }
}
