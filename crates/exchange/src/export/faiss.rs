//! FAISS's flat index for the inner product; `source/faiss.rs` has the layout.

use toller_files::AtomicFile;
use toller_ir::{Setting, remedy};
use toller_store::Store;

use super::{all_ids, append, write_numbers};
use crate::ExchangeError;
use crate::progress::Progress;

/// Writes an `IndexFlatIP`.
pub(super) fn write_flat(
    store: &Store,
    file: &mut AtomicFile,
    progress: &mut Progress<'_>,
) -> Result<(), ExchangeError> {
    head(store, b"IxFI", file)?;
    let numbers = store.count() as u64 * store.dim() as u64;
    append(file, &numbers.to_le_bytes())?;
    write_numbers(store, false, file, progress)
}

/// Writes an `IndexIDMap` of an `IndexFlatIP`.
pub(super) fn write_id_map(
    store: &Store,
    file: &mut AtomicFile,
    progress: &mut Progress<'_>,
) -> Result<(), ExchangeError> {
    let path = file.destination().to_owned();
    // Before the vectors, so that an id that is not an integer costs nothing.
    let integer = |id: &str| {
        let number: Option<i64> = id.parse().ok();
        // One spelling only: `007` would come back as `7`.
        number.filter(|number| number.to_string() == id).ok_or_else(|| ExchangeError::UnwritableId {
            id: id.to_owned(),
            path: path.clone(),
            reason: "FAISS's ids are integers of 64 bits",
        })
    };
    all_ids(store).try_for_each(|id| integer(id).map(drop))?;
    head(store, b"IxMp", file)?;
    write_flat(store, file, progress)?;
    append(file, &(store.count() as u64).to_le_bytes())?;
    all_ids(store).try_for_each(|id| append(file, &integer(id)?.to_le_bytes()))
}

fn head(store: &Store, kind: &[u8; 4], file: &mut AtomicFile) -> Result<(), ExchangeError> {
    let dim = i32::try_from(store.dim()).map_err(|_| ExchangeError::Unsupported {
        path: file.destination().to_owned(),
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
    append(file, &bytes)
}
