//! What the user sees: data on stdout, everything else on stderr.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, LazyLock, Mutex};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use toller_corpus::SkipReport;
use toller_files::{AtomicFile, FileError};
use toller_ir::locked;

use crate::args::input::QUERY_ID_COLUMN;
use crate::json;
use crate::plain_progress::PlainProgress;
use crate::printable::{printable, write_printable};
use crate::stdout::stdout;

/// How to talk to the user, from the global flags.
#[derive(Clone, Debug, Default)]
pub struct Ui {
    /// Results as JSON on stdout (`--json`).
    pub json: bool,
    /// Errors only (`-q`).
    pub quiet: bool,
    /// More detail on stderr (`-v`).
    pub verbose: bool,
    /// Where data go.
    out: Out,
}

/// Where data go.
#[derive(Clone, Debug, Default)]
enum Out {
    /// To the user's pipes.
    #[default]
    Stdout,
    /// To stderr, with the messages: data of a recipe's step that nobody asked for.
    Stderr,
    /// To a file: data of a recipe's step.
    File(Captured),
}

/// What a step of a recipe writes to stdout: a file.
#[derive(Clone, Debug)]
pub struct Captured(Arc<Mutex<Option<AtomicFile>>>);

impl Captured {
    /// Commits the file.
    pub fn commit(&self) -> Result<(), FileError> {
        let file = locked(&self.0).take();
        file.map_or(Ok(()), AtomicFile::commit)
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match locked(&self.0).as_mut() {
            Some(file) => file.write(bytes),
            None => Err(io::Error::other("written to after the end of the step")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        locked(&self.0).as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Ui {
    /// How to talk to the user by the global flags.
    pub fn new(json: bool, quiet: bool, verbose: bool) -> Self {
        Self { json, quiet, verbose, out: Out::Stdout }
    }

    /// For work that is repeated, which nobody wants to follow.
    pub fn silent(&self) -> Self {
        Self { quiet: true, ..self.clone() }
    }

    /// For a recipe's step, whose data are not a result of the recipe.
    pub fn of_step(&self) -> Self {
        Self { json: false, out: Out::Stderr, ..self.clone() }
    }

    /// For a recipe's step whose data go to a file.
    pub fn of_step_into(&self, file: AtomicFile) -> (Self, Captured) {
        let captured = Captured(Arc::new(Mutex::new(Some(file))));
        (Self { json: false, out: Out::File(captured.clone()), ..self.clone() }, captured)
    }

    /// Data for the user's pipes. A closed pipe is an error of the writer, handled once in `main`.
    pub fn out(&self) -> io::BufWriter<Box<dyn Write>> {
        io::BufWriter::new(match &self.out {
            Out::Stdout => stdout(),
            Out::Stderr => Box::new(io::stderr().lock()),
            Out::File(file) => Box::new(file.clone()),
        })
    }

    /// The result as JSON on stdout, if that was asked for.
    pub fn json(&self, result: impl FnOnce() -> serde_json::Value) -> crate::Result<()> {
        if self.json { self.write_json(result()) } else { Ok(()) }
    }

    /// The result as JSON, on stdout or where a recipe wants it.
    pub fn write_json(&self, result: serde_json::Value) -> crate::Result<()> {
        let mut out = self.out();
        json::write(&mut out, result)?;
        Ok(out.flush()?)
    }

    /// The result: JSON if that was asked for, otherwise what `text` writes, which may quote files of others.
    pub fn show(
        &self,
        json: impl FnOnce() -> serde_json::Value,
        text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> crate::Result<()> {
        if self.json {
            return self.json(json);
        }
        let mut out = self.out();
        write_printable(&mut out, |shown| Ok(text(shown)?))?;
        Ok(out.flush()?)
    }

    /// A line about what is happening.
    pub fn status(&self, message: impl AsRef<str>) {
        if !self.quiet {
            note(message.as_ref());
        }
    }

    /// A line of detail, with `-v`.
    pub fn detail(&self, message: impl AsRef<str>) {
        if self.verbose && !self.quiet {
            note(message.as_ref());
        }
    }

    /// Warns of records that were left out, if there are any; `place` is put before their number. Says which
    /// queries were numbered.
    pub fn skipped(&self, place: &str, skipped: &SkipReport) {
        if let Some(numbered) = skipped.numbered() {
            self.status(numbered.message(QUERY_ID_COLUMN));
        }
        if skipped.total() > 0 {
            self.warning(format!("{place}{skipped}"));
        }
    }

    /// Something that is not an error, but that the user should know even with `-q`.
    pub fn warning(&self, message: impl AsRef<str>) {
        note(&format!("warning: {}", message.as_ref()));
    }

    /// A progress bar over `total` units (0: unknown), named by what is counted ("passages"). If stderr is
    /// not a terminal, a plain line now and then.
    pub fn progress(&self, title: &str, unit: &'static str, total: u64) -> Progress {
        Progress::new(self.quiet, title, unit, total)
    }
}

/// The bars on the terminal. They are removed before another line is written, and come back at the next step.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Writes a line to stderr. There is no place to report that stderr is closed.
fn note(message: &str) {
    // `suspend` would panic on a terminal that has been closed.
    let _ = BARS.clear();
    let _ = writeln!(io::stderr().lock(), "{}", printable(message));
}

/// Progress of one piece of long work. The bar is removed when this is dropped.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    plain: Option<PlainProgress>,
}

impl Progress {
    fn new(quiet: bool, title: &str, unit: &'static str, total: u64) -> Self {
        let terminal = io::stderr().is_terminal();
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let bar = if quiet || !terminal { bar } else { BARS.add(bar) };
        let (done, all, rate) = match unit {
            "bytes" => ("{bytes}", "{total_bytes}".to_owned(), "{bytes_per_sec}"),
            _ => ("{human_pos}", format!("{{human_len}} {unit}"), "{rate}"),
        };
        // In a narrow terminal the bar has the room that the text leaves.
        let width = if console::Term::stderr().size().1 < 100 { "wide_bar" } else { "bar:24" };
        let style = match total {
            0 => format!("{title} {{spinner}} {done} ({rate}) {{elapsed}}"),
            _ => format!("{title} {{{width}}} {done}/{all} ({rate}, ETA {{eta}}) {{msg}}"),
        };
        if let Ok(style) = ProgressStyle::with_template(&style) {
            let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
                // Writing to the bar's line cannot fail.
                let rate = state.per_sec();
                let decimals = usize::from(rate < 100.0);
                let _ = write!(out, "{rate:.decimals$}/s");
            };
            bar.set_style(style.with_key("rate", rate));
        }
        let plain = (!quiet && !terminal).then(|| PlainProgress::new(title, unit, total));
        Self { bar, plain }
    }

    /// Work of an earlier run: it counts towards the total, not towards the rate.
    pub fn already_done(&self, units: u64) {
        self.bar.set_position(units);
        self.bar.reset_eta();
        if let Some(plain) = &self.plain {
            plain.already_done(units);
        }
    }

    /// Sets how much is done in all.
    pub fn set(&self, done: u64) {
        self.bar.set_position(done);
        if let Some(line) = self.plain.as_ref().and_then(|plain| plain.line(done)) {
            note(&line);
        }
    }

    /// A short text after the bar.
    pub fn message(&self, message: impl Into<String>) {
        self.bar.set_message(message.into());
    }
}

impl Drop for Progress {
    /// Removes the bar.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Units a second; 0 where no time has passed.
pub fn per_second(units: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { units as f64 / seconds } else { 0.0 }
}
