//! Writing a store, shard by shard, so that nothing finished is ever lost.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toller_files::DirectoryLock;

use crate::damage::{Damage, find_damage};
use crate::directory;
use crate::manifest::{Manifest, shard_file_name};
use crate::part;
use crate::shard_buffer::ShardBuffer;
use crate::spec::Agreement;
use crate::{OpenOptions, StoreError, StorePart, StoreSpec};

/// Writes a store. At most one shard is in memory; a full one is written, synced and renamed into place,
/// and then the manifest that lists it. A process that dies at any moment leaves a store that
/// [`StoreWriter::create_or_resume`] continues to the same bytes as if it had not died.
///
/// Dropping a writer drops the rows of the unfinished shard and keeps the others.
#[derive(Debug)]
pub struct StoreWriter {
    directory: PathBuf,
    manifest: Manifest,
    /// The manifest that this writer began with.
    begun: Manifest,
    /// Listed shards that must be written again, in order. Until then the manifest lists them as they were:
    /// the bytes will be the same.
    damaged: VecDeque<Damage>,
    /// Their rows.
    rows_damaged: u64,
    buffer: ShardBuffer,
    _lock: DirectoryLock,
}

impl StoreWriter {
    /// Creates the store `store`, or resumes it if it was begun with an equal spec (names of models aside).
    /// With [`StoreSpec::part`], the part's directory in `store` is written. If the store is complete,
    /// [`StoreWriter::is_complete`] says so and there is nothing to do.
    ///
    /// The finished shards of a resumed store are verified. A missing or damaged shard is written again,
    /// before the shards that are still missing: [`StoreWriter::missing_rows`] lists the rows to push.
    ///
    /// # Errors
    /// [`StoreError::SpecMismatch`] if the store, or another part of it, was begun with another spec,
    /// [`StoreError::DirectoryInUse`] or [`StoreError::MixedParts`] if the directory holds something else
    /// (nothing is changed then), [`StoreError::Locked`] if another process is writing it,
    /// [`StoreError::InvalidSpec`], errors of a damaged manifest, and file errors.
    pub fn create_or_resume(store: &Path, spec: StoreSpec) -> Result<Self, StoreError> {
        Self::create_or_resume_with(store, spec, &OpenOptions::default())
    }

    /// As [`StoreWriter::create_or_resume`], with progress while the finished shards are verified; or without
    /// verifying their checksums, so that only missing and truncated shards are noticed.
    ///
    /// # Errors
    /// As [`StoreWriter::create_or_resume`].
    pub fn create_or_resume_with(
        store: &Path,
        spec: StoreSpec,
        options: &OpenOptions<'_>,
    ) -> Result<Self, StoreError> {
        let (directory, lock) = claim(store, &spec)?;
        check_siblings_agree(store, &spec)?;
        let Some(manifest) = Manifest::read(&directory)? else {
            let manifest = begin(&directory, spec)?;
            return Self::start(directory, manifest, Vec::new(), lock);
        };
        check_agrees(&directory, &manifest, &spec)?;
        let part = StorePart { directory, manifest };
        let damaged = find_damage(std::slice::from_ref(&part), options)?;
        Self::start(part.directory, part.manifest, damaged, lock)
    }

    /// Checks, without writing, that the store in `directory` was begun with the spec that `spec` makes of
    /// its own. Without a store there is nothing to check.
    ///
    /// # Errors
    /// [`StoreError::SpecMismatch`], and those of a manifest that cannot be read.
    pub fn check_spec(
        directory: &Path,
        spec: impl FnOnce(&StoreSpec) -> Result<StoreSpec, StoreError>,
    ) -> Result<(), StoreError> {
        let Some(manifest) = Manifest::read(directory)? else { return Ok(()) };
        let spec = spec(&manifest.spec)?;
        check_agrees(directory, &manifest, &spec)
    }

    /// Creates the store `store` in place of the existing store, if there is one. A damaged store is replaced
    /// too; anything else is not.
    ///
    /// # Errors
    /// As [`StoreWriter::create_or_resume`], except those about the store that is replaced.
    pub fn overwrite(store: &Path, spec: StoreSpec) -> Result<Self, StoreError> {
        let (directory, lock) = claim(store, &spec)?;
        let manifest = begin(&directory, spec)?;
        Self::start(directory, manifest, Vec::new(), lock)
    }

    fn start(
        directory: PathBuf,
        manifest: Manifest,
        damaged: Vec<Damage>,
        lock: DirectoryLock,
    ) -> Result<Self, StoreError> {
        directory::remove_leftovers(&directory, &manifest)?;
        let buffer = ShardBuffer::new(manifest.spec.dim, manifest.spec.content);
        let begun = manifest.clone();
        let rows_damaged = damaged.iter().map(|damage| damage.rows.end - damage.rows.start).sum();
        Ok(Self { directory, manifest, begun, damaged: damaged.into(), rows_damaged, buffer, _lock: lock })
    }

    /// The directory that is written: the store's, or the part's in it.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What the store holds so far. Damaged shards are listed as they were.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The listed shards that are still to be written again, in order.
    pub fn damaged(&self) -> impl ExactSizeIterator<Item = &Damage> {
        self.damaged.iter()
    }

    /// The rows of the finished and sound shards.
    #[must_use]
    pub fn rows_done(&self) -> u64 {
        self.manifest.count - self.rows_damaged
    }

    /// The rows to push, as ranges in order: those that are not in finished and sound shards, counted from
    /// the first row of the source (or of the part). For a sound store, that is one range that begins at
    /// [`StoreWriter::rows_done`], or none.
    #[must_use]
    pub fn missing_rows(&self) -> Vec<Range<u64>> {
        let rest = self.manifest.count..self.manifest.spec.expected_rows();
        let mut missing: Vec<Range<u64>> = Vec::new();
        for rows in self.damaged.iter().map(|damage| damage.rows.clone()).chain([rest]) {
            match missing.last_mut() {
                Some(last) if last.end == rows.start => last.end = rows.end,
                _ if rows.is_empty() => {}
                _ => missing.push(rows),
            }
        }
        missing
    }

    /// The rows pushed since the last finished shard. Zero means that stopping now loses nothing.
    #[must_use]
    pub fn rows_buffered(&self) -> usize {
        self.buffer.rows()
    }

    /// How many rows make the shard that is being filled full.
    #[must_use]
    pub fn rows_of_shard(&self) -> usize {
        let damaged = self.damaged.front().map(|damage| (damage.rows.end - damage.rows.start) as usize);
        damaged.unwrap_or(self.manifest.spec.rows_per_shard)
    }

    /// Whether the store is finished and sound.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.manifest.complete && self.damaged.is_empty()
    }

    /// Adds the next row of [`StoreWriter::missing_rows`], rounded to the store's dtype (to nearest, ties to
    /// even), and writes the shard if the row fills it.
    ///
    /// # Errors
    /// [`StoreError::WrongDim`], [`StoreError::NotFinite`], [`StoreError::Overflow`],
    /// [`StoreError::OtherContent`] (the store holds impacts) and [`StoreError::RowCount`] (more rows than
    /// the source has), which leave the row out; and file errors, after which the row is held in memory and
    /// the next call tries to write the shard again.
    pub fn push(&mut self, id: &str, embedding: &[f32]) -> Result<(), StoreError> {
        self.push_row(|buffer| buffer.push(id, embedding))
    }

    /// As [`StoreWriter::push`], of a store of impacts: adds a row with the text `impacts`, which
    /// [`toller_ir::push_impact`] makes and which may be empty.
    ///
    /// # Errors
    /// As [`StoreWriter::push`]. [`StoreError::OtherContent`] if the store holds vectors.
    pub fn push_impacts(&mut self, id: &str, impacts: &str) -> Result<(), StoreError> {
        self.push_row(|buffer| buffer.push_impacts(id, impacts))
    }

    fn push_row(
        &mut self,
        push: impl FnOnce(&mut ShardBuffer) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        // Full already only if writing it failed before.
        self.write_full_shard()?;
        let expected = self.manifest.spec.expected_rows();
        let found = self.rows_pushed() + 1;
        if found > expected {
            return Err(StoreError::RowCount { path: self.directory.clone(), expected, found });
        }
        push(&mut self.buffer)?;
        self.write_full_shard()
    }

    /// Writes the last shard and marks the store complete. Does nothing if it is complete.
    ///
    /// # Errors
    /// [`StoreError::RowCount`] if rows are missing, with what was pushed of full shards kept; file errors.
    pub fn finish(self) -> Result<Manifest, StoreError> {
        if self.is_complete() {
            return Ok(self.manifest);
        }
        let expected = self.manifest.spec.expected_rows();
        let found = self.rows_pushed();
        if found != expected {
            return Err(StoreError::RowCount { path: self.directory, expected, found });
        }
        if self.manifest.complete {
            // Only damaged shards were missing, and all of them are written.
            return Ok(self.manifest);
        }
        let mut finished = self.with_buffered_shard()?;
        finished.complete = true;
        finished.write(&self.directory)?;
        Ok(finished)
    }

    /// Leaves the store as this writer found it: the shards that it has finished hold rows that turned out to
    /// be wrong. One that replaced a damaged shard is then damaged again.
    ///
    /// # Errors
    /// File errors.
    pub fn withdraw(self) -> Result<(), StoreError> {
        // Codes that were removed with a damaged shard do not come back.
        let begun = Manifest { codes: self.manifest.codes, ..self.begun };
        begun.write(&self.directory)?;
        directory::remove_leftovers(&self.directory, &begun)
    }

    fn rows_pushed(&self) -> u64 {
        self.rows_done() + self.buffer.rows() as u64
    }

    fn write_full_shard(&mut self) -> Result<(), StoreError> {
        if self.buffer.rows() < self.rows_of_shard() {
            return Ok(());
        }
        let manifest = match self.damaged.front() {
            Some(damage) => self.with_shard_replaced(damage.shard)?,
            None => self.with_buffered_shard()?,
        };
        if manifest != self.manifest {
            manifest.write(&self.directory)?;
            let before = std::mem::replace(&mut self.manifest, manifest);
            if before.codes != self.manifest.codes {
                directory::remove_leftovers(&self.directory, &self.manifest)?;
            }
        }
        if let Some(Damage { rows, .. }) = self.damaged.pop_front() {
            self.rows_damaged -= rows.end - rows.start;
        }
        self.buffer.clear();
        Ok(())
    }

    /// Writes the buffered rows in place of the listed shard `index`, and returns the manifest that lists
    /// them. It is the same manifest unless the rows were computed differently, for example on another
    /// device. Then the codes, which were made of the old rows, are no longer listed, and the store is
    /// searched without them.
    fn with_shard_replaced(&self, index: usize) -> Result<Manifest, StoreError> {
        let mut manifest = self.manifest.clone();
        let shard = self.buffer.write(&self.directory, shard_file_name(index))?;
        if let Some(entry) = manifest.shards.get_mut(index)
            && *entry != shard
        {
            *entry = shard;
            manifest.codes.clear();
        }
        Ok(manifest)
    }

    /// Writes the buffered rows, if any, as the next shard, and returns the manifest that lists it.
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

/// Checks that the spec's directory may be written, creates it and locks it.
fn claim(store: &Path, spec: &StoreSpec) -> Result<(PathBuf, DirectoryLock), StoreError> {
    spec.check()?;
    if let Some(part) = &spec.part {
        directory::check_siblings(store, part)?;
    }
    let directory = spec.directory(store);
    directory::check_is_store_or_empty(&directory)?;
    directory::create(&directory)?;
    let lock = directory::lock(&directory)?;
    // Check again: another process may have written between the check and the lock.
    directory::check_is_store_or_empty(&directory)?;
    Ok((directory, lock))
}

/// Checks that a store was begun with this spec.
fn check_agrees(directory: &Path, manifest: &Manifest, spec: &StoreSpec) -> Result<(), StoreError> {
    let differences = manifest.spec.differences(spec, Agreement::Resume);
    if differences.is_empty() {
        return Ok(());
    }
    Err(StoreError::SpecMismatch { path: directory.to_owned(), differences })
}

/// Checks that the existing parts can be opened as one with the part of `spec`, before that part is encoded.
/// A store that is replaced is not checked: its parts are replaced one by one.
fn check_siblings_agree(store: &Path, spec: &StoreSpec) -> Result<(), StoreError> {
    let Some(part) = &spec.part else { return Ok(()) };
    for index in (1..=part.of).filter(|index| *index != part.index) {
        let path = store.join(part::directory_name(index, part.of));
        // A damaged sibling is reported by its own writer, or when the store is opened.
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
