//! The shard that is being filled, and its layout in the file.
//!
//! A shard is a safetensors file: eight bytes of header length, a JSON header, and the tensors without
//! gaps: `embeddings [rows, dim]`, `id_offsets [rows + 1]` (u64), `ids` (u8). The header is padded with
//! spaces so that the embeddings begin at a multiple of [`ALIGNMENT`].

use std::io::Write;
use std::path::Path;

use toller_files::{AtomicFile, ChecksumHasher, FileError};

use crate::dtype::BadValue;
use crate::{DType, ShardEntry, StoreError};

/// Where the embeddings begin in the file, and so in memory: a multiple of this many bytes. One cache
/// line, and the widest SIMD register.
pub(crate) const ALIGNMENT: usize = 64;

/// Rows that are not in a file yet.
#[derive(Debug)]
pub(crate) struct ShardBuffer {
    dtype: DType,
    dim: usize,
    rows: usize,
    /// [rows, dim], little-endian.
    embeddings: Vec<u8>,
    /// [rows + 1], u64, little-endian: where each id ends in `ids`, after a leading 0.
    id_offsets: Vec<u8>,
    /// The ids, one after the other.
    ids: Vec<u8>,
}

impl ShardBuffer {
    pub(crate) fn new(dim: usize, dtype: DType) -> Self {
        let (embeddings, ids) = (Vec::new(), Vec::new());
        Self { dtype, dim, rows: 0, embeddings, id_offsets: 0_u64.to_le_bytes().to_vec(), ids }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a row, or leaves the buffer as it was.
    pub(crate) fn push(&mut self, id: &str, embedding: &[f32]) -> Result<(), StoreError> {
        let Self { dtype, dim, .. } = *self;
        if embedding.len() != dim {
            return Err(StoreError::WrongDim { id: id.to_owned(), expected: dim, found: embedding.len() });
        }
        let bytes_before = self.embeddings.len();
        if let Err(bad) = dtype.append(embedding, &mut self.embeddings) {
            self.embeddings.truncate(bytes_before);
            let id = id.to_owned();
            let value = |column: usize| embedding.get(column).copied().unwrap_or(f32::NAN);
            return Err(match bad {
                BadValue::NotFinite { column } => StoreError::NotFinite { id, column, value: value(column) },
                BadValue::Overflow { column } => {
                    StoreError::Overflow { id, column, value: value(column), dtype }
                }
            });
        }
        self.ids.extend_from_slice(id.as_bytes());
        self.id_offsets.extend_from_slice(&(self.ids.len() as u64).to_le_bytes());
        self.rows += 1;
        Ok(())
    }

    /// Forgets all rows, but keeps the memory for the next shard.
    pub(crate) fn clear(&mut self) {
        self.rows = 0;
        self.embeddings.clear();
        self.id_offsets.truncate(size_of::<u64>());
        self.ids.clear();
    }

    /// Writes the rows as the shard `file` of `directory`, atomically.
    pub(crate) fn write(&self, directory: &Path, file: String) -> Result<ShardEntry, StoreError> {
        let path = directory.join(&file);
        let mut output = AtomicFile::create(&path)?;
        let mut hasher = ChecksumHasher::default();
        let mut bytes = 0;
        for piece in [&self.header(), &self.embeddings, &self.id_offsets, &self.ids] {
            hasher.update(piece);
            output.write_all(piece).map_err(FileError::on("write", &path))?;
            bytes += piece.len() as u64;
        }
        output.commit()?;
        Ok(ShardEntry { file, rows: self.rows, bytes, checksum: hasher.finish() })
    }

    /// The file up to the first tensor.
    fn header(&self) -> Vec<u8> {
        let (rows, dim, dtype) = (self.rows, self.dim, self.dtype.name().to_uppercase());
        let embeddings_end = self.embeddings.len();
        let offsets_end = embeddings_end + self.id_offsets.len();
        let ids_end = offsets_end + self.ids.len();
        let mut json = format!(
            "{{\"embeddings\":{{\"dtype\":\"{dtype}\",\"shape\":[{rows},{dim}],\"data_offsets\":[0,{embeddings_end}]}},\
             \"id_offsets\":{{\"dtype\":\"U64\",\"shape\":[{}],\"data_offsets\":[{embeddings_end},{offsets_end}]}},\
             \"ids\":{{\"dtype\":\"U8\",\"shape\":[{}],\"data_offsets\":[{offsets_end},{ids_end}]}}}}",
            rows + 1,
            self.ids.len(),
        );
        let prefix = size_of::<u64>();
        let header_end = (prefix + json.len()).next_multiple_of(ALIGNMENT);
        json.extend(std::iter::repeat_n(' ', header_end - prefix - json.len()));
        let mut header = (json.len() as u64).to_le_bytes().to_vec();
        header.extend_from_slice(json.as_bytes());
        header
    }
}
