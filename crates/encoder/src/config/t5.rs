//! The encoders of T5 and mT5 (Raffel et al. 2020, section 2.1): no positions but biases by distance, scores
//! that are not scaled, and RMSNorm before each half of a layer.

use serde::Deserialize;
use toller_checkpoint::ModelType;

use super::{AttentionConfig, Names, NormConfig, Refusal, Shape, TransformerConfig, names};
use crate::transformer::{BUCKETS, FARTHEST};

/// config.json, with the defaults of transformers.
#[derive(Deserialize)]
struct Raw {
    vocab_size: usize,
    d_model: usize,
    d_kv: usize,
    d_ff: usize,
    num_layers: usize,
    num_heads: usize,
    #[serde(default = "buckets")]
    relative_attention_num_buckets: usize,
    #[serde(default = "farthest")]
    relative_attention_max_distance: usize,
    #[serde(default = "epsilon")]
    layer_norm_epsilon: f64,
    /// The activation, after "gated-" if there is a gate.
    feed_forward_proj: Option<String>,
    /// The longest input that T5 was trained on.
    n_positions: Option<usize>,
}

/// No input is too long: distances beyond the table's have its last biases.
const LONGEST: usize = u32::MAX as usize;

/// The longest input of a configuration without one.
const USUAL_LENGTH: usize = 512;

fn buckets() -> usize {
    BUCKETS
}

fn farthest() -> usize {
    FARTHEST
}

fn epsilon() -> f64 {
    1e-6
}

pub(super) fn read(text: &str, model_type: ModelType) -> Result<TransformerConfig, Refusal> {
    let raw: Raw = serde_json::from_str(text).map_err(Refusal::invalid)?;
    let (buckets, farthest) = (raw.relative_attention_num_buckets, raw.relative_attention_max_distance);
    if (buckets, farthest) != (BUCKETS, FARTHEST) {
        let what = format!("{buckets} buckets of distances up to {farthest} (relative_attention_...)");
        return Err(Refusal::Unsupported(what));
    }
    let default = if model_type == ModelType::T5 { "relu" } else { "gated-gelu" };
    let feed_forward = raw.feed_forward_proj.as_deref().unwrap_or(default);
    let (names, activation) = match feed_forward.strip_prefix("gated-") {
        // The tanh form, in transformers' words and in the code of the authors.
        Some("gelu") => (names::T5_GATED, "gelu_new"),
        Some(activation) => (names::T5_GATED, activation),
        None => (names::T5, feed_forward),
    };
    let attention = AttentionConfig {
        qkv_bias: false,
        output_bias: false,
        scale: 1.0,
        relative_buckets: Some(BUCKETS),
        ..AttentionConfig::of_heads(raw.num_heads, raw.d_kv)
    };
    let shape = Shape {
        vocabulary: raw.vocab_size,
        hidden: raw.d_model,
        layers: raw.num_layers,
        intermediate: raw.d_ff,
        max_positions: LONGEST,
    };
    let activation = activation.parse().map_err(Refusal::invalid)?;
    let norm = NormConfig::before(raw.layer_norm_epsilon);
    Ok(TransformerConfig {
        other_names: Some(Names { words: "encoder.embed_tokens", ..names }),
        usual_length: Some(raw.n_positions.filter(|length| *length > 0).unwrap_or(USUAL_LENGTH)),
        ..TransformerConfig::new(model_type, names, shape, activation, attention, norm)
    })
}
