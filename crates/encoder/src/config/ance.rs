//! ANCE's head (Xiong et al. 2021): a linear layer and a norm over RoBERTa's first state, as Pyserini's
//! checkpoints have them. Only the weights show it, since config.json is RoBERTa's.

use std::path::Path;

use toller_checkpoint::{ModelError, ModelType, Parameters};

use super::names::ANCE_PROJECTION;
use super::{Projection, TransformerConfig};

/// The dimensions of the vectors, whatever config.json says.
const DIM: usize = 768;

impl TransformerConfig {
    /// The same with ANCE's head, if the weights in the folder have it.
    pub(crate) fn with_ance_head(mut self, folder: &Path) -> Result<Self, ModelError> {
        let anchor = format!("{}.weight", ANCE_PROJECTION.dense);
        if self.model_type == ModelType::Roberta
            && Parameters::open(folder)?.names().any(|name| *name == anchor)
        {
            self.projection = Some(Projection { dim: DIM, names: ANCE_PROJECTION });
        }
        Ok(self)
    }

    /// Whether the vectors are those of ANCE's head.
    pub(crate) fn has_ance_head(&self) -> bool {
        self.projection.is_some_and(|projection| projection.names == ANCE_PROJECTION)
    }
}
