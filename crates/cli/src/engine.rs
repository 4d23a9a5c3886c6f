//! The engine of a command: its errors and events in the words of the command line.
//!
//! With the environment variable TOLLER_WATCH_LAUNCHES, every launch on a device is printed and waited for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use toller_engine::{Builder, Engine, EngineError, Event, ResolveOptions, Role, Work};
use toller_gpu::Devices;
use toller_hub::{Origin, env};
use toller_ir::{Setting, counted, locked};
use toller_simd::Isa;
use toller_sparse::BuildProgress;

use crate::error::{Failure, UsageError};
use crate::flags;
use crate::interrupt;
use crate::ui::{Progress, Ui};

/// An engine that finds models by the environment's settings and reports its work to the user.
pub fn open(ui: &Ui) -> crate::Result<Engine> {
    Ok(builder(ui).build()?)
}

/// The same, with other kernels on devices than the usual.
pub fn open_adjusting(adjust: impl Fn(&Devices) + Send + Sync + 'static, ui: &Ui) -> crate::Result<Engine> {
    Ok(builder(ui).adjust(adjust).build()?)
}

fn builder(ui: &Ui) -> Builder {
    let hub = ResolveOptions::from_env();
    let narrator = Narrator { ui: ui.clone(), bar: Mutex::new(None), is_waiting: AtomicBool::new(false) };
    let mut builder = Engine::builder().cache(&hub.toller_cache).hub(hub);
    if let Some(stop) = interrupt::current() {
        builder = builder.stop(stop);
    }
    if env::TOLLER_WATCH_LAUNCHES.get().is_some() {
        let ui = ui.clone();
        builder = builder.watch_launches(Arc::new(move |launch| ui.status(launch.to_string())));
    }
    builder.observer(move |event| narrator.hear(event))
}

/// An error of an engine, with the flags that caused it.
pub fn in_flags(error: EngineError) -> Failure {
    match error {
        EngineError::Role { expected, .. } => {
            let setting = match expected {
                Role::Passage => Setting::Dense,
                Role::Query => Setting::QueryVectors,
            };
            UsageError::of_flag(flags::flag(setting), &error).into()
        }
        EngineError::Device { device, source } => Failure::from(source).during(format!("--device {device}")),
        error => error.into(),
    }
}

/// The unit in which encoded texts are counted.
pub fn unit(role: Role) -> &'static str {
    match role {
        Role::Passage => "passages",
        Role::Query => "queries",
    }
}

/// What is said where results of candle are added to earlier ones.
pub const BITS_OF_BATCHES: &str = "through candle, the last bits depend on the batch";

/// The progress bar of the current work.
struct Bar {
    title: String,
    progress: Progress,
    began: Instant,
}

/// Puts the events of an engine into words.
struct Narrator {
    ui: Ui,
    bar: Mutex<Option<Bar>>,
    /// Whether the user knows that another process is downloading.
    is_waiting: AtomicBool,
}

impl Narrator {
    fn hear(&self, event: &Event<'_>) {
        let ui = &self.ui;
        match *event {
            Event::Progress { work, done, total } => {
                let title = match work {
                    Work::Download(file) => file,
                    Work::Check => "checking",
                    Work::Verify => "verifying",
                    Work::Copy => "copying to the device",
                    Work::IndexTexts => "indexing",
                };
                self.on_bar(title, "bytes", total.unwrap_or(0), |bar, _| bar.set(done));
            }
            Event::Encoding { role, progress, rows } => {
                let unit = unit(role);
                self.on_bar("encoding", unit, rows, |bar, began| {
                    if progress.tokens == 0 {
                        return bar.already_done(progress.rows);
                    }
                    bar.set(progress.rows);
                    bar.message(match progress.stopping_in {
                        Some(rows) => format!("stopping, {rows} left"),
                        None => {
                            format!("{:.0} tokens/s", progress.tokens as f64 / began.elapsed().as_secs_f64())
                        }
                    });
                });
            }
            Event::Indexing { progress, passages } => {
                let (title, unit, done, all) = match progress {
                    BuildProgress::Analyzed(done) => ("indexing", "passages", done, passages),
                    BuildProgress::Merged(done, all) => ("merging", "postings", done, all),
                    BuildProgress::Vectors(done) => ("doc vectors", "passages", done, passages),
                };
                self.on_bar(title, unit, all, |bar, _| bar.set(done));
            }
            Event::Finished => {
                locked(&self.bar).take();
            }
            Event::ModelFound(source) => {
                let origin = match &source.origin {
                    Origin::Directory => String::new(),
                    Origin::Known(model) => format!(", known as {}", model.name),
                    Origin::Hub { id, commit, .. } => format!(", {id} at {commit}"),
                };
                ui.detail(format!("model: {}{origin}", source.directory.display()));
            }
            Event::DownloadElsewhere { file } if !self.is_waiting.swap(true, Ordering::Relaxed) => {
                ui.status(format!("waiting for another process, which is downloading {file}"));
            }
            Event::DownloadElsewhere { .. } => {}
            Event::TermsFiltered { share } => ui.warning(format!(
                "RM3 leaves out {:.0} % of the terms of this index, which have characters other than a to z and 0 to 9; \
                 --rm3-no-term-filter keeps them",
                share * 100.0
            )),
            Event::DeviceChosen(name) => ui.status(format!("computing on {name}")),
            Event::CpuChosen(None) => ui.detail(format!("computing on the CPU ({})", Isa::active())),
            Event::DevicePlanned(plan) => ui.status(plan.to_string()),
            Event::IndexOpened(index) => {
                let (count, dim, dtype) = (index.doc_count(), index.dim(), index.store().dtype());
                ui.detail(format!("store: {} of {dim} x {dtype}", counted(count, "vector")));
            }
            Event::BeirCorpus { folder, file } => ui.status(format!(
                "{} holds a BEIR collection: reading {}",
                folder.display(),
                file.display()
            )),
            Event::TextsIndexed { directory, instead_of } => {
                let because = instead_of.map(|reason| format!(" again ({reason})")).unwrap_or_default();
                ui.status(format!("indexing the texts by identifier{because}: {}", directory.display()));
            }
            Event::TextsAwaited { directory } => ui.status(format!(
                "waiting for another process, which is indexing the texts: {}",
                directory.display()
            )),
            Event::TextsElsewhere { directory } => {
                ui.status(format!("{} cannot be written; indexing the texts elsewhere", directory.display()));
            }
            Event::TextsBuilt { passages, bytes } => {
                ui.status(format!("indexed {} ({:.1} MB)", counted(passages, "passage"), bytes as f64 / 1e6));
            }
            Event::TextsOpened(texts) => {
                ui.detail(format!("texts: {}, fingerprint {}", counted(texts.len(), "passage"), texts.fingerprint()));
            }
            Event::Skipped { inputs, skipped } => {
                let place: String = inputs.iter().map(|input| format!("{input}: ")).collect();
                ui.skipped(&place, skipped);
            }
            Event::LeftOut(left_out) if left_out.queries > 0 => {
                let queries = counted(left_out.queries, "query");
                ui.status(format!("{queries} without a relevant document left out"));
            }
            Event::StoreResumed(writer) => {
                let next = writer.missing_rows().first().map_or(writer.rows_done(), |rows| rows.start);
                ui.status(format!("resuming {} at row {next}", writer.directory().display()));
            }
            Event::BitsOfBatches => ui.status(BITS_OF_BATCHES),
            _ => {}
        }
        for warning in event.warnings() {
            ui.warning(flags::spelled(&warning, flags::flag));
        }
    }

    /// Calls `set` with the bar of this title and its start. A bar of another title is replaced.
    fn on_bar(&self, title: &str, unit: &'static str, all: u64, set: impl FnOnce(&Progress, Instant)) {
        let mut shown = locked(&self.bar);
        shown.take_if(|bar| bar.title != title);
        let bar = shown.get_or_insert_with(|| {
            let progress = self.ui.progress(title, unit, all);
            Bar { title: title.to_owned(), progress, began: Instant::now() }
        });
        set(&bar.progress, bar.began);
    }
}
