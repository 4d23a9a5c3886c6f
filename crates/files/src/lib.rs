//! How bytes get in and out of the engine safely: atomic writes, decompressing input, copies of what can be
//! read only once, objects of object stores, external sorting, checksums, locks, and errors that name the
//! file.

mod atomic;
mod checksum;
mod compressed;
mod compression;
mod directory;
mod error;
mod expand;
mod external_sort;
mod input;
mod listed;
mod lock;
mod manifest;
mod mapped;
mod object;
mod reader;
mod regular;
mod seal;
mod sorted_entries;
mod spool;
mod staged;
mod unfinished;
mod verify;
mod watched;

pub use atomic::{
    AtomicFile, CompleteFile, commit_together, parent, remove_durably, sync_directory, unfinished,
};
pub use checksum::{Checksum, ChecksumHasher, ParseChecksumError};
pub use compressed::CompressedWriter;
pub use compression::Compression;
pub use directory::{names_in, remove_unfinished};
pub use error::FileError;
pub use expand::{expand, is_data_below};
pub use external_sort::{ExternalSort, SortEntry, hash_of_id};
pub use input::Input;
pub use listed::{CompleteListedFile, ListedFile, ListedFileError, ListedFileWriter};
pub use lock::DirectoryLock;
pub use manifest::{Found, ManifestFormat};
pub use mapped::map;
pub use object::{
    OBJECT_SCHEMES, Object, ObjectStores, Stamp, forget_objects, install_object_stores, is_object_url,
};
pub use reader::InputReader;
pub use regular::{open_regular, read_regular};
pub use seal::{is_sealed, write_sealed};
pub use sorted_entries::SortedEntries;
pub use spool::{Spool, SpoolGuard, spool};
pub use staged::StagedDirectory;
pub use unfinished::exit_without_unfinished;
pub use verify::{OpenOptions, Verifier, VerifyProgress};
pub use watched::{WatchedFile, has_changed};
