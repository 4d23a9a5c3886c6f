//! The modules of sentence-transformers after the transformer, as their configurations describe them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use toller_checkpoint::{ModelError, required_json};
use toller_nn::{Activation, Pooling};

/// A module after the pooling.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Module {
    /// A dense layer, its weights in a separate folder.
    Dense { folder: PathBuf, config: DenseConfig },
    /// A layer norm, its weights in a separate folder.
    LayerNorm { folder: PathBuf, config: LayerNormConfig },
    /// Scaling to unit length.
    Normalize,
}

/// `config.json` of sentence-transformers' Dense module.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct DenseConfig {
    pub(crate) in_features: usize,
    pub(crate) out_features: usize,
    #[serde(default = "yes")]
    pub(crate) bias: bool,
    #[serde(default = "tanh", deserialize_with = "activation")]
    pub(crate) activation_function: Activation,
    #[serde(default)]
    use_residual: bool,
    module_input_name: Option<String>,
    module_output_name: Option<String>,
}

impl DenseConfig {
    pub(crate) fn read(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("config.json");
        let config: Self = required_json(&path)?;
        if config.use_residual {
            return Err(ModelError::unsupported(path, "use_residual", "Dense modules without a residual"));
        }
        let names = [&config.module_input_name, &config.module_output_name];
        let other = names.into_iter().flatten().find(|name| *name != "sentence_embedding").cloned();
        match other {
            None => Ok(config),
            Some(name) => {
                let what = format!("a Dense module of {name:?}");
                Err(ModelError::unsupported(path, what, "\"sentence_embedding\""))
            }
        }
    }
}

/// `config.json` of sentence-transformers' LayerNorm module.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct LayerNormConfig {
    pub(crate) dimension: usize,
}

fn yes() -> bool {
    true
}

/// sentence-transformers' own default is tanh.
fn tanh() -> Activation {
    Activation::Tanh
}

fn activation<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Activation, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

/// `config.json` of sentence-transformers' Pooling module.
pub(crate) struct PoolingConfig {
    pub(crate) poolings: Vec<Pooling>,
    pub(crate) pools_prompt: bool,
    /// The width of the vectors that are pooled, where it is given.
    pub(crate) width: Option<u64>,
    pub(crate) path: PathBuf,
}

impl PoolingConfig {
    /// Reads the old form, a boolean for each pooling, and the new one, a name or a list of names.
    pub(crate) fn read(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("config.json");
        let config: BTreeMap<String, Value> = required_json(&path)?;
        let unsupported = |what: String| ModelError::unsupported(&path, what, Pooling::NAMES.join(", "));
        let mut poolings = Vec::new();
        match config.get("pooling_mode") {
            Some(mode) => {
                let names = match mode {
                    Value::Array(names) => names.clone(),
                    name => vec![name.clone()],
                };
                for name in names {
                    let pooling = name.as_str().and_then(|name| name.parse().ok());
                    poolings.push(pooling.ok_or_else(|| unsupported(format!("pooling_mode {name}")))?);
                }
            }
            None => {
                // sentence-transformers concatenates in this order.
                for (key, pooling) in [
                    ("pooling_mode_cls_token", Pooling::Cls),
                    ("pooling_mode_max_tokens", Pooling::Max),
                    ("pooling_mode_mean_tokens", Pooling::Mean),
                    ("pooling_mode_mean_sqrt_len_tokens", Pooling::MeanSqrtLen),
                    ("pooling_mode_weightedmean_tokens", Pooling::WeightedMean),
                    ("pooling_mode_lasttoken", Pooling::LastToken),
                ] {
                    if config.get(key) == Some(&Value::Bool(true)) {
                        poolings.push(pooling);
                    }
                }
                // sentence-transformers' own default, where no mode is named.
                if !config.keys().any(|key| key.starts_with("pooling_mode_")) {
                    poolings.push(Pooling::Mean);
                }
            }
        }
        if poolings.is_empty() {
            return Err(unsupported("a pooling without a mode".to_owned()));
        }
        let width =
            ["word_embedding_dimension", "embedding_dimension"].iter().find_map(|key| config.get(*key));
        Ok(Self {
            poolings,
            pools_prompt: config.get("include_prompt") != Some(&Value::Bool(false)),
            width: width.and_then(Value::as_u64),
            path,
        })
    }
}
