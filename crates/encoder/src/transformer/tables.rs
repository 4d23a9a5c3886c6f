//! From token ids to the first states.

use toller_nn::{Activation, Backend, NormPlacement, Place, Stream};

use super::Loader;
use crate::EncoderError;
use crate::batch::TokenBatch;
use crate::config::{Names, Positions, TransformerConfig};

/// The tables of embeddings, whose rows are summed and normalised.
pub(super) struct Tables<B: Backend> {
    /// How the rows of each table are chosen, and the tables `[rows, width]` in the same order.
    rows: Vec<Rows>,
    tables: Vec<B::Table>,
    vocabulary: usize,
    norm: B::Norm,
    placement: NormPlacement,
    /// From the embeddings' width to that of the states, where these differ.
    projection: Option<B::Linear>,
}

/// How a token's row of a table is chosen.
#[derive(Clone, Copy)]
enum Rows {
    TokenIds,
    TokenTypes,
    Positions(Positions),
    /// ERNIE's task types: retrieval has no task ids, and takes row 0.
    First,
}

impl<B: Backend> Tables<B> {
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        config: &TransformerConfig,
        names: &Names,
    ) -> Result<Self, EncoderError> {
        let positions = match config.positions {
            Positions::InAttention => 0,
            Positions::FromZero | Positions::AfterPadding(_) => config.max_positions,
        };
        let table = |loader: &mut Loader<'_, B>, name: &str, rows: usize| match rows {
            0 => Ok(None),
            rows => loader.table(&format!("{name}.weight"), rows, config.embedding).map(Some),
        };
        // Loaded in the order of fingerprints, summed in the order of the architecture.
        let token_types = table(loader, names.token_types, config.token_types)?;
        let task_types = table(loader, names.task_types, config.task_types)?;
        let words = loader.scaled_table(
            &format!("{}.weight", names.words),
            config.vocabulary,
            config.embedding,
            config.embedding_scale,
        )?;
        let positions = table(loader, names.positions, positions)?;
        let (rows, tables) = [
            (Rows::TokenIds, Some(words)),
            (Rows::TokenTypes, token_types),
            (Rows::Positions(config.positions), positions),
            (Rows::First, task_types),
        ]
        .into_iter()
        .filter_map(|(rows, table)| Some((rows, table?)))
        .unzip();
        let (width, hidden) = (config.embedding, config.hidden);
        let norm = loader.norm(names.embedding_norm, width, config.norm)?;
        let project = || loader.linear(names.embedding_projection, hidden, width, true, Place::Inner);
        let projection = (width != hidden).then(project).transpose()?;
        let (vocabulary, placement) = (config.vocabulary, config.norm.first_placement);
        Ok(Self { rows, tables, vocabulary, norm, placement, projection })
    }

    /// The batch in the backend's form.
    pub(super) fn batch(&self, backend: &B, batch: TokenBatch) -> Result<B::Batch, EncoderError> {
        let vocabulary = self.vocabulary;
        if let Some(&id) = batch.input_ids.iter().find(|&&id| id as usize >= vocabulary) {
            return Err(EncoderError::TokenId { id, vocabulary });
        }
        let rows = self.rows.iter().map(|rows| match rows {
            Rows::TokenIds => batch.input_ids.clone(),
            Rows::TokenTypes => batch.type_ids.clone(),
            Rows::Positions(scheme) => positions(&batch, *scheme),
            Rows::First => vec![0; batch.input_ids.len()],
        });
        Ok(backend.batch(rows.collect(), batch.sequences)?)
    }

    /// What the first layer takes: `[tokens, hidden]`.
    pub(super) fn embed(
        &self,
        backend: &B,
        scratch: &mut B::Scratch,
        batch: &B::Batch,
    ) -> Result<Stream<B::States>, EncoderError> {
        let embedded = backend.embed(scratch, batch, &self.tables, &self.norm, self.placement)?;
        let Some(projection) = &self.projection else { return Ok(embedded) };
        let states = backend.project(scratch, embedded.input(), projection, Activation::Identity)?;
        backend.release(scratch, embedded.residual);
        Ok(states.into())
    }
}

/// The row of the position embeddings for every token of a flat batch: `[tokens]`.
fn positions(batch: &TokenBatch, scheme: Positions) -> Vec<u32> {
    let mut positions = Vec::with_capacity(batch.input_ids.len());
    for tokens in batch.sequences.ranges() {
        match scheme {
            Positions::FromZero | Positions::InAttention => positions.extend((0..).take(tokens.len())),
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
