//! Vectors in one byte a number, in files beside the shards: what the int8 scan reads.
//!
//! They lie apart from the vectors so that they can be made of a finished store, and removed, without
//! touching it, and so that a scan that reads codes alone brings nothing else to memory. Each file is
//! safetensors: `scales [rows]` and `residual_norms [rows]` (f32), and `codes [rows, dim]` (i8), which begin at a
//! multiple of [`ALIGNMENT`] bytes.

use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use memmap2::Mmap;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};
use toller_files::{AtomicFile, ChecksumHasher, FileError, Verifier};
use toller_topk::quantize;

use crate::shard_buffer::ALIGNMENT;
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
    // Checked against the map by `find`.
    scales: Range<usize>,
    residual_norms: Range<usize>,
    codes: Range<usize>,
}

/// The file name of the codes of shard `index`.
pub(crate) fn codes_file_name(index: usize) -> String {
    format!("codes-{index:05}.safetensors")
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
        let path = directory.join(&entry.file);
        let damaged = |reason: String| StoreError::CodesDamaged { path: path.clone(), reason };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(damaged("it is missing".to_owned()));
            }
            Err(error) => return Err(FileError::new("open", path, error).into()),
        };
        let found = file.metadata().map_err(FileError::on("examine", &path))?.len();
        if found != entry.bytes {
            return Err(damaged(format!("it has {found} bytes, expected {}", entry.bytes)));
        }
        if entry.shard != shard.checksum {
            return Err(damaged(format!("it was made of another {}", shard.file)));
        }
        // SAFETY: as for shards, a store's files are replaced by renaming, never changed in place.
        let map = unsafe { Mmap::map(&file) }.map_err(FileError::on("map", &path))?;
        check_sum(&path, &map, entry, verifier)?;
        let [scales, residual_norms, codes] = find(&map, shard.rows, dim).map_err(damaged)?;
        Ok(Self { map, scales, residual_norms, codes })
    }

    /// Verifies the checksum of the file, which is `path`.
    pub(crate) fn verify(
        &self,
        path: &Path,
        entry: &CodesEntry,
        verifier: &Verifier<'_>,
    ) -> Result<(), StoreError> {
        check_sum(path, &self.map, entry, verifier)
    }

    /// The mapped file.
    pub(crate) fn mmap(&self) -> &Mmap {
        &self.map
    }

    pub(crate) fn get(&self) -> toller_topk::Codes<'_> {
        // The casts do not panic: `find` has checked lengths and places, and any bits are an f32.
        toller_topk::Codes {
            values: bytemuck::cast_slice(&self.map[self.codes.clone()]),
            scales: bytemuck::cast_slice(&self.map[self.scales.clone()]),
            residual_norms: bytemuck::cast_slice(&self.map[self.residual_norms.clone()]),
        }
    }
}

fn check_sum(path: &Path, map: &Mmap, entry: &CodesEntry, verifier: &Verifier<'_>) -> Result<(), StoreError> {
    if verifier.checksum(map).is_some_and(|found| found != entry.checksum) {
        let reason = "its checksum is wrong".to_owned();
        return Err(StoreError::CodesDamaged { path: path.to_owned(), reason });
    }
    Ok(())
}

/// Where scales, residual norms and codes lie in a file. The error says what is wrong.
fn find(file: &[u8], rows: usize, dim: usize) -> Result<[Range<usize>; 3], String> {
    let (header_bytes, metadata) = SafeTensors::read_metadata(file).map_err(|error| error.to_string())?;
    let data_start = size_of::<u64>() + header_bytes;
    let place = |name: &str, dtype: Dtype, shape: &[usize]| {
        let info = metadata.info(name).ok_or_else(|| format!("it has no tensor {name}"))?;
        if info.dtype != dtype || info.shape != shape {
            return Err(format!("{name} is {} {:?}, expected {dtype} {shape:?}", info.dtype, info.shape));
        }
        let range = data_start + info.data_offsets.0..data_start + info.data_offsets.1;
        let inside = range.end <= file.len() && range.start.is_multiple_of((dtype.bitsize() / 8).max(1));
        if inside { Ok(range) } else { Err(format!("{name} lies in the wrong place")) }
    };
    Ok([
        place("scales", Dtype::F32, &[rows])?,
        place("residual_norms", Dtype::F32, &[rows])?,
        place("codes", Dtype::I8, &[rows, dim])?,
    ])
}

/// Quantizes the vectors of `shard`, the store's `index`th, listed as `entry`, and writes their codes,
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

    let file = codes_file_name(index);
    let path = directory.join(&file);
    let mut output = AtomicFile::create(&path)?;
    let (mut hasher, mut bytes) = (ChecksumHasher::default(), 0);
    let pieces: [&[u8]; 4] = [
        &header(rows, dim),
        bytemuck::cast_slice(&scales),
        bytemuck::cast_slice(&residual_norms),
        bytemuck::cast_slice(&codes),
    ];
    for piece in pieces {
        hasher.update(piece);
        output.write_all(piece).map_err(FileError::on("write", &path))?;
        bytes += piece.len() as u64;
    }
    output.commit()?;
    Ok(CodesEntry { file, bytes, checksum: hasher.finish(), shard: entry.checksum })
}

/// The file up to the first tensor.
fn header(rows: usize, dim: usize) -> Vec<u8> {
    let scales_end = rows * size_of::<f32>();
    let (norms_end, codes_end) = (2 * scales_end, 2 * scales_end + rows * dim);
    let mut json = format!(
        "{{\"scales\":{{\"dtype\":\"F32\",\"shape\":[{rows}],\"data_offsets\":[0,{scales_end}]}},\
         \"residual_norms\":{{\"dtype\":\"F32\",\"shape\":[{rows}],\"data_offsets\":[{scales_end},{norms_end}]}},\
         \"codes\":{{\"dtype\":\"I8\",\"shape\":[{rows},{dim}],\"data_offsets\":[{norms_end},{codes_end}]}}}}"
    );
    let prefix = size_of::<u64>();
    // Padded with spaces so that the codes, not what stands before them, are aligned.
    let codes_start = (prefix + json.len() + norms_end).next_multiple_of(ALIGNMENT);
    let spaces = codes_start - norms_end - prefix - json.len();
    json.extend(std::iter::repeat_n(' ', spaces));
    let mut header = (json.len() as u64).to_le_bytes().to_vec();
    header.extend_from_slice(json.as_bytes());
    header
}
