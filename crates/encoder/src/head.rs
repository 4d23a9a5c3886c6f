//! What follows the pooling: dense layers, truncation, unit length.

use candle_core::Tensor;
use toller_checkpoint::ModelError;
use toller_nn::{Activation, Linear, normalize};

use crate::EncoderError;
use crate::layout::Module;
use toller_checkpoint::Fingerprint;
use toller_checkpoint::Tensors;

/// Steps from pooled states to vectors.
pub(crate) struct Head {
    steps: Vec<Step>,
    dim: usize,
}

/// One step, with its weights.
enum Step {
    Dense(Linear, Activation),
    /// Keeps the first dimensions (Kusupati et al. 2022: Matryoshka representations).
    Truncate(usize),
    Normalize,
}

impl Head {
    /// No steps over vectors of `dim` dimensions.
    pub(crate) fn new(dim: usize) -> Self {
        Self { steps: Vec::new(), dim }
    }

    /// The dimensions of the vectors that it makes.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// Whether it ends in unit length.
    pub(crate) fn normalizes(&self) -> bool {
        matches!(self.steps.last(), Some(Step::Normalize))
    }

    /// Adds a dense layer with `weight` `[out, dim]` and `bias` `[out]`.
    pub(crate) fn push_dense(
        &mut self,
        weight: &Tensor,
        bias: Option<&Tensor>,
        activation: Activation,
        fingerprint: &mut Fingerprint,
    ) -> Result<(), EncoderError> {
        fingerprint.value("module", format!("dense {}", activation.name()).as_bytes());
        fingerprint.tensor("linear.weight", weight)?;
        if let Some(bias) = bias {
            fingerprint.tensor("linear.bias", bias)?;
        }
        self.dim = weight.dim(0)?;
        self.steps.push(Step::Dense(Linear::new(weight, bias)?, activation));
        Ok(())
    }

    /// Adds a module of sentence-transformers.
    pub(crate) fn push_module(
        &mut self,
        module: &Module,
        fingerprint: &mut Fingerprint,
    ) -> Result<(), EncoderError> {
        let Module::Dense { folder, config } = module else {
            fingerprint.value("module", b"normalize");
            self.steps.push(Step::Normalize);
            return Ok(());
        };
        if config.in_features != self.dim {
            return Err(ModelError::Config {
                path: folder.join("config.json"),
                problem: format!(
                    "takes {} dimensions, but what comes before makes {}",
                    config.in_features, self.dim
                ),
            }
            .into());
        }
        let tensors = Tensors::open(folder)?;
        let weight = tensors.get("linear.weight", &[config.out_features, config.in_features])?;
        let bias = config.bias.then(|| tensors.get("linear.bias", &[config.out_features])).transpose()?;
        self.push_dense(&weight, bias.as_ref(), config.activation_function, fingerprint)
    }

    /// Keeps the first `dim` dimensions, before a scaling to unit length if that is the last step: a model
    /// whose vectors have unit length still makes such, and inner products stay cosines.
    pub(crate) fn truncate(&mut self, dim: usize, fingerprint: &mut Fingerprint) {
        if dim >= self.dim {
            return;
        }
        fingerprint.value("dimensions", dim.to_string().as_bytes());
        let at = self.steps.len() - usize::from(self.normalizes());
        self.steps.insert(at, Step::Truncate(dim));
        self.dim = dim;
    }

    /// The vectors `[texts, dim]` of pooled states.
    pub(crate) fn forward(&self, pooled: Tensor) -> Result<Tensor, EncoderError> {
        let mut vectors = pooled;
        for step in &self.steps {
            vectors = match step {
                Step::Dense(linear, activation) => linear.forward(&vectors, *activation)?,
                Step::Truncate(dim) => vectors.narrow(1, 0, *dim)?.contiguous()?,
                Step::Normalize => normalize(&vectors)?,
            };
        }
        Ok(vectors)
    }
}
