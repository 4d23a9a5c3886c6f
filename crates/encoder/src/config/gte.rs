//! GTE (Zhang et al. 2024, mGTE, section 3.1): BERT with rotary positions and gated feed-forward networks.
//!
//! Alibaba's code calls it "new", Snowflake's copy of that code and transformers "gte".

use serde::Deserialize;
use serde_json::Value;
use toller_checkpoint::ModelType;

use super::rope::{RopeFields, one_table};
use super::{AttentionConfig, NormConfig, Refusal, Shape, TransformerConfig, names};

/// config.json of the authors' code and of transformers, with the defaults of both.
#[derive(Deserialize)]
struct Raw {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    #[serde(default = "gelu")]
    hidden_act: String,
    max_position_embeddings: usize,
    #[serde(default = "one")]
    type_vocab_size: usize,
    #[serde(default = "epsilon")]
    layer_norm_eps: f64,
    rope_parameters: Option<Value>,
    rope_theta: Option<f64>,
    rope_scaling: Option<Value>,
    /// The authors' settings.
    position_embedding_type: Option<String>,
    layer_norm_type: Option<String>,
    pack_qkv: Option<bool>,
    logn_attention_scale: Option<bool>,
}

fn gelu() -> String {
    "gelu".to_owned()
}

fn one() -> usize {
    1
}

fn epsilon() -> f64 {
    1e-12
}

pub(super) fn read(text: &str, model_type: ModelType) -> Result<TransformerConfig, Refusal> {
    let raw: Raw = serde_json::from_str(text).map_err(Refusal::invalid)?;
    let other = |name: &str, value: &Option<String>, usual: &str| {
        value.as_ref().filter(|value| *value != usual).map(|value| format!("{name} {value:?}"))
    };
    let refused = other("position_embedding_type", &raw.position_embedding_type, "rope")
        .or(other("layer_norm_type", &raw.layer_norm_type, "layer_norm"))
        .or(raw.logn_attention_scale.unwrap_or(false).then(|| "logn_attention_scale".to_owned()))
        .or((!raw.pack_qkv.unwrap_or(true)).then(|| "pack_qkv false".to_owned()));
    if let Some(what) = refused {
        return Err(Refusal::Unsupported(what));
    }
    let attention = AttentionConfig::dividing(raw.hidden_size, raw.num_attention_heads)?;
    let default_theta = if model_type == ModelType::New { 10_000.0 } else { 160_000.0 };
    let rope = RopeFields {
        tables: one_table(raw.rope_scaling.as_ref(), raw.rope_parameters.as_ref()),
        theta: raw.rope_theta.unwrap_or(default_theta),
        head_size: attention.head_size,
        positions: raw.max_position_embeddings,
        original: None,
        knows_ntk: true,
    };
    let attention = AttentionConfig { rope: Some(rope.read()?), ..attention };
    let shape = Shape {
        vocabulary: raw.vocab_size,
        hidden: raw.hidden_size,
        layers: raw.num_hidden_layers,
        intermediate: raw.intermediate_size,
        max_positions: raw.max_position_embeddings,
    };
    let activation = raw.hidden_act.parse().map_err(Refusal::invalid)?;
    let norm = NormConfig::after(raw.layer_norm_eps);
    Ok(TransformerConfig {
        other_names: Some(names::GTE_TRANSFORMERS),
        down_bias: true,
        token_types: raw.type_vocab_size,
        ..TransformerConfig::new(model_type, names::GTE, shape, activation, attention, norm)
    })
}
