//! NomicBERT (Nussbaum et al. 2024, section 3.1): BERT with rotary positions and gated feed-forward networks.
//!
//! There are two forms of its configuration: that of the authors' code, which speaks GPT-2's language
//! (`n_embd`), and that of transformers.

use serde::Deserialize;
use serde_json::Value;
use toller_checkpoint::ModelType;
use toller_nn::Activation;

use super::rope::{Rope, RopeFields, one_table};
use super::{AttentionConfig, NormConfig, Refusal, Shape, TransformerConfig, names, two, yes};

/// The base of the rotations, in both forms.
const THETA: f64 = 1000.0;

/// The authors' form.
#[derive(Deserialize)]
struct Original {
    vocab_size: usize,
    #[serde(default = "one")]
    pad_vocab_size_multiple: usize,
    n_embd: usize,
    n_layer: usize,
    n_head: usize,
    n_inner: Option<usize>,
    n_positions: usize,
    activation_function: String,
    #[serde(default = "two")]
    type_vocab_size: usize,
    layer_norm_epsilon: f64,
    rotary_emb_base: Option<f64>,
    #[serde(default)]
    rotary_emb_fraction: f64,
    #[serde(default)]
    rotary_emb_interleaved: bool,
    rotary_emb_scale_base: Option<f64>,
    rotary_scaling_factor: Option<f64>,
    #[serde(default = "yes")]
    qkv_proj_bias: bool,
    #[serde(default = "yes")]
    mlp_fc1_bias: bool,
    #[serde(default = "yes")]
    mlp_fc2_bias: bool,
    #[serde(default)]
    prenorm: bool,
    #[serde(default)]
    parallel_block: bool,
    #[serde(default)]
    use_rms_norm: bool,
    #[serde(default)]
    causal: bool,
    num_experts: Option<usize>,
}

/// transformers' form.
#[derive(Deserialize)]
struct Native {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    #[serde(default = "silu")]
    hidden_act: String,
    max_position_embeddings: usize,
    #[serde(default = "two")]
    type_vocab_size: usize,
    #[serde(default = "epsilon")]
    layer_norm_eps: f64,
    head_dim: Option<usize>,
    rope_parameters: Option<Value>,
    rope_theta: Option<f64>,
    rope_scaling: Option<Value>,
}

fn one() -> usize {
    1
}

fn silu() -> String {
    "silu".to_owned()
}

fn epsilon() -> f64 {
    1e-12
}

pub(super) fn read(text: &str) -> Result<TransformerConfig, Refusal> {
    let fields: Value = serde_json::from_str(text).map_err(Refusal::invalid)?;
    if fields.get("n_embd").is_some() { read_original(text) } else { read_native(text) }
}

fn read_original(text: &str) -> Result<TransformerConfig, Refusal> {
    let raw: Original = serde_json::from_str(text).map_err(Refusal::invalid)?;
    let refused = [
        (raw.rotary_emb_fraction != 1.0, format!("rotary_emb_fraction {}", raw.rotary_emb_fraction)),
        (raw.rotary_emb_interleaved, "rotary_emb_interleaved".to_owned()),
        (raw.rotary_emb_scale_base.is_some(), "rotary_emb_scale_base".to_owned()),
        (raw.rotary_scaling_factor.is_some(), "rotary_scaling_factor".to_owned()),
        (raw.prenorm, "prenorm".to_owned()),
        (raw.parallel_block, "parallel_block".to_owned()),
        (raw.use_rms_norm, "use_rms_norm".to_owned()),
        (raw.causal, "a decoder (causal)".to_owned()),
        (raw.num_experts.is_some_and(|count| count > 0), "a mixture of experts".to_owned()),
    ];
    if let Some((_, what)) = refused.into_iter().find(|(is_there, _)| *is_there) {
        return Err(Refusal::Unsupported(what));
    }
    let gate = match raw.activation_function.as_str() {
        "glu" => Some(Activation::Sigmoid),
        "swiglu" => Some(Activation::Silu),
        "geglu" => Some(Activation::Gelu),
        _ => None,
    };
    let inner = raw.n_inner.unwrap_or(raw.n_embd.saturating_mul(4));
    let ((names, other_names), activation, intermediate) = match gate {
        // The authors' code widens gated networks to whole multiples of 256.
        Some(gate) => (
            (names::NOMIC_BERT, Some(names::NOMIC_BERT_TRANSFORMERS)),
            gate,
            inner.checked_next_multiple_of(256),
        ),
        None => (
            (names::NOMIC_BERT_UNGATED, None),
            raw.activation_function.parse().map_err(Refusal::invalid)?,
            Some(inner),
        ),
    };
    let too_large = || Refusal::Invalid("a size is too large".to_owned());
    let vocabulary = raw.vocab_size.checked_next_multiple_of(raw.pad_vocab_size_multiple.max(1));
    let attention = AttentionConfig {
        qkv_bias: raw.qkv_proj_bias,
        output_bias: raw.qkv_proj_bias,
        rope: Some(Rope::of_base(raw.rotary_emb_base.unwrap_or(THETA))),
        ..AttentionConfig::dividing(raw.n_embd, raw.n_head)?
    };
    let shape = Shape {
        vocabulary: vocabulary.ok_or_else(too_large)?,
        hidden: raw.n_embd,
        layers: raw.n_layer,
        intermediate: intermediate.ok_or_else(too_large)?,
        max_positions: raw.n_positions,
    };
    let norm = NormConfig::after(raw.layer_norm_epsilon);
    Ok(TransformerConfig {
        other_names,
        up_bias: raw.mlp_fc1_bias,
        down_bias: raw.mlp_fc2_bias,
        token_types: raw.type_vocab_size,
        ..TransformerConfig::new(ModelType::NomicBert, names, shape, activation, attention, norm)
    })
}

fn read_native(text: &str) -> Result<TransformerConfig, Refusal> {
    let raw: Native = serde_json::from_str(text).map_err(Refusal::invalid)?;
    if let Some(size) =
        raw.head_dim.filter(|size| size.checked_mul(raw.num_attention_heads) != Some(raw.hidden_size))
    {
        return Err(Refusal::Unsupported(format!("head_dim {size} in {} heads", raw.num_attention_heads)));
    }
    let attention = AttentionConfig::dividing(raw.hidden_size, raw.num_attention_heads)?;
    let rope = RopeFields {
        tables: one_table(raw.rope_scaling.as_ref(), raw.rope_parameters.as_ref()),
        theta: raw.rope_theta.unwrap_or(THETA),
        head_size: attention.head_size,
        positions: raw.max_position_embeddings,
        original: None,
        knows_ntk: false,
    };
    let attention =
        AttentionConfig { qkv_bias: false, output_bias: false, rope: Some(rope.read()?), ..attention };
    let shape = Shape {
        vocabulary: raw.vocab_size,
        hidden: raw.hidden_size,
        layers: raw.num_hidden_layers,
        intermediate: raw.intermediate_size,
        max_positions: raw.max_position_embeddings,
    };
    let activation = raw.hidden_act.parse().map_err(Refusal::invalid)?;
    let (model_type, names) = (ModelType::NomicBert, names::NOMIC_BERT_TRANSFORMERS);
    let norm = NormConfig::after(raw.layer_norm_eps);
    Ok(TransformerConfig {
        other_names: Some(names::NOMIC_BERT),
        token_types: raw.type_vocab_size,
        ..TransformerConfig::new(model_type, names, shape, activation, attention, norm)
    })
}
