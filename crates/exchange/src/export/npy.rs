//! NumPy's `.npy`.

use std::io::Write;
use std::path::Path;

use toller_files::{AtomicFile, FileError};
use toller_store::Store;

use super::write_numbers;
use crate::ExchangeError;
use crate::progress::Progress;

/// The numbers begin at a multiple of this many bytes, as numpy itself writes them.
const ALIGNMENT: usize = 64;

/// Writes the vectors as a matrix [rows, dim] of float16 or float32.
pub(super) fn write(
    store: &Store,
    path: &Path,
    half: bool,
    progress: &mut Progress<'_>,
) -> Result<(), ExchangeError> {
    let mut file = AtomicFile::create(path)?;
    let header = header(if half { "<f2" } else { "<f4" }, store.count(), store.dim());
    file.write_all(&header).map_err(FileError::on("write", path))?;
    write_numbers(store, half, &mut file, progress)?;
    Ok(file.commit()?)
}

fn header(descr: &str, rows: usize, dim: usize) -> Vec<u8> {
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({rows}, {dim}), }}");
    // Magic, version and length take ten bytes, the line feed one.
    let end = (10 + text.len() + 1).next_multiple_of(ALIGNMENT);
    text.extend(std::iter::repeat_n(' ', end - 10 - text.len() - 1));
    text.push('\n');
    // A hundred and some bytes: the two of version 1 hold it.
    let length = (text.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], text.as_bytes()].concat()
}
