//! Giving a finished store codes, and taking them away.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use toller_files::Verifier;
use toller_ir::DocOrd;

use crate::codes;
use crate::damage::find_damaged_codes;
use crate::directory;
use crate::manifest::Manifest;
use crate::status::read_vectors;
use crate::{CodesEntry, OpenOptions, Shard, StoreError, StorePart};

/// What a store has in addition to its vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codes {
    /// One byte a number, for the int8 scan.
    Int8,
    /// Nothing.
    None,
}

/// How far a store is quantized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuantizeProgress {
    /// Rows done, all threads together.
    pub rows_done: u64,
    /// Rows of all parts.
    pub rows_total: u64,
}

/// Gives the store at `path`, whole or in parts, these codes, or removes them: in parallel, in rayon's
/// current pool. The vectors are verified, and not changed. Parts that have such codes already are left
/// alone, unless `again`. If the work fails or the process dies, the store stays whole: the manifest lists
/// the codes of a part when all of them are written, and does not list codes that are about to be replaced.
///
/// Returns the bytes of the codes that the store has in the end.
///
/// # Errors
/// If the store is incomplete or damaged, holds impacts, or is being written, and file errors.
pub fn quantize(
    path: &Path,
    codes: Codes,
    again: bool,
    progress: Option<&(dyn Fn(QuantizeProgress) + Sync)>,
) -> Result<u64, StoreError> {
    let parts = read_vectors(path)?;
    let rows_total = parts.iter().map(|part| part.manifest.count).sum();
    let rows_done = AtomicU64::new(0);
    let advance = |rows: usize| {
        let rows_done = rows_done.fetch_add(rows as u64, Ordering::Relaxed) + rows as u64;
        if let Some(report) = progress {
            report(QuantizeProgress { rows_done, rows_total });
        }
    };
    let mut bytes = 0;
    for part in &parts {
        let _lock = directory::lock(&part.directory)?;
        // Read it again: another process may have changed it before the lock.
        let manifest = Manifest::read(&part.directory)?
            .ok_or_else(|| StoreError::NotAStore { path: part.directory.clone() })?;
        let mut part = StorePart { manifest, ..part.clone() };
        part.check_complete()?;
        if codes == Codes::Int8 && !again && has_codes(&part)? {
            advance(part.manifest.count as usize);
        } else {
            list(&mut part, Vec::new())?;
            if codes == Codes::Int8 {
                let written = int8(&part, &advance).and_then(|written| list(&mut part, written));
                if written.is_err() {
                    // The disk may be full. The first error is the one that is returned.
                    let _ = directory::remove_leftovers(&part.directory, &part.manifest);
                }
                written?;
            }
        }
        directory::remove_leftovers(&part.directory, &part.manifest)?;
        bytes += part.manifest.codes.iter().map(|entry| entry.bytes).sum::<u64>();
    }
    Ok(bytes)
}

/// Makes `codes` those that the part's manifest lists.
fn list(part: &mut StorePart, codes: Vec<CodesEntry>) -> Result<(), StoreError> {
    let mut manifest = part.manifest.clone();
    manifest.codes = codes;
    if manifest != part.manifest {
        manifest.write(&part.directory)?;
        part.manifest = manifest;
    }
    Ok(())
}

/// Writes the codes of every shard of a part.
fn int8(part: &StorePart, advance: &(dyn Fn(usize) + Sync)) -> Result<Vec<CodesEntry>, StoreError> {
    let StorePart { directory, manifest } = part;
    let options = OpenOptions::default();
    let verifier = Verifier::new(&options, 0);
    let written: Vec<Result<CodesEntry, StoreError>> = (0..manifest.shards.len())
        .into_par_iter()
        .map(|index| {
            let entry = &manifest.shards[index];
            let shard = Shard::open(directory, entry, &manifest.spec, DocOrd(0), &verifier)?;
            let written = codes::write(directory, index, &shard, entry)?;
            advance(entry.rows);
            Ok(written)
        })
        .collect();
    // The first error in order, not the first in time.
    written.into_iter().collect()
}

/// Whether all shards have codes that are as they were written.
fn has_codes(part: &StorePart) -> Result<bool, StoreError> {
    let listed = part.manifest.codes.len() == part.manifest.shards.len();
    Ok(listed && find_damaged_codes(std::slice::from_ref(part), &OpenOptions::default())?.is_empty())
}
