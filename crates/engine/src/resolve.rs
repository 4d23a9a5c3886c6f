//! Models by name: finding their files.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use toller_hub::{
    ModelSource, OnEvent, PublicFile, ResolveError, ResolveEvent, ResolveOptions, download,
    resolve_directory, resolve_model,
};

use crate::event::{Event, Work};
use crate::{Engine, EngineError};

/// How soon an engine that is stopped gives up waiting for the hub.
const PATIENCE: Duration = Duration::from_millis(50);

impl Engine {
    /// Finds the files of a model: a directory or, if the engine has a hub, a known name or a hub id,
    /// downloading what is missing.
    ///
    /// # Errors
    /// When there is no such model, or its files cannot be fetched; when the engine is stopped.
    pub fn resolve(&self, name: &str) -> Result<ModelSource, EngineError> {
        self.resolve_with(name, self.hub.clone())
    }

    /// Finds the files of a model that this machine has. Nothing is downloaded.
    ///
    /// # Errors
    /// When the model is not on this machine.
    pub(crate) fn resolve_here(&self, name: &str) -> Result<ModelSource, EngineError> {
        let hub = self.hub.clone().map(|hub| ResolveOptions { offline: true, ..hub });
        self.resolve_with(name, hub)
    }

    fn resolve_with(&self, name: &str, hub: Option<ResolveOptions>) -> Result<ModelSource, EngineError> {
        let source = match hub {
            Some(hub) => {
                let name = name.to_owned();
                self.ask(move |on_event| resolve_model(&name, &hub, on_event))?
            }
            None if Path::new(name).is_dir() => resolve_directory(Path::new(name))?,
            None => return Err(EngineError::NoHub(name.to_owned())),
        };
        self.notify(Event::ModelFound(&source));
        Ok(source)
    }

    /// Downloads a public file to `path`, unless it is there. Returns whether it was downloaded.
    ///
    /// # Errors
    /// When the engine has no hub or is stopped, the network fails, or the file is not the known one.
    pub fn download(&self, file: &PublicFile<'_>, path: &Path) -> Result<bool, EngineError> {
        let options = self.hub.clone().ok_or_else(|| EngineError::NoHub(file.url.to_owned()))?;
        let (url, md5) = (file.url.to_owned(), file.md5.map(str::to_owned));
        let (bytes, path) = (file.bytes, path.to_owned());
        self.ask(move |on_event| {
            download(&PublicFile { url: &url, bytes, md5: md5.as_deref() }, &path, &options, on_event)
        })
    }

    /// Asks servers in a thread of its own, and waits until the engine is stopped: nothing ends a wait for
    /// the answer of a server.
    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut OnEvent<'_>) -> Result<T, ResolveError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let (observer, stop) = (self.observer.clone(), self.stop.clone());
        let is_stopped = move || stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        let (answer, answered) = channel();
        let asking = thread::spawn({
            let is_stopped = is_stopped.clone();
            move || {
                let found = question(&mut |event| {
                    if let Some(observer) = &observer {
                        observer(&in_words_of_the_engine(event));
                    }
                    if is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
                // Nobody waits any more if the engine was stopped.
                let _ = answer.send(found);
            }
        });
        loop {
            match answered.recv_timeout(PATIENCE) {
                Ok(found) => return Ok(found?),
                Err(RecvTimeoutError::Timeout) if is_stopped() => {
                    return Err(ResolveError::Interrupted.into());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => match asking.join() {
                    Err(panic) => resume_unwind(panic),
                    Ok(()) => return Err(ResolveError::Interrupted.into()),
                },
            }
        }
    }
}

fn in_words_of_the_engine(event: ResolveEvent<'_>) -> Event<'_> {
    match event {
        ResolveEvent::Waiting { file } => Event::DownloadElsewhere { file },
        ResolveEvent::Started { file, total_bytes } => {
            Event::Progress { work: Work::Download(file), done: 0, total: total_bytes }
        }
        ResolveEvent::Advanced { file, done_bytes } => {
            Event::Progress { work: Work::Download(file), done: done_bytes, total: None }
        }
        ResolveEvent::Finished { .. } => Event::Finished,
        ResolveEvent::Unconfirmed { reason } => Event::ModelUnconfirmed { reason },
    }
}
