//! How bytes get in and out of the engine safely: atomic writes, decompressing input, copies of what can be
//! read only once, and errors that name the file.

mod atomic;
mod compression;
mod error;
mod expand;
mod input;
mod reader;
mod spool;

pub use atomic::AtomicFile;
pub use compression::Compression;
pub use error::FileError;
pub use expand::expand;
pub use input::Input;
pub use reader::InputReader;
pub use spool::{SpoolGuard, spool};
