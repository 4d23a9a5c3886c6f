//! What sending and fetching a store have in common.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use toller_files::FileError;
use toller_ir::{ErrorPlace, Explain, Remedy, Setting, locked, remedy};
use toller_store::{Manifest, StoreError};

use crate::RemoteError;

/// Files that are sent or fetched at the same time.
const AT_ONCE: usize = 4;

/// How a store is sent or fetched.
#[derive(Clone, Copy)]
pub struct Transfer<'a> {
    /// Whether a store at the destination is replaced.
    pub overwrite: bool,
    /// Stops the work when it is set. The same transfer goes on with what has arrived.
    pub stop: &'a AtomicBool,
    /// Called with the bytes that are at the destination, and with all bytes; from several threads at once.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
}

/// What a transfer did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transferred {
    /// The files of the store, without manifests.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The files that had to be transferred; the others were there already.
    pub moved_files: usize,
    /// The bytes that this transfer moved.
    pub moved_bytes: u64,
}

/// Why a store was not sent or fetched.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// A file or an object cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The URL cannot be used.
    #[error(transparent)]
    Url(#[from] RemoteError),
    /// A file of the local store is damaged or missing.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no store at the URL.
    #[error("there is no store at {0}")]
    NoStore(String),
    /// The destination holds another store, or more of the same one.
    #[error("{0} holds another store, or more of this one")]
    OtherStore(String),
    /// The local directory holds another store, or more of the same one.
    #[error("{} holds another store, or more of this one", .0.display())]
    OtherStoreHere(PathBuf),
    /// Another store is being sent to the same place.
    #[error("another store is being sent to {0}, or was not sent to its end")]
    Claimed(String),
    /// Another writer changed the destination during the transfer.
    #[error("another writer has changed {0} in the meantime")]
    Lost(String),
    /// The directory or folder holds something else.
    #[error("{place} holds {entry}, which is not part of this store")]
    InUse {
        /// The directory or the folder.
        place: String,
        /// What it holds.
        entry: String,
    },
    /// Another process writes the directory.
    #[error("another process writes {}", .0.display())]
    Locked(PathBuf),
    /// The bytes of an object are not those that the manifest lists.
    #[error("{0} is not what the store's manifest lists")]
    Mismatch(String),
    /// The caller stopped the transfer.
    #[error("interrupted")]
    Interrupted,
}

impl Explain for TransferError {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::File(error) => return error.remedy(),
            Self::Store(error) => return error.remedy(),
            Self::Url(error) => return error.remedy(),
            Self::Damaged { .. } => {
                "run the command that wrote the store again: it writes damaged files again".into()
            }
            Self::NoStore(_) => {
                "check the URL; a store has a manifest.json, or folders named part-...-of-...".into()
            }
            Self::OtherStore(_) => {
                remedy!("give another URL, or replace that store with {}", Setting::Overwrite)
            }
            Self::OtherStoreHere(_) => "give another directory, or remove that store".into(),
            Self::Claimed(_) => {
                remedy!(
                    "wait until it has ended; if it was killed, take its place with {}",
                    Setting::Overwrite
                )
            }
            Self::Lost(_) => "run the same command again, when nobody else writes the store".into(),
            Self::Mismatch(_) => remedy!(
                "run the same command again, when nobody else writes the store; if it stays so, push a sound copy \
                 of the store again, with {}",
                Setting::Overwrite
            ),
            Self::InUse { .. } => "give an empty or a new place".into(),
            Self::Locked(_) => "wait until it has ended, or give another directory".into(),
            Self::Interrupted => "run the same command again: what has arrived is kept".into(),
        })
    }

    fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::File(error) => error.place(),
            Self::Store(error) => error.place(),
            Self::Damaged { path, .. } | Self::OtherStoreHere(path) | Self::Locked(path) => {
                Some(ErrorPlace::of_file(path))
            }
            Self::NoStore(file)
            | Self::OtherStore(file)
            | Self::Claimed(file)
            | Self::Lost(file)
            | Self::InUse { place: file, .. }
            | Self::Mismatch(file) => Some(ErrorPlace { file: file.clone(), position: None }),
            Self::Url(_) | Self::Interrupted => None,
        }
    }
}

/// The progress of a transfer of this many bytes.
pub(crate) struct Meter<'a> {
    transfer: &'a Transfer<'a>,
    done_bytes: AtomicU64,
    all_bytes: u64,
    moved_files: AtomicUsize,
    moved_bytes: AtomicU64,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(transfer: &'a Transfer<'a>, all_bytes: u64) -> Self {
        Self {
            transfer,
            done_bytes: AtomicU64::new(0),
            all_bytes,
            moved_files: AtomicUsize::new(0),
            moved_bytes: AtomicU64::new(0),
        }
    }

    /// Counts bytes that are at the destination; an error if the work is to stop.
    pub(crate) fn advance(&self, bytes: u64) -> Result<(), TransferError> {
        let done = self.done_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        (self.transfer.progress)(done, self.all_bytes);
        if self.transfer.stop.load(Ordering::Relaxed) {
            return Err(TransferError::Interrupted);
        }
        Ok(())
    }

    /// Counts bytes that were transferred just now; an error if the work is to stop.
    pub(crate) fn advance_moved(&self, bytes: u64) -> Result<(), TransferError> {
        self.moved_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.advance(bytes)
    }

    /// Takes back bytes that turned out to be wrong.
    pub(crate) fn retract(&self, bytes: u64) {
        self.done_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Counts a file that had to be transferred.
    pub(crate) fn count_moved(&self) {
        self.moved_files.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn result(&self, files: usize) -> Transferred {
        Transferred {
            files,
            bytes: self.all_bytes,
            moved_files: self.moved_files.load(Ordering::Relaxed),
            moved_bytes: self.moved_bytes.load(Ordering::Relaxed),
        }
    }
}

/// Whether `new` is the store of `old`, with at least as much of it.
pub(crate) fn continues(new: &Manifest, old: &Manifest) -> bool {
    new.spec == old.spec
        && new.shards.starts_with(&old.shards)
        && new.codes.starts_with(&old.codes)
        && (new.complete || !old.complete)
}

/// Does `work` for all items, some of them at the same time. An error ends it; of several, that of the first
/// item.
pub(crate) fn for_each<T: Sync>(
    items: &[T],
    work: impl Fn(&T) -> Result<(), TransferError> + Sync,
) -> Result<(), TransferError> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let has_failed = || !locked(&failed).is_empty();
    thread::scope(|scope| {
        for _ in 0..items.len().min(AT_ONCE) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(place).filter(|_| !has_failed()) else { return };
                    if let Err(error) = work(item) {
                        locked(&failed).insert(place, error);
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.pop_first().map_or(Ok(()), |(_, error)| Err(error))
}
