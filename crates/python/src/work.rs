//! Work outside of Python's lock: stopped by Ctrl-C, with its warnings and its progress.

use std::any::Any;
use std::ffi::CString;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use toller_corpus::SkipReport;
use toller_engine::{Engine, ResolveOptions};

use crate::error::Failed;
use crate::threads;
use crate::words::in_words;

/// How often Python's signals are looked at, and progress is reported.
const TICK: Duration = Duration::from_millis(100);

/// How long work that is stopped may take to end before it is left to itself.
const PATIENCE: Duration = Duration::from_millis(300);

/// Interrupted work that had not ended when the interruption was raised, with its process.
static LEFT: Mutex<Vec<(u32, Weak<Session>)>> = Mutex::new(Vec::new());

/// The list of such work. Python's lock is held, so that no other thread of Python forks with this lock held.
fn left_to_itself(_py: Python<'_>) -> MutexGuard<'static, Vec<(u32, Weak<Session>)>> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The interrupted work of this process that has not ended.
fn still_running(py: Python<'_>) -> Vec<Weak<Session>> {
    let mut left = left_to_itself(py);
    left.retain(|(process, session)| *process == process::id() && session.strong_count() > 0);
    left.iter().map(|(_, session)| session.clone()).collect()
}

/// How many pieces of work are done at the moment.
static WORKING: AtomicUsize = AtomicUsize::new(0);

/// A piece of work that is being done. Each may read several times, and sees one version of an object; a
/// later one sees the present version.
struct Working;

impl Working {
    fn begin() -> Self {
        if WORKING.fetch_add(1, Ordering::AcqRel) == 0 {
            toller_files::forget_objects();
        }
        Self
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        WORKING.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A piece of work, as its threads see it.
#[derive(Default)]
pub(crate) struct Session {
    stop: Arc<AtomicBool>,
    heard: Mutex<Heard>,
    /// Interrupted work that had not ended when this work began.
    interrupted: Vec<Weak<Self>>,
}

/// What the work reports.
#[derive(Default)]
struct Heard {
    warnings: Vec<String>,
    progress: Option<Progress>,
    /// Whether the progress was reported to the caller.
    is_reported: bool,
}

/// How far the work is: what is being done, units that are done, and all units if their number is known.
#[derive(Clone)]
struct Progress {
    title: String,
    done: u64,
    total: Option<u64>,
}

impl Session {
    /// Set once the work is to stop.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Whether to go on.
    pub(crate) fn go_on(&self) -> ControlFlow<()> {
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// An error once the work is to stop. Nobody sees it: the interruption is raised instead.
    pub(crate) fn check(&self) -> Result<(), Failed> {
        match self.go_on() {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Failed::other("stopped")),
        }
    }

    /// Waits until work that was interrupted has ended, and with it its locks of files.
    pub(crate) fn wait_for_interrupted(&self) -> Result<(), Failed> {
        while self.interrupted.iter().any(|session| session.strong_count() > 0) {
            self.check()?;
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Warns the caller once the work has ended.
    pub(crate) fn warn(&self, message: impl Into<String>) {
        self.heard().warnings.push(message.into());
    }

    /// Warns of what was skipped, if anything was.
    pub(crate) fn skipped(&self, skipped: &SkipReport) {
        if skipped.total() > 0 {
            self.warn(skipped.to_string());
        }
    }

    /// Warns of queries that were numbered, if any were.
    pub(crate) fn numbered(&self, skipped: &SkipReport) {
        if let Some(numbered) = skipped.numbered() {
            self.warn(numbered.message("id_column"));
        }
    }

    /// Reports how far the work is.
    pub(crate) fn progress(&self, title: &str, done: u64, total: Option<u64>) {
        let mut heard = self.heard();
        // Threads report in any order.
        let is_late = |latest: &Progress| latest.title == title && latest.done > done;
        if !heard.progress.as_ref().is_some_and(is_late) {
            heard.progress = Some(Progress { title: title.to_owned(), done, total });
            heard.is_reported = false;
        }
    }

    /// For a watch of an encoder: reports `done` of `total` texts, and says whether to go on.
    pub(crate) fn watch(&self, title: &str, done: usize, total: usize) -> ControlFlow<()> {
        if done > 0 {
            self.progress(title, done as u64, Some(total as u64));
        }
        self.go_on()
    }

    /// An engine that reports to this session. It computes in the current threads.
    pub(crate) fn engine(self: &Arc<Self>) -> Result<Engine, Failed> {
        let (hub, session) = (ResolveOptions::from_env(), self.clone());
        let builder = Engine::builder().cache(&hub.toller_cache).hub(hub).stop(self.stop.clone());
        Ok(builder.observer(move |event| in_words(event, &session)).build()?)
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does `work` in this process's threads, without Python's lock. `progress` is called with a title, the units
/// that are done and all units; if it is not a function but true, a bar on stderr is.
///
/// Another thread does the work, so that this one can look at signals and raise KeyboardInterrupt even if the
/// work ends later.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Arc<Session>) -> Result<T, Failed> + Send + 'static,
) -> PyResult<T> {
    let report = reporter(py, progress)?;
    let session = Arc::new(Session { interrupted: still_running(py), ..Session::default() });
    let (sender, done) = bounded(1);
    let working = session.clone();
    let in_pool = move || threads::pool()?.install(|| work(&working));
    let is_working = Working::begin();
    let started = thread::Builder::new().name("toller-work".to_owned()).spawn(move || {
        let found = catch_unwind(AssertUnwindSafe(in_pool));
        drop(is_working);
        // Nobody waits any more if the work was interrupted.
        let _ = sender.send(found.unwrap_or_else(|panic| Err(Failed::internal(text_of(&*panic)))));
    });
    started.map_err(|error| Failed::other(format!("cannot start a thread: {error}")))?;
    let found = wait(py, &session, report.as_ref(), &done);
    let warnings = std::mem::take(&mut session.heard().warnings);
    for warning in warnings {
        let warning = CString::new(warning.replace('\0', " "))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &warning, level_of_caller(py)?)?;
    }
    found
}

/// The stack level of the first caller outside of the package, where warnings belong.
fn level_of_caller(py: Python<'_>) -> PyResult<i32> {
    let mut frame = py.import("sys")?.call_method0("_getframe")?;
    let mut level = 1;
    while !frame.is_none() {
        let module = frame.getattr("f_globals")?.call_method1("get", ("__name__", ""))?;
        if !module.extract::<String>()?.starts_with("toller.") {
            return Ok(level);
        }
        frame = frame.getattr("f_back")?;
        level += 1;
    }
    Ok(1)
}

/// What is called with the progress.
fn reporter<'py>(
    py: Python<'py>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(progress) = progress else { return Ok(None) };
    if progress.is_callable() {
        return Ok(Some(progress.clone()));
    }
    match progress.is_truthy()? {
        true => Ok(Some(py.import("toller._progress")?.getattr("Bar")?.call0()?)),
        false => Ok(None),
    }
}

/// Waits for the result, signals and progress.
fn wait<T: Send>(
    py: Python<'_>,
    session: &Arc<Session>,
    report: Option<&Bound<'_, PyAny>>,
    done: &Receiver<Result<T, Failed>>,
) -> PyResult<T> {
    let receive = |time: Duration| py.detach(|| done.recv_timeout(time));
    loop {
        match receive(TICK) {
            Ok(found) => {
                report_progress(session, report)?;
                return Ok(found?);
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failed::internal("the work has vanished").into());
            }
            Err(RecvTimeoutError::Timeout) => {
                let reported = py.check_signals().and_then(|()| report_progress(session, report));
                if let Err(interruption) = reported {
                    session.stop.store(true, Ordering::Relaxed);
                    if receive(PATIENCE).is_err() {
                        left_to_itself(py).push((process::id(), Arc::downgrade(session)));
                    }
                    return Err(interruption);
                }
            }
        }
    }
}

/// Reports the progress since the last report.
fn report_progress(session: &Session, report: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let progress = {
        let mut heard = session.heard();
        if std::mem::replace(&mut heard.is_reported, true) { None } else { heard.progress.clone() }
    };
    if let (Some(report), Some(Progress { title, done, total })) = (report, progress) {
        report.call1((title, done, total))?;
    }
    Ok(())
}

/// The message of a panic.
fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("a thread panicked: {}", text.as_deref().unwrap_or("without a message"))
}
