//! FAISS's flat index for the inner product; `source/faiss.rs` has the layout.

use std::io::Write;
use std::path::Path;

use toller_files::{AtomicFile, FileError};
use toller_ir::{Setting, remedy};
use toller_store::Store;

use super::{all_ids, write_numbers};
use crate::ExchangeError;
use crate::progress::Progress;

/// Writes an `IndexFlatIP`.
pub(super) fn write_flat(
    store: &Store,
    path: &Path,
    progress: &mut Progress<'_>,
) -> Result<(), ExchangeError> {
    let mut file = AtomicFile::create(path)?;
    flat(store, &mut file, path, progress)?;
    Ok(file.commit()?)
}

/// Writes an `IndexIDMap` of an `IndexFlatIP`.
pub(super) fn write_id_map(
    store: &Store,
    path: &Path,
    progress: &mut Progress<'_>,
) -> Result<(), ExchangeError> {
    // Before the vectors, so that an id that is no integer costs nothing.
    let integer = |id: &str| {
        let number: Option<i64> = id.parse().ok();
        // One spelling only: `007` would come back as `7`.
        number.filter(|number| number.to_string() == id).ok_or_else(|| ExchangeError::UnwritableId {
            id: id.to_owned(),
            path: path.to_owned(),
            reason: "FAISS's ids are integers of 64 bits",
        })
    };
    all_ids(store).try_for_each(|id| integer(id).map(drop))?;
    let mut file = AtomicFile::create(path)?;
    head(store, b"IxMp", &mut file, path)?;
    flat(store, &mut file, path, progress)?;
    let mut write = |bytes: [u8; 8]| file.write_all(&bytes).map_err(FileError::on("write", path));
    write((store.count() as u64).to_le_bytes())?;
    for id in all_ids(store) {
        write(integer(id)?.to_le_bytes())?;
    }
    Ok(file.commit()?)
}

fn flat(
    store: &Store,
    file: &mut AtomicFile,
    path: &Path,
    progress: &mut Progress<'_>,
) -> Result<(), ExchangeError> {
    head(store, b"IxFI", file, path)?;
    let numbers = store.count() as u64 * store.dim() as u64;
    file.write_all(&numbers.to_le_bytes()).map_err(FileError::on("write", path))?;
    write_numbers(store, false, file, progress)
}

fn head(store: &Store, kind: &[u8; 4], file: &mut AtomicFile, path: &Path) -> Result<(), ExchangeError> {
    let dim = i32::try_from(store.dim()).map_err(|_| ExchangeError::Unsupported {
        path: path.to_owned(),
        what: format!("FAISS has no vectors of {} numbers", store.dim()),
        remedy: remedy!("use `{}`", Setting::Format.to("npy")),
    })?;
    let mut bytes = kind.to_vec();
    bytes.extend(dim.to_le_bytes());
    bytes.extend((store.count() as i64).to_le_bytes());
    // What FAISS itself writes in the two places that mean nothing.
    bytes.extend((1_i64 << 20).to_le_bytes());
    bytes.extend((1_i64 << 20).to_le_bytes());
    // Trained; the inner product.
    bytes.push(1);
    bytes.extend(0_i32.to_le_bytes());
    Ok(file.write_all(&bytes).map_err(FileError::on("write", path))?)
}
