//! Decoders as encoders: LLaMA (Touvron et al. 2023, section 2.2) and its descendants Mistral, Qwen2 and
//! Qwen3, and EuroBERT (Boizard et al. 2025), which sees both ways.

use serde::Deserialize;
use serde_json::Value;
use toller_checkpoint::ModelType;

use super::rope::{RopeFields, one_table};
use super::{
    AttentionConfig, LocalAttention, LocalLayers, Names, NormConfig, Refusal, Shape, TransformerConfig,
    local_layers, names,
};

/// config.json, which has all of these fields where transformers wrote it. The defaults are its own, except
/// for heads of keys: a wrong number of them does not fit the weights.
#[derive(Deserialize)]
struct Raw {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    /// All heads, if there are no others.
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    #[serde(default = "silu")]
    hidden_act: String,
    max_position_embeddings: usize,
    rms_norm_eps: Option<f64>,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    /// Since transformers 5.
    rope_parameters: Option<Value>,
    /// Before.
    rope_theta: Option<f64>,
    rope_scaling: Option<Value>,
    original_max_position_embeddings: Option<Value>,
    /// Whether a token sees only those before it: so by default, except for EuroBERT's.
    is_causal: Option<bool>,
    #[serde(default)]
    use_sliding_window: bool,
    /// Tokens that a local layer sees, the token itself included; null for the whole sequence. In layers that
    /// see both ways, the largest distance.
    #[serde(default = "sliding_window")]
    sliding_window: Option<usize>,
    /// Since transformers 5: the kind of each layer.
    layer_types: Option<Vec<String>>,
    /// Before: layers from this number on are local.
    #[serde(default = "max_window_layers")]
    max_window_layers: usize,
}

fn silu() -> String {
    "silu".to_owned()
}

fn sliding_window() -> Option<usize> {
    Some(4096)
}

fn max_window_layers() -> usize {
    28
}

/// What distinguishes the descendants.
struct Descendant {
    names: Names,
    /// Whether queries, keys and values have a bias, and whether the attention's output has one.
    bias: [bool; 2],
    mlp_bias: bool,
    /// The epsilon of the norms that the configuration leaves open.
    epsilon: f64,
    /// Whether a token sees only those before it.
    is_causal: bool,
    /// The size of a head that the configuration leaves open, if it is not the width divided by the heads.
    head_size: Option<usize>,
    /// The window of local layers.
    window: Option<usize>,
    /// The first local layer, where a configuration lists none.
    first_local: usize,
    /// Whether a list of layers counts.
    lists_layers: bool,
}

impl Descendant {
    fn new(model_type: ModelType, raw: &Raw) -> Self {
        let plain = Self {
            names: names::LLAMA,
            bias: [raw.attention_bias; 2],
            mlp_bias: false,
            epsilon: 1e-6,
            is_causal: raw.is_causal.unwrap_or(true),
            head_size: None,
            window: raw.sliding_window.filter(|_| raw.use_sliding_window),
            first_local: raw.max_window_layers,
            lists_layers: true,
        };
        match model_type {
            ModelType::Mistral => Self {
                bias: [false; 2],
                window: raw.sliding_window,
                first_local: 0,
                lists_layers: false,
                ..plain
            },
            ModelType::Qwen2 => Self { bias: [true, false], ..plain },
            ModelType::Qwen3 => Self { names: names::QWEN3, head_size: Some(128), ..plain },
            // LLaMA and EuroBERT.
            _ => {
                let llama = Self { mlp_bias: raw.mlp_bias, window: None, lists_layers: false, ..plain };
                match model_type {
                    ModelType::EuroBert => Self { epsilon: 1e-5, is_causal: false, ..llama },
                    _ => llama,
                }
            }
        }
    }
}

pub(super) fn read(text: &str, model_type: ModelType) -> Result<TransformerConfig, Refusal> {
    let raw: Raw = serde_json::from_str(text).map_err(Refusal::invalid)?;
    let descendant = Descendant::new(model_type, &raw);
    let Descendant { names, bias: [qkv_bias, output_bias], mlp_bias, is_causal, .. } = descendant;
    let listed = raw
        .layer_types
        .as_deref()
        .filter(|_| descendant.lists_layers)
        .map(|types| local_layers(types, raw.num_hidden_layers))
        .transpose()?;
    let (hidden, heads) = (raw.hidden_size, raw.num_attention_heads);
    let attention = match raw.head_dim.or(descendant.head_size) {
        Some(head_size) => AttentionConfig::of_heads(heads, head_size),
        None => AttentionConfig::dividing(hidden, heads)?,
    };
    let rope = RopeFields {
        tables: one_table(raw.rope_scaling.as_ref(), raw.rope_parameters.as_ref()),
        theta: raw.rope_theta.unwrap_or(10_000.0),
        head_size: attention.head_size,
        positions: raw.max_position_embeddings,
        original: raw.original_max_position_embeddings.as_ref(),
        knows_ntk: false,
    };
    let rope = rope.read()?;
    let local = match descendant.window {
        None => None,
        Some(0) => return Err(Refusal::Invalid("sliding_window is 0".to_owned())),
        Some(window) => Some(LocalAttention {
            reach: window - usize::from(is_causal),
            rope,
            layers: match listed {
                Some(layers) => LocalLayers::Listed(layers),
                None => LocalLayers::From(descendant.first_local),
            },
        }),
    };
    let attention = AttentionConfig {
        key_heads: raw.num_key_value_heads.unwrap_or(heads),
        qkv_bias,
        output_bias,
        is_causal,
        rope: Some(rope),
        local,
        ..attention
    };
    let shape = Shape {
        vocabulary: raw.vocab_size,
        hidden,
        layers: raw.num_hidden_layers,
        intermediate: raw.intermediate_size,
        max_positions: raw.max_position_embeddings,
    };
    let activation = raw.hidden_act.parse().map_err(Refusal::invalid)?;
    let norm = NormConfig::before(raw.rms_norm_eps.unwrap_or(descendant.epsilon));
    Ok(TransformerConfig {
        up_bias: mlp_bias,
        down_bias: mlp_bias,
        ..TransformerConfig::new(model_type, names, shape, activation, attention, norm)
    })
}
