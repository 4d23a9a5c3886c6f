//! What a resolution reports while it works.

use std::ops::ControlFlow;

use crate::ResolveError;

/// Something that happened while a model was being resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolveEvent<'a> {
    /// Another process is downloading the same file. Reported several times a second until it has finished.
    Waiting {
        /// The file's path inside the model.
        file: &'a str,
    },
    /// A download begins, or continues where an earlier one stopped.
    Started {
        /// The file's path inside the model.
        file: &'a str,
        /// Its size in bytes, if the hub announces one.
        total_bytes: Option<u64>,
    },
    /// More bytes of the file have arrived.
    Advanced {
        /// The file's path inside the model.
        file: &'a str,
        /// Bytes that are on this machine, including those of an earlier attempt.
        done_bytes: u64,
    },
    /// The file is complete, checked and in the cache.
    Finished {
        /// The file's path inside the model.
        file: &'a str,
    },
    /// The hub could not be asked, so a downloaded model is used as it is.
    Unconfirmed {
        /// Why the hub could not be asked.
        reason: &'a str,
    },
}

/// Receives the events of a resolution. It returns [`ControlFlow::Break`] to stop the resolution, which then
/// ends with [`ResolveError::Interrupted`].
pub type OnEvent<'a> = dyn FnMut(ResolveEvent<'_>) -> ControlFlow<()> + 'a;

/// Reports an event.
pub(crate) fn report(on_event: &mut OnEvent<'_>, event: ResolveEvent<'_>) -> Result<(), ResolveError> {
    match on_event(event) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(ResolveError::Interrupted),
    }
}
