//! Writing a store, shard by shard, so that nothing finished is ever lost.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toller_files::FileError;

use crate::directory::{self, WriteLock};
use crate::manifest::{Manifest, shard_file_name};
use crate::part;
use crate::shard_buffer::ShardBuffer;
use crate::spec::Agreement;
use crate::{StoreError, StoreSpec};

/// Writes a store. At most one shard is in memory; a full one is written, synced and renamed into place,
/// and then the manifest that lists it. A process that dies at any moment leaves a store that
/// [`StoreWriter::create_or_resume`] continues to the same bytes as if it had not died.
///
/// Dropping a writer drops the rows of the unfinished shard and keeps the others.
#[derive(Debug)]
pub struct StoreWriter {
    directory: PathBuf,
    manifest: Manifest,
    buffer: ShardBuffer,
    _lock: WriteLock,
}

impl StoreWriter {
    /// Creates the store `store`, or resumes it if it was begun with an equal spec ([`model.name`] aside).
    /// With [`StoreSpec::part`], the part's directory in `store` is written. If the store is complete,
    /// [`StoreWriter::is_complete`] says so and there is nothing to do.
    ///
    /// The finished shards of a resumed store must be there with their right lengths; their checksums are
    /// verified by [`Store::open`](crate::Store::open).
    ///
    /// [`model.name`]: crate::ModelInfo::name
    ///
    /// # Errors
    /// [`StoreError::SpecMismatch`] if the store, or another part of it, was begun with another spec, [`StoreError::DirectoryInUse`]
    /// or [`StoreError::MixedParts`] if something else is there (nothing is changed then),
    /// [`StoreError::Locked`] if another process is writing it, [`StoreError::InvalidSpec`], errors of a
    /// damaged manifest or missing shard, and file errors.
    pub fn create_or_resume(store: &Path, spec: StoreSpec) -> Result<Self, StoreError> {
        let (directory, lock) = claim(store, &spec)?;
        check_siblings_agree(store, &spec)?;
        let manifest = match Manifest::read(&directory)? {
            Some(manifest) => {
                let differences = manifest.spec.differences(&spec, Agreement::Resume);
                if !differences.is_empty() {
                    return Err(StoreError::SpecMismatch { path: directory, differences });
                }
                check_shards_present(&directory, &manifest)?;
                manifest
            }
            None => begin(&directory, spec)?,
        };
        Self::start(directory, manifest, lock)
    }

    /// Creates the store `store` in place of the one that is there, if any. What is not a store is never
    /// replaced; a damaged store is.
    ///
    /// # Errors
    /// As [`StoreWriter::create_or_resume`], but for those of the store that is replaced.
    pub fn overwrite(store: &Path, spec: StoreSpec) -> Result<Self, StoreError> {
        let (directory, lock) = claim(store, &spec)?;
        let manifest = begin(&directory, spec)?;
        Self::start(directory, manifest, lock)
    }

    fn start(directory: PathBuf, manifest: Manifest, lock: WriteLock) -> Result<Self, StoreError> {
        directory::remove_leftovers(&directory, &manifest)?;
        let buffer = ShardBuffer::new(manifest.spec.dim, manifest.spec.dtype);
        Ok(Self { directory, manifest, buffer, _lock: lock })
    }

    /// The directory that is written: the store's, or the part's in it.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What is finished so far.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The rows of the finished shards. After [`StoreWriter::create_or_resume`], the next row to push is
    /// this one, counted from the first of the source (or of the part).
    #[must_use]
    pub fn rows_done(&self) -> u64 {
        self.manifest.count
    }

    /// The rows pushed since the last finished shard. Zero means that stopping now loses nothing.
    #[must_use]
    pub fn rows_buffered(&self) -> usize {
        self.buffer.rows()
    }

    /// Whether the store is finished.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.manifest.complete
    }

    /// Adds the next row, rounded to the store's dtype (to nearest, ties to even), and writes the shard if
    /// that fills it.
    ///
    /// # Errors
    /// [`StoreError::WrongDim`], [`StoreError::NotFinite`], [`StoreError::Overflow`] and
    /// [`StoreError::RowCount`] (more rows than the source has), which leave the row out; and file errors,
    /// after which the row is held in memory and the next call tries to write the shard again.
    pub fn push(&mut self, id: &str, embedding: &[f32]) -> Result<(), StoreError> {
        // Full already only if writing it failed before.
        self.write_full_shard()?;
        let expected = self.manifest.spec.expected_rows();
        let found = self.rows_pushed() + 1;
        if found > expected {
            return Err(StoreError::RowCount { path: self.directory.clone(), expected, found });
        }
        self.buffer.push(id, embedding)?;
        self.write_full_shard()
    }

    /// Adds rows, one for each id; `embeddings` is [ids, dim], row after row.
    ///
    /// # Errors
    /// [`StoreError::WrongBatch`], with no row added, and those of [`StoreWriter::push`], with the rows
    /// before the bad one added.
    pub fn push_rows<S: AsRef<str>>(&mut self, ids: &[S], embeddings: &[f32]) -> Result<(), StoreError> {
        let dim = self.manifest.spec.dim;
        if ids.len().checked_mul(dim) != Some(embeddings.len()) {
            return Err(StoreError::WrongBatch { ids: ids.len(), values: embeddings.len(), dim });
        }
        ids.iter().zip(embeddings.chunks_exact(dim)).try_for_each(|(id, row)| self.push(id.as_ref(), row))
    }

    /// Writes the last shard and marks the store complete. Does nothing if it is complete.
    ///
    /// # Errors
    /// [`StoreError::RowCount`] if rows are missing, with what was pushed of full shards kept; file errors.
    pub fn finish(self) -> Result<Manifest, StoreError> {
        if self.manifest.complete {
            return Ok(self.manifest);
        }
        let expected = self.manifest.spec.expected_rows();
        let found = self.rows_pushed();
        if found != expected {
            return Err(StoreError::RowCount { path: self.directory, expected, found });
        }
        let mut finished = self.with_buffered_shard()?;
        finished.complete = true;
        finished.write(&self.directory)?;
        Ok(finished)
    }

    fn rows_pushed(&self) -> u64 {
        self.manifest.count + self.buffer.rows() as u64
    }

    fn write_full_shard(&mut self) -> Result<(), StoreError> {
        if self.buffer.rows() < self.manifest.spec.rows_per_shard {
            return Ok(());
        }
        let manifest = self.with_buffered_shard()?;
        manifest.write(&self.directory)?;
        self.manifest = manifest;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the buffered rows, if any, as the next shard; gives the manifest that lists it.
    fn with_buffered_shard(&self) -> Result<Manifest, StoreError> {
        let mut manifest = self.manifest.clone();
        if self.buffer.rows() > 0 {
            let shard = self.buffer.write(&self.directory, shard_file_name(manifest.shards.len()))?;
            manifest.count += shard.rows as u64;
            manifest.shards.push(shard);
        }
        Ok(manifest)
    }
}

/// Makes sure that the spec's directory may be written, creates it and locks it.
fn claim(store: &Path, spec: &StoreSpec) -> Result<(PathBuf, WriteLock), StoreError> {
    spec.check()?;
    if let Some(part) = &spec.part {
        directory::check_siblings(store, part)?;
    }
    let directory = spec.directory(store);
    directory::check_is_store_or_empty(&directory)?;
    directory::create(&directory)?;
    let lock = WriteLock::acquire(&directory)?;
    // Once more: another process may have come between the check and the lock.
    directory::check_is_store_or_empty(&directory)?;
    Ok((directory, lock))
}

/// Makes sure that the parts that are there can be opened as one with the part of `spec`, before that is
/// encoded. Replacing a store is not checked so: its parts are replaced one after the other.
fn check_siblings_agree(store: &Path, spec: &StoreSpec) -> Result<(), StoreError> {
    let Some(part) = &spec.part else { return Ok(()) };
    for index in (1..=part.of).filter(|index| *index != part.index) {
        let path = store.join(part::directory_name(index, part.of));
        // A sibling that is damaged is for its own writer, or for opening, to tell.
        let Ok(Some(sibling)) = Manifest::read(&path) else { continue };
        let differences = sibling.spec.differences(spec, Agreement::Parts);
        if !differences.is_empty() {
            return Err(StoreError::SpecMismatch { path, differences });
        }
    }
    Ok(())
}

/// Writes the manifest of an empty store.
fn begin(directory: &Path, spec: StoreSpec) -> Result<Manifest, StoreError> {
    let manifest = Manifest::new(spec);
    manifest.write(directory)?;
    Ok(manifest)
}

fn check_shards_present(directory: &Path, manifest: &Manifest) -> Result<(), StoreError> {
    for shard in &manifest.shards {
        let path = directory.join(&shard.file);
        match fs::metadata(&path) {
            Ok(metadata) if metadata.len() == shard.bytes => {}
            Ok(metadata) => {
                return Err(StoreError::ShardSize { path, expected: shard.bytes, found: metadata.len() });
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(StoreError::ShardMissing { path });
            }
            Err(error) => return Err(FileError::new("examine", path, error).into()),
        }
    }
    Ok(())
}
