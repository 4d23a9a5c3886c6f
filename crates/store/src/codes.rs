//! Vectors in one byte a number, in files next to the shards: what the int8 scan reads.
//!
//! They are apart from the vectors, so that they can be made for a finished store, and removed, without
//! touching it, and so that a scan that reads only codes brings nothing else into memory. Each file has the
//! tensors `scales [rows]` and `residual_norms [rows]` (f32), and `codes [rows, dim]` (i8), which begin at a
//! multiple of 64 bytes.

use std::ops::Range;
use std::path::Path;

use memmap2::Mmap;
use safetensors::Dtype;
use serde::{Deserialize, Serialize};
use toller_files::{ListedFile, Verifier};
use toller_topk::quantize;

use crate::tensors::{self, Tensor, Tensors};
use crate::{Checksum, Shard, ShardEntry, StoreError};

/// Rows that are quantized as one piece.
const ROWS_AT_ONCE: usize = 256;

/// A file of codes, as the manifest lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodesEntry {
    /// Its file name in the store's directory.
    pub file: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// The checksum of all its bytes.
    pub checksum: Checksum,
    /// The checksum of the shard whose vectors these are.
    pub shard: Checksum,
}

/// The codes of a shard, in the memory map of their file; see [`toller_topk::Codes`].
#[derive(Debug)]
pub(crate) struct MappedCodes {
    map: Mmap,
    // `find` has checked these against the map.
    scales: Range<usize>,
    residual_norms: Range<usize>,
    codes: Range<usize>,
}

/// The file name of the codes of shard `index`.
pub(crate) fn codes_file_name(index: usize) -> String {
    format!("codes-{index:05}.safetensors")
}

impl CodesEntry {
    pub(crate) fn listed(&self, directory: &Path) -> ListedFile {
        ListedFile { path: directory.join(&self.file), bytes: self.bytes, checksum: self.checksum }
    }
}

impl MappedCodes {
    /// Maps and checks the codes `entry` of `directory`, which belong to `shard` of `dim` numbers a vector.
    pub(crate) fn open(
        directory: &Path,
        entry: &CodesEntry,
        shard: &ShardEntry,
        dim: usize,
        verifier: &Verifier<'_>,
    ) -> Result<Self, StoreError> {
        let file = entry.listed(directory);
        let damaged = |reason: String| StoreError::CodesDamaged { path: file.path.clone(), reason };
        if entry.shard != shard.checksum {
            return Err(damaged(format!("it was made of another {}", shard.file)));
        }
        let map = file.map(verifier).map_err(StoreError::of_codes(&file.path))?;
        let [scales, residual_norms, codes] = find(&map, shard.rows, dim).map_err(damaged)?;
        Ok(Self { map, scales, residual_norms, codes })
    }

    /// Verifies the checksum of the file.
    pub(crate) fn verify(&self, file: &ListedFile, verifier: &Verifier<'_>) -> Result<(), StoreError> {
        file.verify(&self.map, verifier).map_err(StoreError::of_codes(&file.path))
    }

    /// The mapped file.
    pub(crate) fn mmap(&self) -> &Mmap {
        &self.map
    }

    pub(crate) fn get(&self) -> toller_topk::Codes<'_> {
        // The casts do not panic: `find` has checked lengths and places, and any four bytes are an f32.
        toller_topk::Codes {
            values: bytemuck::cast_slice(&self.map[self.codes.clone()]),
            scales: bytemuck::cast_slice(&self.map[self.scales.clone()]),
            residual_norms: bytemuck::cast_slice(&self.map[self.residual_norms.clone()]),
        }
    }
}

/// Where scales, residual norms and codes are in a file. The error says what is wrong.
fn find(file: &[u8], rows: usize, dim: usize) -> Result<[Range<usize>; 3], String> {
    let tensors = Tensors::read(file)?;
    Ok([
        tensors.find("scales", Dtype::F32, &[rows], size_of::<f32>())?,
        tensors.find("residual_norms", Dtype::F32, &[rows], size_of::<f32>())?,
        tensors.find("codes", Dtype::I8, &[rows, dim], 1)?,
    ])
}

/// Quantizes the vectors of the shard number `index`, which is listed as `entry`, and writes their codes,
/// atomically.
pub(crate) fn write(
    directory: &Path,
    index: usize,
    shard: &Shard,
    entry: &ShardEntry,
) -> Result<CodesEntry, StoreError> {
    let (rows, dim) = (shard.rows(), shard.dim());
    let (mut scales, mut residual_norms) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let mut codes: Vec<i8> = Vec::with_capacity(rows * dim);
    let mut wide = vec![0.0; ROWS_AT_ONCE.min(rows) * dim];
    for first in (0..rows).step_by(ROWS_AT_ONCE) {
        let range = first * dim..(first + ROWS_AT_ONCE).min(rows) * dim;
        let wide = &mut wide[..range.len()];
        shard.embeddings().widen(range, wide);
        let quantized = quantize(wide, dim);
        scales.extend(quantized.scales);
        residual_norms.extend(quantized.residual_norms);
        codes.extend(quantized.codes);
    }

    let tensors = [
        Tensor { name: "scales", dtype: Dtype::F32, shape: vec![rows], bytes: bytemuck::cast_slice(&scales) },
        Tensor {
            name: "residual_norms",
            dtype: Dtype::F32,
            shape: vec![rows],
            bytes: bytemuck::cast_slice(&residual_norms),
        },
        Tensor {
            name: "codes",
            dtype: Dtype::I8,
            shape: vec![rows, dim],
            bytes: bytemuck::cast_slice(&codes),
        },
    ];
    let file = codes_file_name(index);
    let ListedFile { bytes, checksum, .. } = tensors::write(&directory.join(&file), &tensors, 2)?;
    Ok(CodesEntry { file, bytes, checksum, shard: entry.checksum })
}
