//! Classification heads: from the states of a pair's tokens to a logit for each label.

use std::path::Path;

use toller_checkpoint::{Fingerprint, ModelError, Parameters, Tensor};
use toller_nn::{Activation, Backend, LinearParameters, Matrix, Place, Pooling};

use super::config::ClassifierConfig;
use super::{ClassifierPlan, OutputNorms};
use crate::EncoderError;
use crate::config::TransformerConfig;
use crate::head::{Head, Step};
use crate::transformer::Loader;

/// The plan of a head, before its weights are loaded.
#[derive(Clone, Copy)]
pub(crate) struct HeadPlan {
    pub(crate) names: HeadNames,
    pub(crate) pooling: Pooling,
    pub(crate) activation: Activation,
    /// Whether the dense layer has a bias.
    pub(crate) bias: bool,
}

/// Where the tensors of a head are.
#[derive(Clone, Copy)]
pub(crate) struct HeadNames {
    pub(crate) dense: &'static str,
    /// Whether the dense layer belongs to the transformer without its head, as BERT's pooler does.
    pub(crate) dense_is_inside: bool,
    pub(crate) norm: Option<&'static str>,
    pub(crate) output: &'static str,
}

const BERT: HeadNames =
    HeadNames { dense: "pooler.dense", dense_is_inside: true, norm: None, output: "classifier" };
const ROBERTA: HeadNames = HeadNames {
    dense: "classifier.dense",
    dense_is_inside: false,
    norm: None,
    output: "classifier.out_proj",
};
const DISTILBERT: HeadNames =
    HeadNames { dense: "pre_classifier", dense_is_inside: false, norm: None, output: "classifier" };
const MODERNBERT: HeadNames =
    HeadNames { dense: "head.dense", dense_is_inside: false, norm: Some("head.norm"), output: "classifier" };

impl HeadPlan {
    /// The head of `config`'s architecture.
    pub(super) fn new(
        config: &TransformerConfig,
        classifier: &ClassifierConfig,
        config_path: &Path,
    ) -> Result<Self, EncoderError> {
        let (names, pooling, activation, bias) = match config.model_type.as_str() {
            "bert" | "ernie" => (BERT, Pooling::Cls, Activation::Tanh, true),
            "roberta" | "xlm-roberta" | "camembert" | "mpnet" => {
                (ROBERTA, Pooling::Cls, Activation::Tanh, true)
            }
            "electra" => (ROBERTA, Pooling::Cls, Activation::Gelu, true),
            "distilbert" => (DISTILBERT, Pooling::Cls, Activation::Relu, true),
            "modernbert" => (MODERNBERT, classifier.pooling, classifier.activation, classifier.bias),
            other => {
                let what = format!("a cross-encoder of model_type {other:?}");
                let supported =
                    "bert, electra, ernie, roberta, xlm-roberta, camembert, mpnet, distilbert, modernbert";
                return Err(ModelError::unsupported(config_path, what, supported).into());
            }
        };
        Ok(Self { names, pooling, activation, bias })
    }

    /// Loads the head of a classifier from the transformer's parameters: one state for a pair, a dense layer,
    /// perhaps a norm, and a linear layer to the labels. Also returns the length of the last layer's weights
    /// for each label.
    pub(super) fn load<B: Backend>(
        &self,
        backend: &B,
        classifier: &ClassifierPlan,
        parameters: Parameters,
        fingerprint: &mut Fingerprint,
    ) -> Result<(Head<B>, OutputNorms), EncoderError> {
        let Self { names, pooling, activation, bias } = *self;
        let hidden = classifier.config.hidden;
        let mut head = Head::new(vec![pooling], hidden);
        if names.dense_is_inside {
            let mut loader = Loader { backend, parameters: &parameters, fingerprint: &mut *fingerprint };
            let dense = loader.linear(names.dense, hidden, hidden, bias, Place::Head)?;
            head.push(Step::Dense(dense, activation), hidden);
        }
        let outside = parameters.outside();
        if !outside.has(&format!("{}.weight", names.output)) {
            let what = "scoring pairs with a model without a classification head";
            let supported = "cross-encoders: ...ForSequenceClassification";
            let path = classifier.folder.join("config.json");
            return Err(ModelError::unsupported(path, what, supported).into());
        }
        fingerprint.value("head", format!("{} {}", pooling.name(), activation.name()).as_bytes());
        let mut loader = Loader { backend, parameters: &outside, fingerprint };
        if !names.dense_is_inside {
            let dense = loader.linear(names.dense, hidden, hidden, bias, Place::Head)?;
            head.push(Step::Dense(dense, activation), hidden);
        }
        if let Some(name) = names.norm {
            head.push(Step::Norm(loader.norm(name, hidden, classifier.config.norm)?), hidden);
        }
        let (weight, bias) = loader.tensors(names.output, classifier.labels, hidden, true)?;
        let values = Matrix { values: weight.values(), rows: classifier.labels, columns: hidden };
        let output = LinearParameters { weight: values, bias: bias.as_ref().map(Tensor::values) };
        head.push(Step::Dense(backend.linear(output, Place::Head)?, Activation::Identity), classifier.labels);
        let length = |row: &[f32]| row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        Ok((head, weight.values().chunks_exact(hidden).map(length).collect()))
    }
}
