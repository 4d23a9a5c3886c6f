//! config.json: the architecture of a transformer of the BERT family.

use std::path::Path;

use serde::Deserialize;
use toller_compute::Activation;
use toller_files::FileError;

use crate::EncoderError;
use crate::fingerprint::Fingerprint;

/// The names of the tensors of a layer, which is all that differs between BERT's namings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LayerNames {
    pub(crate) layer: &'static str,
    pub(crate) query: &'static str,
    pub(crate) key: &'static str,
    pub(crate) value: &'static str,
    pub(crate) attention_output: &'static str,
    pub(crate) attention_norm: &'static str,
    pub(crate) up: &'static str,
    pub(crate) down: &'static str,
    pub(crate) output_norm: &'static str,
}

const BERT_NAMES: LayerNames = LayerNames {
    layer: "encoder.layer",
    query: "attention.self.query",
    key: "attention.self.key",
    value: "attention.self.value",
    attention_output: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    up: "intermediate.dense",
    down: "output.dense",
    output_norm: "output.LayerNorm",
};

const DISTILBERT_NAMES: LayerNames = LayerNames {
    layer: "transformer.layer",
    query: "attention.q_lin",
    key: "attention.k_lin",
    value: "attention.v_lin",
    attention_output: "attention.out_lin",
    attention_norm: "sa_layer_norm",
    up: "ffn.lin1",
    down: "ffn.lin2",
    output_norm: "output_layer_norm",
};

/// How a token's position is numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Positions {
    /// 0, 1, 2, ...
    FromZero,
    /// RoBERTa's: the first token that is not padding has the padding id plus one, and so on; a padding
    /// token, should a text contain one, has the padding id.
    AfterPadding(u32),
}

/// A transformer encoder of the BERT family: absolute positions, layer norm after each block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TransformerConfig {
    /// `model_type` of config.json.
    pub(crate) model_type: String,
    pub(crate) names: LayerNames,
    pub(crate) vocabulary: usize,
    pub(crate) hidden: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) intermediate: usize,
    pub(crate) activation: Activation,
    /// Rows of the position embeddings.
    pub(crate) max_positions: usize,
    pub(crate) positions: Positions,
    /// Rows of the token type embeddings; 0 for an architecture without.
    pub(crate) token_types: usize,
    /// Rows of ERNIE's task type embeddings; 0 for an architecture without.
    pub(crate) task_types: usize,
    pub(crate) layer_norm_epsilon: f64,
    /// Whether the weights are those of a cross-encoder or another classifier.
    pub(crate) is_classifier: bool,
}

/// The `model_type`s that can be run.
const SUPPORTED: &str = "bert, roberta, xlm-roberta, camembert, ernie, distilbert, dpr";

/// config.json as it is written; aliases are DistilBERT's names.
#[derive(Deserialize)]
struct Raw {
    vocab_size: usize,
    #[serde(alias = "dim")]
    hidden_size: usize,
    #[serde(alias = "n_layers")]
    num_hidden_layers: usize,
    #[serde(alias = "n_heads")]
    num_attention_heads: usize,
    #[serde(alias = "hidden_dim")]
    intermediate_size: usize,
    #[serde(alias = "activation")]
    #[serde(default = "gelu")]
    hidden_act: String,
    max_position_embeddings: usize,
    #[serde(default = "two")]
    type_vocab_size: usize,
    #[serde(default)]
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
    #[serde(default)]
    architectures: Option<Vec<String>>,
}

/// The default of every architecture that has token types.
fn two() -> usize {
    2
}

fn gelu() -> String {
    "gelu".to_owned()
}

impl TransformerConfig {
    /// Reads `config.json`.
    pub(crate) fn read(path: &Path) -> Result<Self, EncoderError> {
        let text = std::fs::read_to_string(path).map_err(FileError::on("read", path))?;
        let config_error = |problem: String| EncoderError::Config { path: path.to_owned(), problem };
        // The type first: another architecture's configuration may lack the fields below.
        let Type { model_type } =
            serde_json::from_str(&text).map_err(|error| config_error(error.to_string()))?;
        let model_type = model_type.ok_or_else(|| config_error("no \"model_type\"".to_owned()))?;
        let unsupported = |what: String| EncoderError::Unsupported {
            path: path.to_owned(),
            what,
            supported: format!("model_type {SUPPORTED}, with absolute positions"),
        };
        let (names, roberta) = match model_type.as_str() {
            "bert" | "ernie" | "dpr" => (BERT_NAMES, false),
            "roberta" | "xlm-roberta" | "camembert" => (BERT_NAMES, true),
            "distilbert" => (DISTILBERT_NAMES, false),
            other => return Err(unsupported(format!("model_type {other:?}"))),
        };
        let raw: Raw = serde_json::from_str(&text).map_err(|error| config_error(error.to_string()))?;
        if raw.position_embedding_type.as_deref().is_some_and(|kind| kind != "absolute") {
            let kind = raw.position_embedding_type.unwrap_or_default();
            return Err(unsupported(format!("position_embedding_type {kind:?}")));
        }
        if raw.is_decoder {
            return Err(unsupported("a decoder (is_decoder)".to_owned()));
        }
        if model_type == "dpr" && raw.projection_dim != 0 {
            return Err(unsupported(format!("DPR's projection (projection_dim {})", raw.projection_dim)));
        }
        if raw.num_attention_heads == 0 || !raw.hidden_size.is_multiple_of(raw.num_attention_heads) {
            return Err(config_error(format!(
                "a hidden size of {} does not divide into {} heads",
                raw.hidden_size, raw.num_attention_heads
            )));
        }
        let epsilon = raw.layer_norm_eps.unwrap_or(1e-12);
        if !(epsilon.is_finite() && epsilon > 0.0) {
            return Err(config_error(format!("layer_norm_eps is {epsilon}")));
        }
        let classifies = |name: &String| name.ends_with("ForSequenceClassification");
        let activation = raw.hidden_act.parse().map_err(|error| config_error(format!("{error}")))?;
        let positions = match (roberta, raw.pad_token_id) {
            (true, pad) => Positions::AfterPadding(pad.unwrap_or(1)),
            (false, _) => Positions::FromZero,
        };
        Ok(Self {
            names,
            vocabulary: raw.vocab_size,
            hidden: raw.hidden_size,
            layers: raw.num_hidden_layers,
            heads: raw.num_attention_heads,
            intermediate: raw.intermediate_size,
            activation,
            max_positions: raw.max_position_embeddings,
            positions,
            token_types: if model_type == "distilbert" { 0 } else { raw.type_vocab_size },
            task_types: if model_type == "ernie" && raw.use_task_id {
                raw.task_type_vocab_size.max(1)
            } else {
                0
            },
            layer_norm_epsilon: epsilon,
            is_classifier: raw.architectures.is_some_and(|names| names.iter().any(classifies)),
            model_type,
        })
    }

    /// Adds all that decides the vectors and that the tensors' names and shapes do not say.
    pub(crate) fn fingerprint(&self, fingerprint: &mut Fingerprint) {
        fingerprint.value("layers", self.layers.to_string().as_bytes());
        fingerprint.value("heads", self.heads.to_string().as_bytes());
        fingerprint.value("activation", self.activation.name().as_bytes());
        fingerprint.value("layer norm epsilon", self.layer_norm_epsilon.to_string().as_bytes());
        let positions = match self.positions {
            Positions::FromZero => "from zero".to_owned(),
            Positions::AfterPadding(pad) => format!("after padding {pad}"),
        };
        fingerprint.value("positions", positions.as_bytes());
    }

    /// The number of tokens for which there are positions.
    pub(crate) fn longest_input(&self) -> usize {
        match self.positions {
            Positions::FromZero => self.max_positions,
            Positions::AfterPadding(pad) => self.max_positions.saturating_sub(pad as usize + 1),
        }
    }
}

#[derive(Deserialize)]
struct Type {
    model_type: Option<String>,
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{Positions, TransformerConfig};
    use crate::EncoderError;

    fn bert() -> Value {
        json!({
            "model_type": "bert", "vocab_size": 100, "hidden_size": 12, "num_hidden_layers": 2,
            "num_attention_heads": 3, "intermediate_size": 24, "hidden_act": "gelu",
            "max_position_embeddings": 64, "type_vocab_size": 2, "pad_token_id": 0
        })
    }

    fn read(text: &[u8]) -> Result<TransformerConfig, EncoderError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        fs::write(&path, text).unwrap();
        TransformerConfig::read(&path)
    }

    fn with(key: &str, value: Value) -> Result<TransformerConfig, EncoderError> {
        let mut config = bert();
        config[key] = value;
        read(config.to_string().as_bytes())
    }

    #[test]
    fn architectures_differ_where_they_do() {
        let config = read(bert().to_string().as_bytes()).unwrap();
        assert_eq!(
            (config.positions, config.longest_input(), config.task_types),
            (Positions::FromZero, 64, 0)
        );
        let roberta = with("model_type", json!("xlm-roberta")).unwrap();
        assert_eq!((roberta.positions, roberta.longest_input()), (Positions::AfterPadding(0), 63));
        let distilbert = json!({
            "model_type": "distilbert", "vocab_size": 100, "dim": 12, "n_layers": 2, "n_heads": 3,
            "hidden_dim": 24, "activation": "gelu", "max_position_embeddings": 64
        });
        assert_eq!(read(distilbert.to_string().as_bytes()).unwrap().token_types, 0);
    }

    #[test]
    fn what_cannot_be_run_is_named() {
        for (key, value, named) in [
            ("model_type", json!("llama"), "llama"),
            ("model_type", Value::Null, "model_type"),
            ("position_embedding_type", json!("relative_key"), "relative_key"),
            ("hidden_act", json!("mish"), "mish"),
            ("num_attention_heads", json!(5), "5 heads"),
            ("num_attention_heads", json!(0), "0 heads"),
            ("hidden_size", json!(-1), "config.json"),
            ("is_decoder", json!(true), "decoder"),
        ] {
            let error = with(key, value).unwrap_err();
            assert!(error.to_string().contains(named), "{error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_bytes_and_no_values_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), number: i64, text: String, at: prop::sample::Index) {
            let _ = read(&bytes);
            let config = bert();
            let keys: Vec<&String> = config.as_object().unwrap().keys().collect();
            let key = keys[at.index(keys.len())];
            for value in [json!(number), json!(text), json!(null), json!([]), json!({})] {
                let _ = with(key, value);
            }
        }
    }
}
