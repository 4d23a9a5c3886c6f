//! How token states become a vector.

use std::fmt;
use std::path::Path;

use toller_checkpoint::ModelType;
use toller_nn::Pooling;

use crate::config::TransformerConfig;
use crate::layout::Layout;
use crate::masked_lm::Saturation;
use crate::{EncoderError, LoadOptions};

/// How the states of a text's tokens become its vector, as a user chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPooling {
    /// By a function of the states.
    States(Pooling),
    /// The weights that a masked language model gives to the terms of its vocabulary (SPLADE; Formal et al.
    /// 2021), in place of a dense vector.
    Splade,
    /// The pooler of BERT-like models: a dense layer with tanh over the first token's state (Devlin et al.
    /// 2019, section 3.1, for the next-sentence task), whose weights are in the checkpoint; what transformers
    /// calls `pooler_output`.
    Pooler,
}

impl TextPooling {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Pooling::ALL.into_iter().map(Self::States).chain([Self::Pooler, Self::Splade])
    }

    /// The name: sentence-transformers', `pooler` or `splade`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::States(pooling) => pooling.name(),
            Self::Pooler => "pooler",
            Self::Splade => "splade",
        }
    }

    /// The pooling of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|pooling| pooling.name() == name)
    }
}

impl From<Pooling> for TextPooling {
    fn from(pooling: Pooling) -> Self {
        Self::States(pooling)
    }
}

impl fmt::Display for TextPooling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A model's pooling, or the one that was asked for.
pub(crate) struct PoolingChoice {
    /// The poolings, concatenated.
    pub(crate) poolings: Vec<Pooling>,
    pub(crate) uses_pooler: bool,
    /// How the weights of terms are made, in place of a pooling.
    pub(crate) splade: Option<Saturation>,
    pub(crate) is_assumed: bool,
}

impl PoolingChoice {
    /// The names of the poolings, joined by `+`.
    pub(crate) fn name(&self) -> String {
        if let Some(saturation) = self.splade {
            return saturation.to_string();
        }
        if self.uses_pooler {
            return TextPooling::Pooler.name().to_owned();
        }
        self.poolings.iter().map(|pooling| pooling.name()).collect::<Vec<_>>().join("+")
    }

    /// The pooling as asked for, else as the layout says, else the architecture's, else the mean.
    pub(crate) fn of(
        layout: &Layout,
        options: &LoadOptions,
        config: &TransformerConfig,
        config_path: &Path,
    ) -> Result<Self, EncoderError> {
        let of_states =
            |poolings: Vec<Pooling>| Self { poolings, uses_pooler: false, splade: None, is_assumed: false };
        // DPR's vector is the first token's state (Karpukhin et al. 2020, section 3.1); so is its pooler's
        // output.
        let is_dpr = config.model_type == ModelType::Dpr;
        let is_of_first = is_dpr || config.has_ance_head();
        match options.pooling {
            Some(TextPooling::Pooler) => {
                return Ok(Self { uses_pooler: !is_dpr, ..of_states(vec![Pooling::Cls]) });
            }
            Some(TextPooling::States(pooling)) => return Ok(of_states(vec![pooling])),
            Some(TextPooling::Splade) | None => {}
        }
        let asked = options.pooling.map(|_| Saturation::Log);
        if let Some(saturation) = layout.splade.or(asked) {
            return Ok(Self { splade: Some(saturation), ..of_states(Vec::new()) });
        }
        if let Some(poolings) = &layout.pooling {
            return Ok(of_states(poolings.clone()));
        }
        if is_of_first {
            return Ok(of_states(vec![Pooling::Cls]));
        }
        if config.model_type == ModelType::Realm {
            return Ok(Self { uses_pooler: true, ..of_states(vec![Pooling::Cls]) });
        }
        if config.is_classifier || config.classifies_tokens {
            return Err(EncoderError::Classifier { path: config_path.to_owned() });
        }
        // As in sentence-transformers for a directory that gives no pooling.
        Ok(Self { is_assumed: true, ..of_states(vec![Pooling::Mean]) })
    }
}

/// Refuses what only vectors have.
pub(crate) fn check_sparse(layout: &Layout, options: &LoadOptions) -> Result<(), EncoderError> {
    // A dense model of sentence-transformers, whatever else its checkpoint has.
    let has_modules = !layout.modules.is_empty() && !options.normalize_embeddings;
    if layout.splade.is_none() && (layout.pooling.is_some() || has_modules) {
        return Err(EncoderError::Dense);
    }
    let refused = [
        (options.dim.is_some() || layout.truncate_dim.is_some(), "a number of dimensions"),
        (!layout.modules.is_empty(), "a scaling to unit length"),
    ];
    match refused.into_iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => Err(EncoderError::Sparse { what }),
        None => Ok(()),
    }
}
