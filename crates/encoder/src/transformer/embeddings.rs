//! From token ids to the first states.

use candle_core::{Device, Tensor};
use toller_compute::LayerNorm;

use super::Loader;
use crate::EncoderError;
use crate::batch::TokenBatch;
use crate::config::{Names, Positions, TransformerConfig};

/// Word, position and type embeddings, summed and normalised.
pub(super) struct Embeddings {
    /// `[vocabulary, hidden]`.
    words: Tensor,
    /// `[max_positions, hidden]`, for architectures that have them.
    positions: Option<Tensor>,
    position_scheme: Positions,
    /// `[token_types, hidden]`, for architectures that have them.
    token_types: Option<Tensor>,
    /// Row 0 of ERNIE's task type embeddings, `[hidden]`: retrieval has no task ids.
    task_type: Option<Tensor>,
    norm: LayerNorm,
}

impl Embeddings {
    pub(super) fn load(
        loader: &mut Loader<'_>,
        config: &TransformerConfig,
        names: &Names,
    ) -> Result<Self, EncoderError> {
        let hidden = config.hidden;
        let mut table = |name: &str, rows: usize| match rows {
            0 => Ok(None),
            rows => loader.get(&format!("{name}.weight"), &[rows, hidden]).map(Some),
        };
        let token_types = table(names.token_types, config.token_types)?;
        let task_types = table(names.task_types, config.task_types)?;
        let words = loader.get(&format!("{}.weight", names.words), &[config.vocabulary, hidden])?;
        let positions = match config.positions {
            Positions::Rotary => None,
            Positions::FromZero | Positions::AfterPadding(_) => {
                Some(loader.get(&format!("{}.weight", names.positions), &[config.max_positions, hidden])?)
            }
        };
        Ok(Self {
            words,
            positions,
            position_scheme: config.positions,
            token_types,
            task_type: task_types.map(|table| table.get(0)).transpose()?,
            norm: loader.norm(names.embedding_norm, hidden, config.norm)?,
        })
    }

    /// `[tokens, hidden]`.
    pub(super) fn forward(&self, batch: &TokenBatch) -> Result<Tensor, EncoderError> {
        let vocabulary = self.words.dim(0)?;
        if let Some(&id) = batch.input_ids.iter().find(|&&id| id as usize >= vocabulary) {
            return Err(EncoderError::TokenId { id, vocabulary });
        }
        let ids = |ids: &[u32]| Tensor::from_slice(ids, ids.len(), &Device::Cpu);
        let mut sum = self.words.index_select(&ids(&batch.input_ids)?, 0)?; // [tokens, hidden]
        if let Some(table) = &self.token_types {
            sum = (sum + table.index_select(&ids(&batch.type_ids)?, 0)?)?;
        }
        if let Some(table) = &self.positions {
            let positions = positions(batch, self.position_scheme);
            sum = (sum + table.index_select(&ids(&positions)?, 0)?)?;
        }
        if let Some(task_type) = &self.task_type {
            sum = sum.broadcast_add(task_type)?;
        }
        Ok(self.norm.forward(&sum)?)
    }
}

/// The row of the position embeddings for every token of a flat batch: `[tokens]`.
fn positions(batch: &TokenBatch, scheme: Positions) -> Vec<u32> {
    let mut positions = Vec::with_capacity(batch.input_ids.len());
    for tokens in batch.sequences.ranges() {
        match scheme {
            Positions::FromZero | Positions::Rotary => positions.extend((0..).take(tokens.len())),
            Positions::AfterPadding(pad) => {
                let mut next = pad;
                positions.extend(batch.input_ids[tokens].iter().map(|&id| {
                    if id == pad {
                        return pad;
                    }
                    next += 1;
                    next
                }));
            }
        }
    }
    positions
}
