//! The modules of sentence-transformers after the transformer, as their configurations describe them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use toller_checkpoint::{ModelError, required_json};
use toller_nn::{Activation, Pooling, UnknownActivation};

use crate::masked_lm::Saturation;

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

/// sentence-transformers' Dense module.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DenseConfig {
    pub(crate) in_features: usize,
    pub(crate) out_features: usize,
    pub(crate) bias: bool,
    pub(crate) activation: Activation,
    /// Whether the results are the scores of a cross-encoder, and not vectors.
    pub(crate) gives_scores: bool,
}

/// Its `config.json`.
#[derive(Deserialize)]
struct RawDense {
    in_features: usize,
    out_features: usize,
    #[serde(default = "yes")]
    bias: bool,
    #[serde(default = "tanh")]
    activation_function: String,
    #[serde(default)]
    use_residual: bool,
    module_input_name: Option<String>,
    module_output_name: Option<String>,
}

/// The names that Dense modules give to vectors and to scores.
const VECTORS: &str = "sentence_embedding";
const SCORES: &str = "scores";

impl DenseConfig {
    pub(crate) fn read(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("config.json");
        let raw: RawDense = required_json(&path)?;
        if raw.use_residual {
            return Err(ModelError::unsupported(path, "use_residual", "Dense modules without a residual"));
        }
        let [input, output] = [raw.module_input_name, raw.module_output_name]
            .map(|name| name.unwrap_or_else(|| VECTORS.to_owned()));
        let refused = (input != VECTORS).then_some(&input);
        if let Some(name) = refused.or_else(|| (output != VECTORS && output != SCORES).then_some(&output)) {
            let supported = format!("{VECTORS:?}, and at the end {SCORES:?}");
            return Err(ModelError::unsupported(path, format!("a Dense module of {name:?}"), supported));
        }
        let activation = raw.activation_function.parse().map_err(|error: UnknownActivation| {
            let what = format!("the activation function {:?} of a Dense module", error.0);
            ModelError::unsupported(&path, what, Activation::NAMES)
        })?;
        Ok(Self {
            in_features: raw.in_features,
            out_features: raw.out_features,
            bias: raw.bias,
            activation,
            gives_scores: output == SCORES,
        })
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
fn tanh() -> String {
    "tanh".to_owned()
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

/// sentence-transformers' LogitScore module: the logit of a token that says yes after the input, less that of
/// one that says no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct LogitScore {
    #[serde(rename = "true_token_id")]
    pub(crate) yes: u32,
    #[serde(rename = "false_token_id")]
    pub(crate) no: Option<u32>,
}

impl LogitScore {
    pub(crate) fn read(folder: &Path) -> Result<Self, ModelError> {
        required_json(&folder.join("config.json"))
    }
}

/// `config.json` of sentence-transformers' SpladePooling module.
#[derive(Deserialize)]
struct RawSplade {
    #[serde(default = "max")]
    pooling_strategy: String,
    #[serde(default = "relu")]
    activation_function: String,
}

fn max() -> String {
    "max".to_owned()
}

fn relu() -> String {
    "relu".to_owned()
}

/// Reads the configuration of a SpladePooling module.
pub(crate) fn read_splade(folder: &Path) -> Result<Saturation, ModelError> {
    let path = folder.join("config.json");
    let raw: RawSplade = required_json(&path)?;
    if raw.pooling_strategy != "max" {
        let what = format!("pooling_strategy {:?} of SpladePooling", raw.pooling_strategy);
        return Err(ModelError::unsupported(path, what, "\"max\""));
    }
    match raw.activation_function.as_str() {
        "relu" => Ok(Saturation::Log),
        "log1p_relu" => Ok(Saturation::LogOfLog),
        other => {
            let what = format!("activation_function {other:?} of SpladePooling");
            Err(ModelError::unsupported(path, what, "\"relu\", \"log1p_relu\""))
        }
    }
}
