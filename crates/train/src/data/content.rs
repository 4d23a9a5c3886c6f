//! The content of a file of examples, in memory maps: of the file itself, or of a temporary copy that is
//! decompressed, or in JSON lines for Parquet and CSV.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use memmap2::Mmap;
use toller_files::{Compression, FileError, Input, InputReader, is_object_url, open_regular};

use super::{csv, parquet};
use crate::TrainError;

/// The first bytes of a Parquet file.
const PARQUET: &[u8] = b"PAR1";

/// Maps the content of a file.
pub(super) fn map(path: &Path) -> Result<Mmap, TrainError> {
    if path.to_str().is_some_and(is_object_url) {
        return Err(TrainError::Remote(path.to_owned()));
    }
    let mut file = open_regular(path).map_err(FileError::on("open", path))?;
    let mut reader = InputReader::open(&Input::parse(path))?;
    if csv::is_csv(path, &mut reader) {
        return Ok(toller_files::map(&copied(path, |copy| csv::write_lines(path, reader, copy))?, path)?);
    }
    let is_parquet = reader.peek(PARQUET.len()) == PARQUET;
    if reader.compression() != Compression::Plain {
        file = copied(path, |copy| copy_all(&mut reader, copy))?;
    }
    if is_parquet {
        file = copied(path, |copy| parquet::write_lines(path, &file, copy))?;
    }
    Ok(toller_files::map(&file, path)?)
}

/// A temporary file without a name, with what `write` writes.
fn copied(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> Result<(), TrainError>,
) -> Result<File, TrainError> {
    let failed = |error: io::Error| FileError::new("make a temporary copy of", path, error);
    let file = tempfile::tempfile().map_err(failed)?;
    let mut copy = BufWriter::new(&file);
    write(&mut copy)?;
    copy.flush().map_err(failed)?;
    drop(copy);
    Ok(file)
}

/// Copies all that a reader decompresses.
fn copy_all(reader: &mut InputReader, copy: &mut impl Write) -> Result<(), TrainError> {
    let mut buffer = vec![0; 1 << 17];
    loop {
        let read = match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) => return Err(reader.error(error).into()),
        };
        copy.write_all(&buffer[..read])
            .map_err(|error| reader.input().error("make a temporary copy of", error))?;
    }
}
