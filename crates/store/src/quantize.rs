//! Giving a finished store codes, and taking them away.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use toller_files::FileError;
use toller_ir::DocOrd;

use crate::codes;
use crate::directory::{self, WriteLock};
use crate::manifest::Manifest;
use crate::store::read_manifests;
use crate::verify::Verifier;
use crate::{CodesEntry, OpenOptions, Shard, StoreError, StorePart};

/// What a store shall have beside its vectors.
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

/// Makes the store at `path`, whole or in parts, have `codes`: in parallel, in rayon's current pool. The vectors are
/// verified, and not changed; parts that have what is asked for are left alone, unless `anew`. Whenever the process
/// dies, the store stays whole: the manifest lists the codes when all of them are written.
///
/// Returns the bytes of the codes that the store has then.
///
/// # Errors
/// If the store is incomplete or damaged, or being written, and file errors.
pub fn quantize(
    path: &Path,
    codes: Codes,
    anew: bool,
    progress: Option<&(dyn Fn(QuantizeProgress) + Sync)>,
) -> Result<u64, StoreError> {
    let parts = read_manifests(path)?;
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
        let _lock = WriteLock::acquire(&part.directory)?;
        // Once more: another process may have changed it before the lock.
        let manifest = Manifest::read(&part.directory)?;
        let part = StorePart { manifest: manifest.unwrap_or_else(|| part.manifest.clone()), ..part.clone() };
        let codes = match codes {
            Codes::Int8 => int8(&part, anew, &advance)?,
            Codes::None => Vec::new(),
        };
        bytes += codes.iter().map(|entry| entry.bytes).sum::<u64>();
        let mut manifest = part.manifest.clone();
        manifest.codes = codes;
        if manifest != part.manifest {
            manifest.write(&part.directory)?;
        }
        directory::remove_leftovers(&part.directory, &manifest)?;
    }
    Ok(bytes)
}

/// Writes the codes of every shard of a part.
fn int8(
    part: &StorePart,
    anew: bool,
    advance: &(dyn Fn(usize) + Sync),
) -> Result<Vec<CodesEntry>, StoreError> {
    let StorePart { directory, manifest } = part;
    if !anew && !manifest.codes.is_empty() && are_there(directory, &manifest.codes)? {
        advance(manifest.count as usize);
        return Ok(manifest.codes.clone());
    }
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

/// Whether all listed files are there with their lengths.
fn are_there(directory: &Path, codes: &[CodesEntry]) -> Result<bool, StoreError> {
    for entry in codes {
        let path = directory.join(&entry.file);
        match fs::metadata(&path) {
            Ok(metadata) if metadata.len() == entry.bytes => {}
            Ok(_) => return Ok(false),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(FileError::new("examine", path, error).into()),
        }
    }
    Ok(true)
}
