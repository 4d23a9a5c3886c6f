//! Classification heads: from the states of a pair's tokens to a logit for each label.

use std::path::Path;

use toller_checkpoint::{Fingerprint, ModelError, ModelType, Parameters, Tensor};
use toller_nn::{Activation, Backend, LinearParameters, Matrix, Place, Pooling};

use super::config::ClassifierConfig;
use super::{ClassifierPlan, FoundHead};
use crate::EncoderError;
use crate::config::TransformerConfig;
use crate::head::{Head, Step};
use crate::random::normal;
use crate::transformer::{Loader, new_layer};

/// The standard deviation of new weights, as in transformers.
const DEVIATION: f32 = 0.02;

/// The head of a class of transformers, before its weights are loaded.
#[derive(Clone, Copy)]
pub(crate) struct ClassifierHead {
    pub(crate) names: HeadNames,
    pub(crate) pooling: Pooling,
    pub(crate) activation: Activation,
    /// Whether the dense layer has a bias.
    pub(crate) bias: bool,
}

/// Where the tensors of a head are.
#[derive(Clone, Copy)]
pub(crate) struct HeadNames {
    /// A dense layer before the output.
    pub(crate) dense: Option<&'static str>,
    /// Whether the dense layer belongs to the transformer without its head, as BERT's pooler does.
    pub(crate) dense_is_inside: bool,
    pub(crate) norm: Option<&'static str>,
    pub(crate) output: &'static str,
    pub(crate) output_bias: bool,
}

const BERT: HeadNames = HeadNames {
    dense: Some("pooler.dense"),
    dense_is_inside: true,
    norm: None,
    output: "classifier",
    output_bias: true,
};
const ROBERTA: HeadNames = HeadNames {
    dense: Some("classifier.dense"),
    dense_is_inside: false,
    output: "classifier.out_proj",
    ..BERT
};
const DISTILBERT: HeadNames = HeadNames { dense: Some("pre_classifier"), dense_is_inside: false, ..BERT };
const MODERNBERT: HeadNames =
    HeadNames { dense: Some("head.dense"), dense_is_inside: false, norm: Some("head.norm"), ..BERT };
const LLAMA: HeadNames =
    HeadNames { dense: None, dense_is_inside: false, norm: None, output: "score", output_bias: false };

impl ClassifierHead {
    /// The head of a classifier of an architecture, if there are such classifiers.
    fn of(model_type: ModelType, classifier: &ClassifierConfig) -> Option<Self> {
        let (names, pooling, activation, bias) = match model_type {
            ModelType::Bert | ModelType::Ernie | ModelType::Gte | ModelType::New => {
                (BERT, Pooling::Cls, Activation::Tanh, true)
            }
            ModelType::Roberta | ModelType::XlmRoberta | ModelType::Camembert | ModelType::Mpnet => {
                (ROBERTA, Pooling::Cls, Activation::Tanh, true)
            }
            ModelType::Electra => (ROBERTA, Pooling::Cls, Activation::Gelu, true),
            ModelType::DistilBert => (DISTILBERT, Pooling::Cls, Activation::Relu, true),
            ModelType::ModernBert => (MODERNBERT, classifier.pooling, classifier.activation, classifier.bias),
            ModelType::Llama | ModelType::Mistral | ModelType::Qwen2 | ModelType::Qwen3 => {
                (LLAMA, Pooling::LastToken, Activation::Identity, false)
            }
            ModelType::Dpr
            | ModelType::Realm
            | ModelType::NomicBert
            | ModelType::T5
            | ModelType::Mt5
            | ModelType::EuroBert
            | ModelType::Gemma3Text => return None,
        };
        Some(Self { names, pooling, activation, bias })
    }

    /// The head of `config`'s architecture.
    pub(super) fn new(
        config: &TransformerConfig,
        classifier: &ClassifierConfig,
        config_path: &Path,
    ) -> Result<Self, EncoderError> {
        Self::of(config.model_type, classifier).ok_or_else(|| {
            let what = format!("a cross-encoder of model_type {:?}", config.model_type.name());
            let supported = ModelType::names_that(|known| Self::of(known, classifier).is_some());
            ModelError::unsupported(config_path, what, supported).into()
        })
    }

    /// Refuses inputs that end in the padding token where the last token counts: transformers takes the last
    /// one that is not the padding token.
    pub(super) fn check_last_of_pairs(
        &self,
        last: Option<u32>,
        classifier: &ClassifierConfig,
        config_path: &Path,
    ) -> Result<(), ModelError> {
        let pad = classifier.pad.filter(|_| self.pooling == Pooling::LastToken);
        if pad.is_none() || pad != last {
            return Ok(());
        }
        let what = "a classifier of the last token, whose inputs end in the padding token (pad_token_id)";
        Err(ModelError::unsupported(config_path, what, "another token at the end, or none"))
    }

    /// Loads the head of a classifier from the transformer's parameters: one state for a pair, a dense layer,
    /// perhaps a norm, and a linear layer to the labels.
    pub(super) fn load<B: Backend>(
        &self,
        backend: &B,
        classifier: &ClassifierPlan,
        parameters: Parameters,
        fingerprint: &mut Fingerprint,
    ) -> Result<(Head<B>, FoundHead), EncoderError> {
        let Self { names, pooling, activation, bias } = *self;
        let ClassifierPlan { folder, config, labels, seed, .. } = classifier;
        let (hidden, prefix) = (config.hidden, parameters.prefix().to_owned());
        let square = [hidden, hidden];
        let mut head = Head::new(vec![pooling], hidden);
        let (inside, outside_dense) =
            if names.dense_is_inside { (names.dense, None) } else { (None, names.dense) };
        let pooler = inside.filter(|name| parameters.has(&format!("{name}.weight")) || seed.is_none());
        if let Some(name) = pooler {
            let mut loader = Loader { backend, parameters: &parameters, fingerprint: &mut *fingerprint };
            let dense = loader.linear(name, hidden, hidden, bias, Place::Head)?;
            head.push(Step::Dense(dense, activation), hidden);
        }
        let unexpected_tensors = parameters.unexpected();
        let outside = parameters.outside();
        if seed.is_none() && !outside.has(&format!("{}.weight", names.output)) {
            let what = "scoring pairs with a model without a classification head";
            let supported = "cross-encoders: ...ForSequenceClassification";
            return Err(ModelError::unsupported(folder.join("config.json"), what, supported).into());
        }
        fingerprint.value("head", format!("{} {}", pooling.name(), activation.name()).as_bytes());
        let output = if let Some(seed) = *seed {
            let mut new = |name: &str, [outputs, inputs]: [usize; 2], seed| {
                let weights = normal(seed, outputs * inputs).into_iter().map(|x| x * DEVIATION).collect();
                new_layer(backend, folder, name, [outputs, inputs], weights, fingerprint)
            };
            if let Some(name) = names.dense.filter(|_| pooler.is_none()) {
                let before = if names.dense_is_inside { prefix.as_str() } else { "" };
                let (weight, bias) = new(&format!("{before}{name}"), square, seed)?;
                let weight = Matrix { values: weight.values(), rows: hidden, columns: hidden };
                let dense = LinearParameters { weight, bias: Some(bias.values()) };
                head.push(Step::Dense(backend.linear(dense, Place::Head)?, activation), hidden);
            }
            let (weight, bias) = new(names.output, [*labels, hidden], seed.wrapping_add(1))?;
            (weight, Some(bias))
        } else {
            let mut loader = Loader { backend, parameters: &outside, fingerprint };
            if let Some(name) = outside_dense {
                let dense = loader.linear(name, hidden, hidden, bias, Place::Head)?;
                head.push(Step::Dense(dense, activation), hidden);
            }
            if let Some(name) = names.norm {
                head.push(Step::Norm(loader.norm(name, hidden, config.norm)?), hidden);
            }
            loader.tensors(names.output, *labels, hidden, names.output_bias)?
        };
        let (weight, bias) = output;
        let values = Matrix { values: weight.values(), rows: *labels, columns: hidden };
        let output = LinearParameters { weight: values, bias: bias.as_ref().map(Tensor::values) };
        head.push(Step::Dense(backend.linear(output, Place::Head)?, Activation::Identity), *labels);
        Ok((head, FoundHead { output_norms: output_norms(&weight), prefix, unexpected_tensors }))
    }
}

/// The length of each row of the weight that makes the logits.
pub(super) fn output_norms(weight: &Tensor) -> Vec<f64> {
    let length = |row: &[f32]| row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    weight.values().chunks_exact(weight.shape()[1]).map(length).collect()
}
