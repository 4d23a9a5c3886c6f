//! What a resolution reports while it works.

/// Something that happened while a model was being resolved.
///
/// The function that is told returns [`std::ops::ControlFlow::Break`] to stop the resolution, which
/// then ends with [`ResolveError::Interrupted`](super::ResolveError::Interrupted).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolveEvent<'a> {
    /// A download begins, or goes on where an earlier one stopped.
    Started {
        /// The file's path inside the model.
        file: &'a str,
        /// Its size in bytes, where the hub says it.
        total_bytes: Option<u64>,
    },
    /// So many bytes of the file are now here.
    Advanced {
        /// The file's path inside the model.
        file: &'a str,
        /// Bytes that are here, those of an earlier attempt included.
        done_bytes: u64,
    },
    /// The file is complete, checked and in the cache.
    Finished {
        /// The file's path inside the model.
        file: &'a str,
    },
    /// The hub could not be asked, so that a downloaded model is used as it is.
    Unconfirmed {
        /// Why the hub could not be asked.
        reason: &'a str,
    },
}
