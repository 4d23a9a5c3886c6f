//! From token ids to the first states.

use candle_core::Tensor;
use toller_nn::{LayerNorm, Lookup, embed};

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
    /// ERNIE's task type embeddings, of which only row 0 is used: retrieval has no task ids.
    task_types: Option<Tensor>,
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
            task_types,
            norm: loader.norm(names.embedding_norm, hidden, config.norm)?,
        })
    }

    /// `[tokens, hidden]`.
    pub(super) fn forward(&self, batch: &TokenBatch) -> Result<Tensor, EncoderError> {
        let vocabulary = self.words.dim(0)?;
        if let Some(&id) = batch.input_ids.iter().find(|&&id| id as usize >= vocabulary) {
            return Err(EncoderError::TokenId { id, vocabulary });
        }
        let mut lookups = vec![Lookup { table: &self.words, rows: &batch.input_ids }];
        lookups.extend(self.token_types.iter().map(|table| Lookup { table, rows: &batch.type_ids }));
        let positions = positions(batch, self.position_scheme);
        lookups.extend(self.positions.iter().map(|table| Lookup { table, rows: &positions }));
        let zeros = vec![0; batch.input_ids.len()];
        lookups.extend(self.task_types.iter().map(|table| Lookup { table, rows: &zeros }));
        let sum = embed(&lookups)?; // [tokens, hidden]
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
