//! The shard that is being filled: a file with the tensors `embeddings [rows, dim]`, `id_offsets [rows + 1]`
//! (u64) and `ids` (u8). A shard of impacts has `impacts` (u8) and `impact_offsets [rows + 1]` (u64) in place
//! of the embeddings.

use std::path::Path;

use toller_files::ListedFile;

use crate::dtype::BadValue;
use crate::strings::{IDS, IMPACTS, StringBuffer};
use crate::tensors::{self, Tensor};
use crate::{Content, DType, ShardEntry, StoreError};

/// Rows that are not in any file yet.
#[derive(Debug)]
pub(crate) struct ShardBuffer {
    content: Buffered,
    ids: StringBuffer,
}

/// What the rows hold.
#[derive(Debug)]
enum Buffered {
    Vectors {
        dtype: DType,
        dim: usize,
        /// [rows, dim], little-endian.
        embeddings: Vec<u8>,
    },
    Impacts(StringBuffer),
}

impl ShardBuffer {
    pub(crate) fn new(dim: usize, content: Content) -> Self {
        let content = match content {
            Content::Vectors(dtype) => Buffered::Vectors { dtype, dim, embeddings: Vec::new() },
            Content::Impacts => Buffered::Impacts(StringBuffer::new(IMPACTS)),
        };
        Self { content, ids: StringBuffer::new(IDS) }
    }

    pub(crate) fn rows(&self) -> usize {
        self.ids.count()
    }

    /// Adds a row, or leaves the buffer as it was.
    pub(crate) fn push(&mut self, id: &str, embedding: &[f32]) -> Result<(), StoreError> {
        let Buffered::Vectors { dtype, dim, embeddings } = &mut self.content else {
            return Err(StoreError::OtherContent { held: Content::Impacts });
        };
        let (dtype, dim) = (*dtype, *dim);
        if embedding.len() != dim {
            return Err(StoreError::WrongDim { id: id.to_owned(), expected: dim, found: embedding.len() });
        }
        let bytes_before = embeddings.len();
        if let Err(bad) = dtype.append(embedding, embeddings) {
            embeddings.truncate(bytes_before);
            let id = id.to_owned();
            let value = |column: usize| embedding.get(column).copied().unwrap_or(f32::NAN);
            return Err(match bad {
                BadValue::NotFinite { column } => StoreError::NotFinite { id, column, value: value(column) },
                BadValue::Overflow { column } => {
                    StoreError::Overflow { id, column, value: value(column), dtype }
                }
            });
        }
        self.ids.push(id);
        Ok(())
    }

    /// As [`ShardBuffer::push`], a row of impacts.
    pub(crate) fn push_impacts(&mut self, id: &str, text: &str) -> Result<(), StoreError> {
        match &mut self.content {
            Buffered::Vectors { dtype, .. } => {
                return Err(StoreError::OtherContent { held: Content::Vectors(*dtype) });
            }
            Buffered::Impacts(impacts) => impacts.push(text),
        }
        self.ids.push(id);
        Ok(())
    }

    /// Forgets all rows, but keeps the memory for the next shard.
    pub(crate) fn clear(&mut self) {
        match &mut self.content {
            Buffered::Vectors { embeddings, .. } => embeddings.clear(),
            Buffered::Impacts(impacts) => impacts.clear(),
        }
        self.ids.clear();
    }

    /// Writes the rows as the shard `file` of `directory`, atomically.
    pub(crate) fn write(&self, directory: &Path, file: String) -> Result<ShardEntry, StoreError> {
        let rows = self.rows();
        let mut tensors = match &self.content {
            Buffered::Vectors { dtype, dim, embeddings } => {
                let (dtype, shape) = (dtype.safetensors(), vec![rows, *dim]);
                vec![Tensor { name: "embeddings", dtype, shape, bytes: embeddings }]
            }
            Buffered::Impacts(impacts) => vec![impacts.text(), impacts.offsets()],
        };
        tensors.extend([self.ids.offsets(), self.ids.text()]);
        let ListedFile { bytes, checksum, .. } = tensors::write(&directory.join(&file), &tensors, 0)?;
        Ok(ShardEntry { file, rows, bytes, checksum })
    }
}
