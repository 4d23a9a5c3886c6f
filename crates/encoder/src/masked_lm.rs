//! Masked language models as sparse encoders: a text to a weight for each term of the vocabulary (SPLADE;
//! Formal et al. 2021, "SPLADE v2", equation 6).

use std::fmt;
use std::path::Path;

use serde::Deserialize;
use toller_checkpoint::{Fingerprint, ModelError, ModelType, Parameters, Tensor, required_json};
use toller_nn::{Activation, Backend, LinearParameters, Matrix, Place, Pooling};

use crate::EncoderError;
use crate::config::TransformerConfig;
use crate::cross_encoder::ClassifierConfig;
use crate::transformer::Loader;

/// Terms whose logits are computed at a time: those of all tokens of a batch would take more memory than the
/// rest of the model.
const TERMS_AT_ONCE: usize = 2048;

/// How a term's largest logit becomes its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saturation {
    /// `log(1 + relu(x))`.
    Log,
    /// `log(1 + log(1 + relu(x)))`, as OpenSearch's models have it (Geng et al. 2025, "Competitive search
    /// relevance for inference-free learned sparse retrievers", section 3).
    LogOfLog,
}

impl Saturation {
    /// The weight of a logit. What is not a number stays so.
    fn weight(self, logit: f32) -> f32 {
        if logit <= 0.0 {
            return 0.0;
        }
        let log = libm::log1p(f64::from(logit));
        match self {
            Self::Log => log as f32,
            Self::LogOfLog => libm::log1p(log) as f32,
        }
    }
}

/// The name of the pooling.
impl fmt::Display for Saturation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Log => "splade",
            Self::LogOfLog => "splade with log1p_relu",
        })
    }
}

/// Where the tensors of a masked language model's head are.
struct Names {
    dense: &'static str,
    norm: &'static str,
    /// Another name that the norm may have.
    other_norm: Option<&'static str>,
    /// The layer to the logits. What the files do not have of it is shared with other parts: the weight with
    /// the word embeddings, the bias with the next.
    decoder: &'static str,
    bias: &'static str,
}

const BERT: Names = Names {
    dense: "cls.predictions.transform.dense",
    norm: "cls.predictions.transform.LayerNorm",
    other_norm: None,
    decoder: "cls.predictions.decoder",
    bias: "cls.predictions.bias",
};
const ROBERTA: Names = Names {
    dense: "lm_head.dense",
    norm: "lm_head.layer_norm",
    other_norm: None,
    decoder: "lm_head.decoder",
    bias: "lm_head.bias",
};
/// GTE's, in transformers and as its authors publish it.
const GTE: Names = Names { other_norm: Some("lm_head.norm"), ..ROBERTA };
const DISTILBERT: Names = Names {
    dense: "vocab_transform",
    norm: "vocab_layer_norm",
    other_norm: None,
    decoder: "vocab_projector",
    bias: "vocab_projector.bias",
};
const MODERNBERT: Names =
    Names { dense: "head.dense", norm: "head.norm", decoder: "decoder", bias: "decoder.bias", ..BERT };

impl Names {
    /// The names of an architecture, if there are such models.
    fn of(model_type: ModelType) -> Option<Self> {
        match model_type {
            ModelType::Bert | ModelType::Ernie => Some(BERT),
            ModelType::Roberta | ModelType::XlmRoberta | ModelType::Camembert | ModelType::Mpnet => {
                Some(ROBERTA)
            }
            ModelType::Gte | ModelType::New => Some(GTE),
            ModelType::DistilBert => Some(DISTILBERT),
            ModelType::ModernBert => Some(MODERNBERT),
            ModelType::Electra
            | ModelType::Dpr
            | ModelType::Realm
            | ModelType::NomicBert
            | ModelType::T5
            | ModelType::Mt5
            | ModelType::EuroBert
            | ModelType::Gemma3Text
            | ModelType::Llama
            | ModelType::Mistral
            | ModelType::Qwen2
            | ModelType::Qwen3 => None,
        }
    }
}

/// What else config.json says about the head.
#[derive(Deserialize)]
struct Ties {
    /// Whether the layer to the logits has the weight of the word embeddings.
    #[serde(default = "yes")]
    tie_word_embeddings: bool,
}

fn yes() -> bool {
    true
}

/// From the states of a text's tokens to the weights of all terms: a dense layer, a norm, a layer to the
/// logits of each token, and the largest logit of each term.
pub(crate) struct VocabularyHead<B: Backend> {
    dense: B::Linear,
    activation: Activation,
    norm: B::Norm,
    /// The layer to the logits, [`TERMS_AT_ONCE`] outputs each but the last.
    decoders: Vec<B::Linear>,
    terms: usize,
    saturation: Saturation,
}

impl<B: Backend> VocabularyHead<B> {
    /// Loads the head that is next to the transformer whose parameters these are. Returns the parameters,
    /// whose names now begin next to the transformer.
    pub(crate) fn load(
        backend: &B,
        folder: &Path,
        config: &TransformerConfig,
        saturation: Saturation,
        parameters: Parameters,
        fingerprint: &mut Fingerprint,
    ) -> Result<(Self, Parameters), EncoderError> {
        let config_path = folder.join("config.json");
        let (hidden, terms) = (config.hidden, config.vocabulary);
        let names = Names::of(config.model_type).ok_or_else(|| {
            let what = format!("a sparse encoder of model_type {:?}", config.model_type.name());
            let supported = ModelType::names_that(|known| Names::of(known).is_some());
            ModelError::unsupported(&config_path, what, supported)
        })?;
        let Ties { tie_word_embeddings: is_tied } = required_json(&config_path)?;
        let words = parameters.get(&format!("{}.weight", config.names.words), &[terms, hidden])?;
        let outside = parameters.outside();
        if !outside.has(&format!("{}.weight", names.dense)) {
            let what = "the pooling \"splade\" of a model without the head of a masked language model";
            return Err(ModelError::unsupported(config_path, what, "...ForMaskedLM").into());
        }
        fingerprint.value("head", b"vocabulary");
        let (activation, has_bias) = match config.model_type {
            // RoBERTa's and MPNet's code does not ask the configuration.
            ModelType::Roberta | ModelType::XlmRoberta | ModelType::Camembert | ModelType::Mpnet => {
                (Activation::Gelu, true)
            }
            ModelType::ModernBert => {
                let head = ClassifierConfig::read(&config_path)?;
                (head.activation, head.bias)
            }
            _ => (config.activation, true),
        };
        fingerprint.value("head", activation.name().as_bytes());
        let mut loader = Loader { backend, parameters: &outside, fingerprint };
        let dense = loader.linear(names.dense, hidden, hidden, has_bias, Place::TokenHead)?;
        let is_other = |name: &&str| outside.has(&format!("{name}.weight"));
        let norm = names.other_norm.filter(is_other).unwrap_or(names.norm);
        let norm = loader.norm(norm, hidden, config.norm)?;
        // As in transformers, a layer of its own in the files counts, whatever the configuration says.
        let own = |part: &str| Some(format!("{}.{part}", names.decoder)).filter(|name| outside.has(name));
        let weight = match own("weight") {
            None if is_tied => words,
            name => {
                loader.get(&name.unwrap_or_else(|| format!("{}.weight", names.decoder)), &[terms, hidden])?
            }
        };
        let bias = own("bias").unwrap_or_else(|| names.bias.to_owned());
        let bias = loader.get(&bias, &[terms])?;
        let decoders = decoders(backend, &weight, &bias)?;
        Ok((Self { dense, activation, norm, decoders, terms, saturation }, outside))
    }

    /// The number of terms.
    pub(crate) fn terms(&self) -> usize {
        self.terms
    }

    /// Appends the weights of all terms for each sequence of a batch, `[sequences, terms]`. The first
    /// `skipped` tokens of a sequence do not count.
    pub(crate) fn weigh(
        &self,
        backend: &B,
        scratch: &mut B::Scratch,
        (states, batch): (B::States, &B::Batch),
        skipped: usize,
        weights: &mut Vec<f32>,
    ) -> Result<(), EncoderError> {
        let transformed = backend.project(scratch, &states, &self.dense, self.activation)?;
        backend.release(scratch, states);
        let transformed = backend.normalize(scratch, transformed, &self.norm)?;
        let (start, mut first) = (weights.len(), 0);
        let mut largest = Vec::new();
        for decoder in &self.decoders {
            let logits = backend.project(scratch, &transformed, decoder, Activation::Identity)?;
            let pooled = backend.pool(scratch, &logits, batch, &[Pooling::Max], skipped)?;
            backend.release(scratch, logits);
            largest.clear();
            backend.to_host(scratch, pooled, &mut largest)?;
            let columns = TERMS_AT_ONCE.min(self.terms - first);
            weights.resize(start + largest.len() / columns * self.terms, 0.0);
            let rows = weights[start..].chunks_exact_mut(self.terms);
            for (row, logits) in rows.zip(largest.chunks_exact(columns)) {
                for (weight, &logit) in row[first..].iter_mut().zip(logits) {
                    *weight = self.saturation.weight(logit);
                }
            }
            first += columns;
        }
        backend.release(scratch, transformed);
        Ok(())
    }
}

/// The layer to the logits, in pieces.
fn decoders<B: Backend>(backend: &B, weight: &Tensor, bias: &Tensor) -> Result<Vec<B::Linear>, EncoderError> {
    let hidden = weight.shape()[1];
    let pieces = weight.values().chunks(TERMS_AT_ONCE * hidden).zip(bias.values().chunks(TERMS_AT_ONCE));
    let layer = |(weight, bias): (&[f32], &[f32])| {
        let weight = Matrix { values: weight, rows: bias.len(), columns: hidden };
        Ok(backend.linear(LinearParameters { weight, bias: Some(bias) }, Place::TokenHead)?)
    };
    pieces.map(layer).collect()
}

#[cfg(test)]
mod tests {
    use super::Saturation;

    #[test]
    fn weights_grow_with_the_logarithm() {
        let e = std::f32::consts::E;
        assert!((Saturation::Log.weight(e - 1.0) - 1.0).abs() < 1e-6);
        assert!((Saturation::LogOfLog.weight((e - 1.0).exp() - 1.0) - 1.0).abs() < 1e-6);
        for saturation in [Saturation::Log, Saturation::LogOfLog] {
            assert_eq!(saturation.weight(-3.0), 0.0);
            assert_eq!(saturation.weight(0.0), 0.0);
            assert!(saturation.weight(f32::NAN).is_nan(), "an overflow does not pass as a weight");
        }
    }
}
