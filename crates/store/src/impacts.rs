//! Opening stores of impacts.

use std::path::{Path, PathBuf};

use memmap2::Mmap;
use rayon::prelude::*;
use toller_files::{Checksum, OpenOptions, Verifier};

use crate::manifest::{self, Manifest};
use crate::status::read_impacts;
use crate::strings::{IDS, IMPACTS, Strings};
use crate::tensors::Tensors;
use crate::{ShardEntry, StoreError};

/// A store of impacts, opened for reading: for each text its id, and its terms with their weights. Rows are
/// numbered from zero.
#[derive(Debug)]
pub struct ImpactStore {
    manifests: Vec<Manifest>,
    shards: Vec<ImpactShard>,
    count: usize,
}

impl ImpactStore {
    /// Opens a store that [`StoreWriter`](crate::StoreWriter) wrote, whole or in parts, which are opened in
    /// their order. With [`OpenOptions::verify`], verifies the checksums of all files. Runs in rayon's
    /// current pool.
    ///
    /// # Errors
    /// If the path is not a store, holds vectors, is incomplete, damaged, or of another version of the
    /// format; each names the file.
    pub fn open<P: AsRef<Path>>(path: P, options: &OpenOptions<'_>) -> Result<Self, StoreError> {
        let parts = read_impacts(path.as_ref())?;
        let (mut placed, mut count) = (Vec::new(), 0);
        for part in &parts {
            for entry in &part.manifest.shards {
                placed.push((part.directory.as_path(), entry, count));
                count += entry.rows;
            }
        }
        let verifier = Verifier::new(options, placed.iter().map(|(_, entry, _)| entry.bytes).sum());
        let opened: Vec<Result<ImpactShard, StoreError>> = placed
            .into_par_iter()
            .map(|(directory, entry, first)| ImpactShard::open(directory, entry, first, &verifier))
            .collect();
        // The first error in order, not the first in time.
        let shards = opened.into_iter().collect::<Result<Vec<ImpactShard>, StoreError>>()?;
        let manifests = parts.into_iter().map(|part| part.manifest).collect();
        Ok(Self { manifests, shards, count })
    }

    /// Identifies the content of the store: its model, and the checksums of its shards.
    #[must_use]
    pub fn fingerprint(&self) -> Checksum {
        manifest::fingerprint(&self.manifests)
    }

    /// The number of rows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The terms that the model knows.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.manifest().spec.dim
    }

    /// The manifest of the store, or of its first part.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        // There is one: a store without parts is an error.
        &self.manifests[0]
    }

    /// The manifests of all parts, in order.
    #[must_use]
    pub fn manifests(&self) -> &[Manifest] {
        &self.manifests
    }

    /// The id of each row and its text with impacts, which [`toller_ir::impacts`] reads, in order.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &str)> {
        self.shards.iter().flat_map(|shard| (0..shard.rows).map(move |row| shard.row(row)))
    }

    /// The id of one row and its text with impacts.
    ///
    /// # Panics
    /// If `at` is not below [`ImpactStore::count`].
    #[must_use]
    pub fn row(&self, at: usize) -> (&str, &str) {
        let (shard, row) = self.locate(at);
        shard.row(row)
    }

    /// The shard of a row, and the row's place in it. Panics if there is no such row.
    pub(crate) fn locate(&self, at: usize) -> (&ImpactShard, usize) {
        assert!(at < self.count, "row {at} of a store of {}", self.count);
        let next = self.shards.partition_point(|shard| shard.first <= at);
        let shard = &self.shards[next - 1];
        (shard, at - shard.first)
    }
}

/// A memory-mapped shard of impacts.
#[derive(Debug)]
pub(crate) struct ImpactShard {
    path: PathBuf,
    /// The number of its first row in the store.
    first: usize,
    rows: usize,
    map: Mmap,
    // `find` has checked these against the map.
    ids: Strings,
    impacts: Strings,
}

impl ImpactShard {
    /// Maps the shard `entry` of `directory`, verifies and validates it.
    pub(crate) fn open(
        directory: &Path,
        entry: &ShardEntry,
        first: usize,
        verifier: &Verifier<'_>,
    ) -> Result<Self, StoreError> {
        let file = entry.listed(directory);
        let map = file.map(verifier).map_err(StoreError::of_shard(&file.path))?;
        let (rows, path) = (entry.rows, file.path);
        match find(&map, rows) {
            Ok((ids, impacts)) => Ok(Self { path, first, rows, map, ids, impacts }),
            Err(reason) => Err(StoreError::ShardDamaged { path, reason }),
        }
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The id and the text of a row, counted from the shard's first.
    pub(crate) fn row(&self, row: usize) -> (&str, &str) {
        (self.ids.get(&self.map, row), self.impacts.get(&self.map, row))
    }
}

/// Finds the ids and the impacts of a shard of `rows` rows. Other tensors are ignored. The error says what is
/// wrong.
fn find(file: &[u8], rows: usize) -> Result<(Strings, Strings), String> {
    let tensors = Tensors::read(file)?;
    let impacts = Strings::find(file, &tensors, IMPACTS, rows)?;
    Ok((Strings::find(file, &tensors, IDS, rows)?, impacts))
}
