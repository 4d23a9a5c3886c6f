//! Classification heads: from the states of a pair's tokens to a logit for each label.

use std::path::Path;

use candle_core::Tensor;
use toller_checkpoint::ModelError;
use toller_nn::{Activation, LayerNorm, Linear, Pooling, Precision, Sequences, pool};

use super::config::ClassifierConfig;
use crate::EncoderError;
use crate::config::TransformerConfig;
use crate::transformer::Loader;
use toller_checkpoint::Fingerprint;
use toller_checkpoint::Tensors;

/// One state for a pair, a dense layer, and a linear one to the labels. All architectures have these; they differ in
/// names, pooling, activation, and ModernBERT's norm.
pub(super) struct Head {
    pooling: Pooling,
    dense: Linear,
    activation: Activation,
    norm: Option<LayerNorm>,
    output: Linear,
}

/// What a head is made of, before its weights.
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
    /// Whether the dense layer is a part of the transformer without its head, as BERT's pooler is.
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
            "distilbert" => (DISTILBERT, Pooling::Cls, Activation::Relu, true),
            "modernbert" => (MODERNBERT, classifier.pooling, classifier.activation, classifier.bias),
            other => {
                return Err(ModelError::Unsupported {
                    path: config_path.to_owned(),
                    what: format!("a cross-encoder of model_type {other:?}"),
                    supported: "bert, ernie, roberta, xlm-roberta, camembert, mpnet, distilbert, modernbert"
                        .to_owned(),
                }
                .into());
            }
        };
        Ok(Self { names, pooling, activation, bias })
    }
}

impl Head {
    /// Loads the head that `plan` describes, to `labels` labels, from the transformer's tensors.
    pub(super) fn load(
        plan: HeadPlan,
        labels: usize,
        config: &TransformerConfig,
        tensors: Tensors,
        config_path: &Path,
        fingerprint: &mut Fingerprint,
    ) -> Result<Self, EncoderError> {
        let HeadPlan { names, pooling, activation, bias } = plan;
        let hidden = config.hidden;
        let inside = names.dense_is_inside.then(|| {
            Loader { tensors: &tensors, fingerprint: &mut *fingerprint, dtype: Precision::F32 }.linear(
                names.dense,
                hidden,
                hidden,
                bias,
            )
        });
        let inside = inside.transpose()?;
        let outside = tensors.outside();
        if !outside.has(&format!("{}.weight", names.output)) {
            return Err(ModelError::Unsupported {
                path: config_path.to_owned(),
                what: "scoring pairs with a model without a classification head".to_owned(),
                supported: "cross-encoders: ...ForSequenceClassification".to_owned(),
            }
            .into());
        }
        fingerprint.value("head", format!("{} {}", pooling.name(), activation.name()).as_bytes());
        let mut loader = Loader { tensors: &outside, fingerprint, dtype: Precision::F32 };
        Ok(Self {
            pooling,
            dense: match inside {
                Some(dense) => dense,
                None => loader.linear(names.dense, hidden, hidden, bias)?,
            },
            activation,
            norm: names.norm.map(|name| loader.norm(name, hidden, config.norm)).transpose()?,
            output: loader.linear(names.output, labels, hidden, true)?,
        })
    }

    /// The logits of each pair, `[pairs, labels]`, from the states `[tokens, hidden]`.
    pub(super) fn forward(&self, states: &Tensor, sequences: &Sequences) -> Result<Tensor, EncoderError> {
        let pooled = pool(states, sequences, self.pooling)?; // [pairs, hidden]
        let mut features = self.dense.forward(&pooled, self.activation)?; // [pairs, hidden]
        if let Some(norm) = &self.norm {
            features = norm.forward(&features)?;
        }
        Ok(self.output.forward(&features, Activation::Identity)?) // [pairs, labels]
    }
}
