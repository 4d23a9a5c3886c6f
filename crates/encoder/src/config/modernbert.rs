//! ModernBERT (Warner et al. 2024, section 2.1).

use serde::Deserialize;
use serde_json::Value;
use toller_checkpoint::ModelType;
use toller_nn::NormPlacement;

use super::rope::TablesOfKinds;
use super::{
    AttentionConfig, LocalAttention, LocalLayers, NormConfig, Refusal, Shape, TransformerConfig,
    local_layers, names,
};

/// config.json as transformers has written it over the years; the defaults are its own.
#[derive(Deserialize)]
struct Raw {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    #[serde(default = "gelu")]
    hidden_activation: String,
    max_position_embeddings: usize,
    #[serde(default = "epsilon")]
    norm_eps: f64,
    #[serde(default)]
    norm_bias: bool,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    /// Tokens that a local layer sees, half of them before and half after.
    #[serde(default = "local_attention")]
    local_attention: usize,
    /// Since transformers 5: the kind of each layer.
    layer_types: Option<Vec<String>>,
    /// Before: every n-th layer is global.
    #[serde(default = "every_third")]
    global_attn_every_n_layers: usize,
    /// Since transformers 5: a table for each kind of layer.
    rope_parameters: Option<TablesOfKinds>,
    /// Before: one number for each kind.
    #[serde(default = "global_theta")]
    global_rope_theta: f64,
    local_rope_theta: Option<f64>,
    rope_scaling: Option<Value>,
}

fn gelu() -> String {
    "gelu".to_owned()
}

fn epsilon() -> f64 {
    1e-5
}

fn local_attention() -> usize {
    128
}

fn every_third() -> usize {
    3
}

fn global_theta() -> f64 {
    160_000.0
}

const LOCAL_THETA: f64 = 10_000.0;

pub(super) fn read(text: &str) -> Result<TransformerConfig, Refusal> {
    let raw: Raw = serde_json::from_str(text).map_err(Refusal::invalid)?;
    let attention = AttentionConfig::dividing(raw.hidden_size, raw.num_attention_heads)?;
    let thetas = [raw.global_rope_theta, raw.local_rope_theta.unwrap_or(LOCAL_THETA)];
    let scaling = [raw.rope_scaling.as_ref(); 2];
    let tables = raw.rope_parameters.unwrap_or_default();
    let [global, local] = tables.read(scaling, thetas, attention.head_size, raw.max_position_embeddings)?;
    let layers = match raw.layer_types {
        Some(types) => LocalLayers::Listed(local_layers(&types, raw.num_hidden_layers)?),
        None if raw.global_attn_every_n_layers == 0 => {
            return Err(Refusal::Invalid("global_attn_every_n_layers is 0".to_owned()));
        }
        None => LocalLayers::AllButEvery(raw.global_attn_every_n_layers),
    };
    let attention = AttentionConfig {
        qkv_bias: raw.attention_bias,
        output_bias: raw.attention_bias,
        rope: Some(global),
        local: Some(LocalAttention { reach: raw.local_attention / 2, rope: local, layers }),
        ..attention
    };
    let norm = NormConfig {
        bias: raw.norm_bias,
        placement: NormPlacement::Before,
        ..NormConfig::after(raw.norm_eps)
    };
    let shape = Shape {
        vocabulary: raw.vocab_size,
        hidden: raw.hidden_size,
        layers: raw.num_hidden_layers,
        intermediate: raw.intermediate_size,
        max_positions: raw.max_position_embeddings,
    };
    let activation = raw.hidden_activation.parse().map_err(Refusal::invalid)?;
    let model_type = ModelType::ModernBert;
    Ok(TransformerConfig {
        up_bias: raw.mlp_bias,
        down_bias: raw.mlp_bias,
        ..TransformerConfig::new(model_type, names::MODERNBERT, shape, activation, attention, norm)
    })
}
