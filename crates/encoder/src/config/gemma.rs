//! The text model of Gemma 3 (Gemma Team 2025, section 2), of which EmbeddingGemma is made (Schechter Vera et
//! al. 2025): norms before and after each half of a layer, and a global layer after every few local ones.

use serde::Deserialize;
use serde_json::Value;
use toller_checkpoint::ModelType;

use super::rope::TablesOfKinds;
use super::{
    AttentionConfig, LocalAttention, LocalLayers, NormConfig, Refusal, Shape, TransformerConfig,
    local_layers, names,
};

/// config.json, with the defaults of transformers where they may fit other models than its first.
#[derive(Deserialize)]
struct Raw {
    vocab_size: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: usize,
    head_dim: usize,
    #[serde(default = "gelu")]
    hidden_activation: String,
    max_position_embeddings: usize,
    #[serde(default = "epsilon")]
    rms_norm_eps: f64,
    #[serde(default)]
    attention_bias: bool,
    /// Scores are divided by its square root.
    #[serde(default = "scalar")]
    query_pre_attn_scalar: f64,
    /// Tokens that a local layer sees.
    sliding_window: Option<usize>,
    /// Since transformers 4.53: the kind of each layer.
    layer_types: Option<Vec<String>>,
    /// Before: every n-th layer is global.
    #[serde(default = "pattern")]
    sliding_window_pattern: usize,
    attn_logit_softcapping: Option<f64>,
    use_bidirectional_attention: Option<bool>,
    /// Since transformers 5: a table for each kind of layer.
    rope_parameters: Option<TablesOfKinds>,
    /// Before: one number for each kind, and the scaling of global layers.
    rope_theta: Option<f64>,
    rope_local_base_freq: Option<f64>,
    rope_scaling: Option<Value>,
}

fn gelu() -> String {
    "gelu_pytorch_tanh".to_owned()
}

fn epsilon() -> f64 {
    1e-6
}

fn scalar() -> f64 {
    256.0
}

fn pattern() -> usize {
    6
}

/// The window of a configuration without one.
const WINDOW: usize = 4096;
const GLOBAL_THETA: f64 = 1e6;
const LOCAL_THETA: f64 = 1e4;

pub(super) fn read(text: &str) -> Result<TransformerConfig, Refusal> {
    let raw: Raw = serde_json::from_str(text).map_err(Refusal::invalid)?;
    if let Some(cap) = raw.attn_logit_softcapping {
        return Err(Refusal::Unsupported(format!("attn_logit_softcapping {cap}")));
    }
    let (window, pattern) = (raw.sliding_window.unwrap_or(WINDOW), raw.sliding_window_pattern);
    for (name, value) in [("sliding_window", window), ("sliding_window_pattern", pattern)] {
        if value == 0 {
            return Err(Refusal::Invalid(format!("{name} is 0")));
        }
    }
    let scalar = raw.query_pre_attn_scalar;
    if !(scalar.is_finite() && scalar > 0.0) {
        return Err(Refusal::Invalid(format!("query_pre_attn_scalar is {scalar:?}")));
    }
    let layers = match &raw.layer_types {
        Some(types) => local_layers(types, raw.num_hidden_layers)?,
        None => (1..=raw.num_hidden_layers).map(|layer| !layer.is_multiple_of(pattern)).collect(),
    };
    let thetas = [raw.rope_theta.unwrap_or(GLOBAL_THETA), raw.rope_local_base_freq.unwrap_or(LOCAL_THETA)];
    let scaling = [raw.rope_scaling.as_ref(), None];
    let tables = raw.rope_parameters.unwrap_or_default();
    let [global, local] = tables.read(scaling, thetas, raw.head_dim, raw.max_position_embeddings)?;
    // Half of the window on each side, or all of it before the token, which is a part of it.
    let is_causal = !raw.use_bidirectional_attention.unwrap_or(false);
    let reach = if is_causal { window - 1 } else { window / 2 };
    let attention = AttentionConfig {
        key_heads: raw.num_key_value_heads,
        qkv_bias: raw.attention_bias,
        output_bias: raw.attention_bias,
        is_causal,
        scale: (1.0 / scalar.sqrt()) as f32,
        rope: Some(global),
        local: Some(LocalAttention { reach, rope: local, layers: LocalLayers::Listed(layers) }),
        ..AttentionConfig::of_heads(raw.num_attention_heads, raw.head_dim)
    };
    let shape = Shape {
        vocabulary: raw.vocab_size,
        hidden: raw.hidden_size,
        layers: raw.num_hidden_layers,
        intermediate: raw.intermediate_size,
        max_positions: raw.max_position_embeddings,
    };
    let activation = raw.hidden_activation.parse().map_err(Refusal::invalid)?;
    let norm = NormConfig { adds_one: true, ..NormConfig::before(raw.rms_norm_eps) };
    Ok(TransformerConfig {
        embedding_scale: Some((raw.hidden_size as f64).sqrt() as f32),
        ..TransformerConfig::new(ModelType::Gemma3Text, names::GEMMA3, shape, activation, attention, norm)
    })
}
