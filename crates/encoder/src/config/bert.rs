//! BERT, and the architectures that differ from BERT by names, positions and the width of the embeddings:
//! ELECTRA, ERNIE, RoBERTa, XLM-R, CamemBERT, DistilBERT, DPR's encoders, REALM's and MPNet.

use serde::Deserialize;
use serde_json::{Map, Value};
use toller_checkpoint::ModelType;

use super::{
    AttentionConfig, NormConfig, Positions, Projection, Refusal, Shape, TransformerConfig, names, two,
};

/// config.json, with BERT's names.
#[derive(Deserialize)]
struct Raw {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    /// ELECTRA's.
    #[serde(default = "electra_embedding")]
    embedding_size: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    hidden_act: Option<String>,
    max_position_embeddings: usize,
    #[serde(default = "two")]
    type_vocab_size: usize,
    #[serde(default = "three")]
    task_type_vocab_size: usize,
    #[serde(default)]
    use_task_id: bool,
    layer_norm_eps: Option<f64>,
    pad_token_id: Option<u32>,
    position_embedding_type: Option<String>,
    #[serde(default)]
    is_decoder: bool,
    #[serde(default)]
    projection_dim: usize,
    /// REALM's.
    #[serde(default = "realm_projection")]
    retriever_proj_size: usize,
    #[serde(default = "mpnet_buckets")]
    relative_attention_num_buckets: usize,
}

/// DistilBERT's names, and BERT's for the same. In the configurations of other models they mean nothing.
const DISTILBERT_NAMES: [(&str, &str); 5] = [
    ("dim", "hidden_size"),
    ("n_layers", "num_hidden_layers"),
    ("n_heads", "num_attention_heads"),
    ("hidden_dim", "intermediate_size"),
    ("activation", "hidden_act"),
];

/// transformers' default of ERNIE's task types.
fn three() -> usize {
    3
}

/// transformers' default of ELECTRA's embeddings.
fn electra_embedding() -> usize {
    128
}

/// transformers' default of REALM's projection.
fn realm_projection() -> usize {
    128
}

/// The buckets that MPNet computes with. Its configuration does not change them.
const MPNET_BUCKETS: usize = 32;

fn mpnet_buckets() -> usize {
    MPNET_BUCKETS
}

pub(super) fn read(text: &str, model_type: ModelType) -> Result<TransformerConfig, Refusal> {
    let mut fields: Map<String, Value> = serde_json::from_str(text).map_err(Refusal::invalid)?;
    if model_type == ModelType::DistilBert {
        for (own, name) in DISTILBERT_NAMES {
            if let Some(value) = fields.remove(own) {
                fields.insert(name.to_owned(), value);
            }
        }
    }
    let raw = Raw::deserialize(Value::Object(fields)).map_err(Refusal::invalid)?;
    if let Some(kind) = raw.position_embedding_type.filter(|kind| kind != "absolute") {
        return Err(Refusal::Unsupported(format!("position_embedding_type {kind:?}")));
    }
    if raw.is_decoder {
        return Err(Refusal::Unsupported("a decoder (is_decoder)".to_owned()));
    }
    let (names, positions) = match model_type {
        ModelType::DistilBert => (names::DISTILBERT, Positions::FromZero),
        // MPNet's own padding id, which may differ from the tokenizer's.
        ModelType::Mpnet => (names::MPNET, Positions::AfterPadding(1)),
        ModelType::Roberta | ModelType::XlmRoberta | ModelType::Camembert => {
            (names::BERT, Positions::AfterPadding(raw.pad_token_id.unwrap_or(1)))
        }
        _ => (names::BERT, Positions::FromZero),
    };
    let relative_buckets = (model_type == ModelType::Mpnet).then_some(raw.relative_attention_num_buckets);
    if let Some(buckets) = relative_buckets.filter(|buckets| *buckets < MPNET_BUCKETS) {
        return Err(Refusal::Unsupported(format!("relative_attention_num_buckets {buckets}")));
    }
    // transformers' defaults.
    let default_activation = if model_type == ModelType::Realm { "gelu_new" } else { "gelu" };
    let activation = raw.hidden_act.as_deref().unwrap_or(default_activation);
    let projection = match model_type {
        ModelType::Dpr => Some(Projection { dim: raw.projection_dim, names: names::DPR_PROJECTION }),
        ModelType::Realm => Some(Projection { dim: raw.retriever_proj_size, names: names::REALM_PROJECTION }),
        _ => None,
    };
    let has_token_types = !matches!(model_type, ModelType::DistilBert | ModelType::Mpnet);
    let has_task_types = model_type == ModelType::Ernie && raw.use_task_id;
    let attention = AttentionConfig {
        relative_buckets,
        ..AttentionConfig::dividing(raw.hidden_size, raw.num_attention_heads)?
    };
    // DistilBERT's epsilon is fixed.
    let epsilon = raw.layer_norm_eps.filter(|_| model_type != ModelType::DistilBert).unwrap_or(1e-12);
    let shape = Shape {
        vocabulary: raw.vocab_size,
        hidden: raw.hidden_size,
        layers: raw.num_hidden_layers,
        intermediate: raw.intermediate_size,
        max_positions: raw.max_position_embeddings,
    };
    let activation = activation.parse().map_err(Refusal::invalid)?;
    let norm = NormConfig::after(epsilon);
    Ok(TransformerConfig {
        embedding: if model_type == ModelType::Electra { raw.embedding_size } else { raw.hidden_size },
        up_bias: true,
        down_bias: true,
        positions,
        token_types: if has_token_types { raw.type_vocab_size } else { 0 },
        task_types: if has_task_types { raw.task_type_vocab_size } else { 0 },
        // DPR has none by default.
        projection: projection.filter(|projection| projection.dim > 0),
        ..TransformerConfig::new(model_type, names, shape, activation, attention, norm)
    })
}
