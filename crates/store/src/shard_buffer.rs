//! The shard that is being filled: a file with the tensors `embeddings [rows, dim]`, `id_offsets [rows + 1]`
//! (u64) and `ids` (u8).

use std::path::Path;

use safetensors::Dtype;
use toller_files::ListedFile;

use crate::dtype::BadValue;
use crate::tensors::{self, Tensor};
use crate::{DType, ShardEntry, StoreError};

/// Rows that are not in any file yet.
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
        let (rows, dtype) = (self.rows, self.dtype.safetensors());
        let tensors = [
            Tensor { name: "embeddings", dtype, shape: &[rows, self.dim], bytes: &self.embeddings },
            Tensor { name: "id_offsets", dtype: Dtype::U64, shape: &[rows + 1], bytes: &self.id_offsets },
            Tensor { name: "ids", dtype: Dtype::U8, shape: &[self.ids.len()], bytes: &self.ids },
        ];
        let ListedFile { bytes, checksum, .. } = tensors::write(&directory.join(&file), &tensors, 0)?;
        Ok(ShardEntry { file, rows, bytes, checksum })
    }
}
