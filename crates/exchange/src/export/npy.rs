//! NumPy's `.npy`.

use toller_files::AtomicFile;
use toller_store::Store;

use super::{append, write_numbers};
use crate::ExchangeError;
use crate::progress::Progress;

/// The numbers begin at a multiple of this many bytes, as numpy itself writes them.
const ALIGNMENT: usize = 64;

/// Writes the vectors as a matrix [rows, dim] of float16 or float32.
pub(super) fn write(
    store: &Store,
    file: &mut AtomicFile,
    half: bool,
    progress: &mut Progress<'_>,
) -> Result<(), ExchangeError> {
    let header = header(if half { "<f2" } else { "<f4" }, store.count(), store.dim());
    append(file, &header)?;
    write_numbers(store, half, file, progress)
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
