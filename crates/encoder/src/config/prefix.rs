//! adapter_config.json of PEFT: a prefix in front of every text (prefix tuning, P-tuning v2).

use std::path::Path;

use serde::Deserialize;
use toller_checkpoint::{ADAPTER_CONFIG, AdapterConfig, ModelError, required_json};

use super::{Positions, TransformerConfig};
use crate::EncoderError;

/// What is supported in the place of other adapters.
const SUPPORTED: &str = "LoRA and prefix tuning; PEFT merges others into their model: \
                         model.merge_and_unload().save_pretrained(DIR), and the tokenizer next to it";

/// A prefix that a model without one gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewPrefix {
    /// The number of its tokens.
    pub tokens: usize,
    /// What its random values follow from.
    pub seed: u64,
}

/// The tokens in front of every text, which have keys and values in each layer, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrefixConfig {
    pub(crate) tokens: usize,
    /// The seed of a prefix that is in no file.
    pub(crate) seed: Option<u64>,
}

#[derive(Deserialize)]
struct Adapter {
    num_virtual_tokens: Option<usize>,
    #[serde(default)]
    prefix_projection: bool,
}

impl PrefixConfig {
    /// The prefix of the model in a folder, if it has one.
    fn read(folder: &Path) -> Result<Option<Self>, EncoderError> {
        // LoRA is a part of the weights.
        let Some(adapter) = AdapterConfig::read(folder)?.filter(|adapter| !adapter.is_lora()) else {
            return Ok(None);
        };
        let path = folder.join(ADAPTER_CONFIG);
        let refused =
            |what: String| ModelError::unsupported(&path, what, "prefix tuning without a projection");
        if adapter.peft_type != "PREFIX_TUNING" {
            let what = format!("an adapter of type {}", adapter.peft_type);
            return Err(ModelError::unsupported(&path, what, SUPPORTED).into());
        }
        let adapter: Adapter = required_json(&path)?;
        if adapter.prefix_projection {
            return Err(refused("a prefix with a projection".to_owned()).into());
        }
        match adapter.num_virtual_tokens {
            Some(tokens) if tokens > 0 => Ok(Some(Self { tokens, seed: None })),
            _ => Err(ModelError::Config { path, problem: "no \"num_virtual_tokens\"".to_owned() }.into()),
        }
    }
}

impl TransformerConfig {
    /// The same with the prefix of the folder, or a new one.
    pub(crate) fn with_prefix(mut self, folder: &Path, new: Option<NewPrefix>) -> Result<Self, EncoderError> {
        let found = PrefixConfig::read(folder)?;
        if let (Some(found), Some(_)) = (found, new) {
            let what = format!("a new prefix for a model with one of {} tokens", found.tokens);
            let supported =
                "a new prefix for a model without one; a prefix that is there is trained as it is";
            return Err(ModelError::unsupported(folder.join(ADAPTER_CONFIG), what, supported).into());
        }
        let new = new.map(|new| PrefixConfig { tokens: new.tokens, seed: Some(new.seed) });
        let Some(prefix) = found.or(new) else { return Ok(self) };
        let path = folder.join("config.json");
        if self.positions == Positions::InAttention || self.attention.relative_buckets.is_some() {
            let what = format!("a prefix for model_type {:?}", self.model_type.name());
            let supported = "prefixes for models with position embeddings: BERT, RoBERTa and their like";
            return Err(ModelError::unsupported(path, what, supported).into());
        }
        let longest = self.longest_input();
        if prefix.tokens >= longest {
            let what = format!("a prefix of {} tokens", prefix.tokens);
            let supported = format!("fewer than the {longest} tokens that the model has positions for");
            return Err(ModelError::unsupported(path, what, supported).into());
        }
        self.prefix = Some(prefix);
        Ok(self)
    }

    /// Refuses a prefix, whose adapter may have a classifier of its own.
    pub(crate) fn without_prefix(self, folder: &Path) -> Result<Self, EncoderError> {
        match self.prefix {
            None => Ok(self),
            Some(_) => {
                let what = "a prefix of a classifier";
                Err(ModelError::unsupported(folder.join(ADAPTER_CONFIG), what, "prefixes of dual encoders")
                    .into())
            }
        }
    }

    /// The tokens in front of every text.
    pub(crate) fn prefix_tokens(&self) -> usize {
        self.prefix.map_or(0, |prefix| prefix.tokens)
    }
}
