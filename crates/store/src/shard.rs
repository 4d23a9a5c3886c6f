//! A memory-mapped shard.

use std::ops::Range;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use memmap2::Advice;
use memmap2::Mmap;
use toller_files::{ListedFile, Verifier};
use toller_ir::DocOrd;
use toller_topk::Vectors;

use crate::codes::MappedCodes;
use crate::strings::{IDS, Strings};
use crate::tensors::{ALIGNMENT, Tensors};
use crate::{CodesEntry, DType, ShardEntry, StoreError, StoreSpec};

#[cfg(target_endian = "big")]
compile_error!("shards are little-endian and are used as they are in the file");

/// A shard of an opened store of vectors: rows that follow each other in the store's order.
///
/// The vectors are in the memory map of the file, at a multiple of 64 bytes. Pages that were read stay in the
/// system's file cache and are not the process's own memory.
#[derive(Debug)]
pub struct Shard {
    path: PathBuf,
    first: DocOrd,
    rows: usize,
    dim: usize,
    dtype: DType,
    map: Mmap,
    // `find` has checked these against the map.
    embeddings: Range<usize>,
    ids: Strings,
    codes: Option<MappedCodes>,
}

impl Shard {
    /// Maps the shard `entry` of `directory`, verifies and validates it. Its first row is `first`.
    pub(crate) fn open(
        directory: &Path,
        entry: &ShardEntry,
        spec: &StoreSpec,
        first: DocOrd,
        verifier: &Verifier<'_>,
    ) -> Result<Self, StoreError> {
        let Some(dtype) = spec.content.dtype() else {
            return Err(StoreError::HoldsImpacts(directory.to_owned()));
        };
        let file = entry.listed(directory);
        let map = file.map(verifier).map_err(StoreError::of_shard(&file.path))?;
        let (dim, rows, path) = (spec.dim, entry.rows, file.path);
        match find(&map, rows, dim, dtype) {
            Ok((embeddings, ids)) => {
                Ok(Self { path, first, rows, dim, dtype, map, embeddings, ids, codes: None })
            }
            Err(reason) => Err(StoreError::ShardDamaged { path, reason }),
        }
    }

    /// Verifies the checksums of the shard, listed as `entry`, and of its codes.
    pub(crate) fn verify(
        &self,
        entry: &ShardEntry,
        codes: Option<&CodesEntry>,
        verifier: &Verifier<'_>,
    ) -> Result<(), StoreError> {
        let directory = self.path.parent().unwrap_or(&self.path);
        let verified = entry.listed(directory).verify(&self.map, verifier);
        verified.map_err(StoreError::of_shard(&self.path))?;
        match (&self.codes, codes) {
            (Some(mapped), Some(codes)) => mapped.verify(&codes.listed(directory), verifier),
            _ => Ok(()),
        }
    }

    /// The same shard with its codes, mapped and verified.
    pub(crate) fn with_codes(self, codes: MappedCodes) -> Self {
        Self { codes: Some(codes), ..self }
    }

    /// The vectors with one byte per number, if the store has been quantized.
    #[must_use]
    pub fn codes(&self) -> Option<toller_topk::Codes<'_>> {
        self.codes.as_ref().map(MappedCodes::get)
    }

    /// The mapped files: the shard's own, and that of its codes.
    pub fn maps(&self) -> impl Iterator<Item = &[u8]> {
        [&*self.map].into_iter().chain(self.codes.as_ref().map(|codes| &**codes.mmap()))
    }

    /// Asks the system to read `bytes`, a piece of one of [`Shard::maps`], before they are needed. A hint: if
    /// the system has no such call, or refuses, nothing happens.
    pub fn will_need(&self, bytes: &[u8]) {
        #[cfg(unix)]
        for map in [&self.map].into_iter().chain(self.codes.as_ref().map(MappedCodes::mmap)) {
            let (start, first) = (map.as_ptr().addr(), bytes.as_ptr().addr());
            if (start..start + map.len()).contains(&first) {
                let length = bytes.len().min(start + map.len() - first);
                let _ = map.advise_range(Advice::WillNeed, first - start, length);
            }
        }
        #[cfg(not(unix))]
        let _ = bytes;
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The ordinal of the first row; the others follow.
    #[must_use]
    pub fn first(&self) -> DocOrd {
        self.first
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Those of the shard's rows, counted from its first, whose ordinals are in `ordinals`.
    #[must_use]
    pub fn rows_within(&self, ordinals: &Range<usize>) -> Range<usize> {
        let first = self.first.index();
        let row = |ordinal: usize| ordinal.saturating_sub(first).min(self.rows);
        row(ordinals.start)..row(ordinals.end)
    }

    /// Numbers in a vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The vectors, [rows, dim]. The first begins at a multiple of 64 bytes in memory.
    #[must_use]
    pub fn embeddings(&self) -> Vectors<'_> {
        let bytes = &self.map[self.embeddings.clone()];
        // The casts do not panic: the tensor has rows * dim numbers, and its place is aligned.
        match self.dtype {
            DType::F32 => Vectors::F32(bytemuck::cast_slice(bytes)),
            DType::F16 => Vectors::F16(bytemuck::cast_slice(bytes)),
            DType::BF16 => Vectors::BF16(bytemuck::cast_slice(bytes)),
        }
    }

    /// The id of a row, counted from the shard's first.
    ///
    /// # Panics
    /// If `row` is not below [`Shard::rows`].
    #[must_use]
    pub fn id(&self, row: usize) -> &str {
        assert!(row < self.rows, "row {row} of a shard of {}", self.rows);
        self.ids.get(&self.map, row)
    }
}

impl ShardEntry {
    pub(crate) fn listed(&self, directory: &Path) -> ListedFile {
        ListedFile { path: directory.join(&self.file), bytes: self.bytes, checksum: self.checksum }
    }
}

/// Finds the embeddings and the ids of a shard of `rows` rows, and checks everything that [`Shard`] relies
/// on. Other tensors are ignored. The error says what is wrong.
fn find(file: &[u8], rows: usize, dim: usize, dtype: DType) -> Result<(Range<usize>, Strings), String> {
    let tensors = Tensors::read(file)?;
    let embeddings = tensors.find("embeddings", dtype.safetensors(), &[rows, dim], ALIGNMENT)?;
    Ok((embeddings, Strings::find(file, &tensors, IDS, rows)?))
}
