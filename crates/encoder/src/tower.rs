//! The plan of one tower: a transformer, a pooling, and the steps after it.

use std::path::Path;

use toller_checkpoint::{Fingerprint, ModelError, Parameters, Tensor};
use toller_nn::{Activation, Backend, Pooling};

use crate::EncoderError;
use crate::compute::Plan;
use crate::config::{Projection, TransformerConfig};
use crate::head::Head;
use crate::layout::Layout;
use crate::masked_lm::VocabularyHead;
use crate::network::Network;
use crate::pooling::PoolingChoice;

/// The plan of a transformer and what follows it, before the parameters are loaded.
pub(crate) struct TowerPlan {
    pub(crate) layout: Layout,
    pub(crate) config: TransformerConfig,
    pub(crate) pooling: PoolingChoice,
    /// The number of dimensions that are kept of a vector, if given.
    pub(crate) dim: Option<usize>,
}

impl Plan for TowerPlan {
    type Found = Parameters;

    fn load<B: Backend>(
        &self,
        backend: B,
        fingerprint: &mut Fingerprint,
    ) -> Result<(Network<B>, Parameters), EncoderError> {
        let folder = &self.layout.transformer;
        Network::load(backend, folder, &self.config, fingerprint, |backend, parameters, fingerprint| {
            let Some(saturation) = self.pooling.splade else {
                return Ok((self.head(backend, &parameters, fingerprint)?, parameters));
            };
            let config = &self.config;
            let (head, parameters) =
                VocabularyHead::load(backend, folder, config, saturation, parameters, fingerprint)?;
            Ok((Head::of_vocabulary(head), parameters))
        })
    }
}

impl TowerPlan {
    /// The steps after the transformer.
    fn head<B: Backend>(
        &self,
        backend: &B,
        parameters: &Parameters,
        fingerprint: &mut Fingerprint,
    ) -> Result<Head<B>, EncoderError> {
        let config = &self.config;
        let mut head = Head::new(self.pooling.poolings.clone(), config.hidden);
        if self.pooling.uses_pooler {
            let (weight, bias) = pooler(parameters, config, &self.layout.transformer.join("config.json"))?;
            let source = (parameters, "pooler.dense");
            head.push_dense(backend, source, (&weight, Some(&bias)), Activation::Tanh, fingerprint)?;
        }
        if let Some(Projection { dim, names }) = config.projection {
            let outside = parameters.prefix().strip_suffix(names.transformer).unwrap_or(parameters.prefix());
            let part = |name: &str, part: &str, shape: &[usize]| {
                parameters.get_by_full_name(&format!("{outside}{name}.{part}"), shape)
            };
            let weight = part(names.dense, "weight", &[dim, head.dim()])?;
            let bias = part(names.dense, "bias", &[dim])?;
            let source = (parameters, names.dense);
            head.push_dense(backend, source, (&weight, Some(&bias)), Activation::Identity, fingerprint)?;
            if let Some(name) = names.norm {
                let (weight, bias) = (part(name, "weight", &[dim])?, part(name, "bias", &[dim])?);
                let epsilon = config.norm.epsilon;
                head.push_norm(backend, (parameters, name), (&weight, &bias), epsilon, fingerprint)?;
            }
        }
        for module in &self.layout.modules {
            head.push_module(backend, module, fingerprint)?;
        }
        if let Some(asked) = self.dim.filter(|asked| *asked == 0 || *asked > head.dim()) {
            return Err(EncoderError::Dimensions { asked, dim: head.dim() });
        }
        if let Some(dim) = self.dim.or(self.layout.truncate_dim) {
            head.truncate(dim, fingerprint);
        }
        Ok(head)
    }
}

/// The weight and the bias of the pooler of BERT-like models.
fn pooler(
    parameters: &Parameters,
    config: &TransformerConfig,
    config_path: &Path,
) -> Result<(Tensor, Tensor), EncoderError> {
    if !parameters.has("pooler.dense.weight") {
        let what = "the pooling \"pooler\" of a model whose weights have no pooler";
        return Err(ModelError::unsupported(config_path, what, Pooling::NAMES.join(", ")).into());
    }
    let weight = parameters.get("pooler.dense.weight", &[config.hidden, config.hidden])?;
    Ok((weight, parameters.get("pooler.dense.bias", &[config.hidden])?))
}
