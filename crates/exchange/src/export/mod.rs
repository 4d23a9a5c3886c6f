//! From a store to other programs' files.

mod faiss;
mod format;
mod ids;
mod jsonl;
mod npy;
mod parquet;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use half::f16;
use toller_files::{AtomicFile, FileError, commit_together};
use toller_store::{DType, Store};

use crate::ExchangeError;
use crate::progress::{Progress, report};
pub use format::ExportFormat;
pub use jsonl::export_impacts;

/// Numbers that are converted at a time.
const BLOCK_NUMBERS: usize = 1 << 18;

/// Writes a store to a file, with numbers in f16 if asked for.
type WriteVectors = fn(&Store, &mut AtomicFile, bool, &mut Progress<'_>) -> Result<(), ExchangeError>;

/// How to export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportOptions {
    /// Write f32 where the format could hold the store's f16. Impacts are integers, to which this does not
    /// apply.
    pub widen: bool,
    /// Replace existing files.
    pub overwrite: bool,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The files.
    pub files: Vec<PathBuf>,
    /// Their bytes, all together.
    pub bytes: u64,
}

/// Writes the vectors and ids of `store` to `output`, in `format`. If the format has no place for ids, they
/// go into a file next to it; a file that holds these ids already stays. `progress` gets the number of rows
/// written, and may stop the export.
///
/// All files appear or none: each is complete before the first is renamed, and what is replaced is removed
/// before that. So a process that is killed leaves no vectors next to the ids of others. Ids that were to
/// stay are compared again at the end, since another export may have replaced them.
///
/// bf16, which none of the formats has, becomes f32, exactly; so does f16 in FAISS's.
///
/// # Errors
/// When a file exists and is not to be replaced, or cannot be written; for a format of impacts, or an id that
/// the format cannot hold; [`ExchangeError::IdsReplaced`]; [`ExchangeError::Stopped`].
pub fn export(
    store: &Store,
    output: &Path,
    format: ExportFormat,
    options: &ExportOptions,
    progress: &mut Progress<'_>,
) -> Result<Exported, ExchangeError> {
    let write: WriteVectors = match format {
        ExportFormat::Npy => npy::write,
        ExportFormat::Parquet => parquet::write,
        ExportFormat::FaissIdMap => |store, file, _, progress| faiss::write_id_map(store, file, progress),
        ExportFormat::Faiss | ExportFormat::Pyserini => {
            |store, file, _, progress| faiss::write_flat(store, file, progress)
        }
        ExportFormat::Jsonl => {
            return Err(ExchangeError::OtherContent { format, content: store.dtype().into() });
        }
    };
    let (vectors, ids) = format.files(output);
    let files: Vec<PathBuf> = ids.iter().chain([&vectors]).cloned().collect();
    if vectors.is_file() && !options.overwrite {
        return Err(ExchangeError::Exists(vectors));
    }
    let changed_ids =
        ids.as_ref().map(|ids| changed(store, ids.clone(), &vectors, options)).transpose()?.flatten();
    if format == ExportFormat::Pyserini {
        fs::create_dir_all(output).map_err(FileError::on("create", output))?;
    }
    let new_ids = changed_ids.map(|path| {
        let mut file = AtomicFile::create(path)?;
        ids::write(store, &mut file)?;
        Ok::<_, ExchangeError>(file.complete()?)
    });
    let new_ids = new_ids.transpose()?;
    let half = store.dtype() == DType::F16 && !options.widen;
    let mut file = AtomicFile::create(&vectors)?;
    write(store, &mut file, half, progress)?;
    let file = file.complete()?;
    if new_ids.is_none()
        && let Some(kept) = ids.filter(|ids| !ids::are_those_of(store, ids).is_ok_and(|same| same))
    {
        return Err(ExchangeError::IdsReplaced(kept));
    }
    commit_together(new_ids.into_iter().chain([file]).collect())?;
    let bytes = files.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
    Ok(Exported { files, bytes })
}

/// The file of ids, unless it holds those of `store` already.
fn changed(
    store: &Store,
    ids: PathBuf,
    vectors: &Path,
    options: &ExportOptions,
) -> Result<Option<PathBuf>, ExchangeError> {
    if !ids.is_file() {
        return Ok(Some(ids));
    }
    if ids::are_those_of(store, &ids)? {
        return Ok(None);
    }
    if !options.overwrite {
        return Err(ExchangeError::Exists(ids));
    }
    match ExportFormat::sharing_ids(vectors).find(|other| other != vectors && other.is_file()) {
        Some(vectors) => Err(ExchangeError::IdsInUse { ids, vectors }),
        None => Ok(Some(ids)),
    }
}

/// Appends `bytes` to `file`.
fn append(file: &mut AtomicFile, bytes: &[u8]) -> Result<(), ExchangeError> {
    Ok(file.write_all(bytes).map_err(FileError::on("write", file.destination()))?)
}

/// Appends the numbers of all rows in order to `file`, as f16 or f32, and calls `progress` with the number of
/// rows done.
fn write_numbers(
    store: &Store,
    half: bool,
    file: &mut AtomicFile,
    progress: &mut Progress<'_>,
) -> Result<(), ExchangeError> {
    let dim = store.dim();
    let block_rows = (BLOCK_NUMBERS / dim).max(1);
    let (mut numbers, mut bytes) = (vec![0.0; block_rows * dim], Vec::new());
    let mut done = 0;
    for shard in store.shards() {
        for first in (0..shard.rows()).step_by(block_rows) {
            let rows = block_rows.min(shard.rows() - first);
            let block = &mut numbers[..rows * dim];
            shard.embeddings().widen(first * dim..(first + rows) * dim, block);
            bytes.clear();
            if half {
                // Exact: the numbers were f16 before they were widened.
                bytes.extend(block.iter().flat_map(|&number| f16::from_f32(number).to_le_bytes()));
            } else {
                bytes.extend(block.iter().flat_map(|number| number.to_le_bytes()));
            }
            append(file, &bytes)?;
            done += rows as u64;
            report(progress, done)?;
        }
    }
    Ok(())
}

/// The ids of all rows in order.
fn all_ids(store: &Store) -> impl Iterator<Item = &str> {
    store.shards().iter().flat_map(|shard| (0..shard.rows()).map(move |row| shard.id(row)))
}
