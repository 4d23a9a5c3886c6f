//! The steps after the transformer: pooling, dense layers, norms, truncation, unit length.

use std::path::Path;

use toller_checkpoint::{Fingerprint, ModelError, Parameters, Tensor};
use toller_nn::{Activation, Backend, LinearParameters, Matrix, NormParameters, Place, Pooling};

use crate::EncoderError;
use crate::masked_lm::VocabularyHead;
use crate::modules::Module;
use crate::transformer::name_tensor;

/// The epsilon of torch's layer norms, which sentence-transformers' module does not change.
const TORCH_EPSILON: f64 = 1e-5;

/// Poolings, concatenated, and the steps from their result to a row of numbers. Without poolings, each token
/// has a row of its own.
pub(crate) struct Head<B: Backend> {
    poolings: Vec<Pooling>,
    steps: Vec<Step<B>>,
    dim: usize,
    /// In place of all that: weights of the vocabulary's terms.
    vocabulary: Option<VocabularyHead<B>>,
}

/// One step, with its parameters.
pub(crate) enum Step<B: Backend> {
    Dense(B::Linear, Activation),
    Norm(B::Norm),
    /// Keeps the first dimensions (Kusupati et al. 2022: Matryoshka representations).
    Truncate(usize),
    Unit,
}

impl<B: Backend> Head<B> {
    /// No steps after the poolings of states of `hidden` values.
    pub(crate) fn new(poolings: Vec<Pooling>, hidden: usize) -> Self {
        Self { dim: hidden * poolings.len(), poolings, steps: Vec::new(), vocabulary: None }
    }

    /// No steps after states of `hidden` values, which are not pooled.
    pub(crate) fn of_tokens(hidden: usize) -> Self {
        Self { dim: hidden, ..Self::new(Vec::new(), hidden) }
    }

    /// The weights of a vocabulary's terms.
    pub(crate) fn of_vocabulary(vocabulary: VocabularyHead<B>) -> Self {
        let terms = vocabulary.terms();
        Self { dim: terms, vocabulary: Some(vocabulary), ..Self::new(Vec::new(), terms) }
    }

    /// What makes the weights of terms, if the head makes these.
    pub(crate) fn vocabulary(&self) -> Option<&VocabularyHead<B>> {
        self.vocabulary.as_ref()
    }

    /// The values of a row.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    pub(crate) fn poolings(&self) -> &[Pooling] {
        &self.poolings
    }

    /// Whether rows have unit length.
    pub(crate) fn normalizes(&self) -> bool {
        matches!(self.steps.last(), Some(Step::Unit))
    }

    /// Whether rows are cut to their first dimensions.
    pub(crate) fn truncates(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Truncate(_)))
    }

    /// Adds a step after which a row has `dim` values.
    pub(crate) fn push(&mut self, step: Step<B>, dim: usize) {
        self.steps.push(step);
        self.dim = dim;
    }

    /// Adds a dense layer with `weight` `[outputs, dim]` and `bias` `[outputs]`, which were taken from
    /// `parameters` as the parts of `name`.
    pub(crate) fn push_dense(
        &mut self,
        backend: &B,
        (parameters, name): (&Parameters, &str),
        (weight, bias): (&Tensor, Option<&Tensor>),
        activation: Activation,
        fingerprint: &mut Fingerprint,
    ) -> Result<(), EncoderError> {
        for (part, tensor) in [("weight", Some(weight)), ("bias", bias)] {
            if let Some(tensor) = tensor {
                name_tensor(backend, parameters, &format!("{name}.{part}"), tensor);
            }
        }
        fingerprint.value("module", format!("dense {}", activation.name()).as_bytes());
        fingerprint.tensor("linear.weight", weight);
        if let Some(bias) = bias {
            fingerprint.tensor("linear.bias", bias);
        }
        let outputs = weight.shape()[0];
        let weight = Matrix { values: weight.values(), rows: outputs, columns: self.dim };
        let layer = LinearParameters { weight, bias: bias.map(Tensor::values) };
        self.push(Step::Dense(backend.linear(layer, Place::Head)?, activation), outputs);
        Ok(())
    }

    /// Adds a norm with `weight` and `bias` `[dim]`, which were taken from `parameters` as the parts of
    /// `name`.
    pub(crate) fn push_norm(
        &mut self,
        backend: &B,
        (parameters, name): (&Parameters, &str),
        (weight, bias): (&Tensor, &Tensor),
        epsilon: f64,
        fingerprint: &mut Fingerprint,
    ) -> Result<(), EncoderError> {
        for (part, tensor) in [("weight", weight), ("bias", bias)] {
            name_tensor(backend, parameters, &format!("{name}.{part}"), tensor);
            fingerprint.tensor(&format!("norm.{part}"), tensor);
        }
        let norm = NormParameters {
            weight: weight.values(),
            bias: Some(bias.values()),
            epsilon: epsilon as f32,
            centers: true,
        };
        self.push(Step::Norm(backend.norm(norm)?), self.dim);
        Ok(())
    }

    /// Adds a module of sentence-transformers.
    pub(crate) fn push_module(
        &mut self,
        backend: &B,
        module: &Module,
        fingerprint: &mut Fingerprint,
    ) -> Result<(), EncoderError> {
        match module {
            Module::Normalize => {
                fingerprint.value("module", b"normalize");
                self.steps.push(Step::Unit);
                Ok(())
            }
            Module::Dense { folder, config } => {
                self.check_inputs(config.in_features, folder)?;
                let parameters = Parameters::open(folder)?;
                let weight = parameters.get("linear.weight", &[config.out_features, config.in_features])?;
                let bias = config.bias.then(|| parameters.get("linear.bias", &[config.out_features]));
                let bias = bias.transpose()?;
                check_all_taken(&parameters, folder)?;
                let (source, tensors) = ((&parameters, "linear"), (&weight, bias.as_ref()));
                self.push_dense(backend, source, tensors, config.activation, fingerprint)
            }
            Module::LayerNorm { folder, config } => {
                self.check_inputs(config.dimension, folder)?;
                let parameters = Parameters::open(folder)?;
                let part = |part: &str| parameters.get(&format!("norm.{part}"), &[config.dimension]);
                let (weight, bias) = (part("weight")?, part("bias")?);
                check_all_taken(&parameters, folder)?;
                let (source, tensors) = ((&parameters, "norm"), (&weight, &bias));
                self.push_norm(backend, source, tensors, TORCH_EPSILON, fingerprint)
            }
        }
    }

    /// Refuses a module that takes other vectors than those that come before it.
    fn check_inputs(&self, inputs: usize, folder: &Path) -> Result<(), ModelError> {
        if inputs == self.dim {
            return Ok(());
        }
        let problem = format!("takes {inputs} dimensions, but what comes before makes {}", self.dim);
        Err(ModelError::Config { path: folder.join("config.json"), problem })
    }

    /// Keeps the first `dim` dimensions, before a scaling to unit length if that is the last step: the
    /// vectors of a model with unit length keep unit length, and inner products stay cosines.
    pub(crate) fn truncate(&mut self, dim: usize, fingerprint: &mut Fingerprint) {
        if dim >= self.dim {
            return;
        }
        fingerprint.value("dimensions", dim.to_string().as_bytes());
        let at = self.steps.len() - usize::from(self.normalizes());
        self.steps.insert(at, Step::Truncate(dim));
        self.dim = dim;
    }

    /// The result of all but the last `left_out` steps for pooled states.
    pub(crate) fn forward(
        &self,
        backend: &B,
        scratch: &mut B::Scratch,
        pooled: B::States,
        left_out: usize,
    ) -> Result<B::States, EncoderError> {
        let steps = &self.steps[..self.steps.len() - left_out];
        steps.iter().try_fold(pooled, |rows, step| self.step(backend, scratch, rows, step))
    }

    /// The result of all steps for pooled states, as if nothing were cut.
    pub(crate) fn forward_uncut(
        &self,
        backend: &B,
        scratch: &mut B::Scratch,
        pooled: B::States,
    ) -> Result<B::States, EncoderError> {
        let mut steps = self.steps.iter().filter(|step| !matches!(step, Step::Truncate(_)));
        steps.try_fold(pooled, |rows, step| self.step(backend, scratch, rows, step))
    }

    fn step(
        &self,
        backend: &B,
        scratch: &mut B::Scratch,
        rows: B::States,
        step: &Step<B>,
    ) -> Result<B::States, EncoderError> {
        Ok(match step {
            Step::Dense(layer, activation) => {
                let next = backend.project(scratch, &rows, layer, *activation)?;
                backend.release(scratch, rows);
                next
            }
            Step::Norm(norm) => backend.normalize(scratch, rows, norm)?,
            Step::Truncate(dim) => backend.truncate(scratch, rows, *dim)?,
            Step::Unit => backend.unit(scratch, rows)?,
        })
    }
}

/// Refuses a module with a tensor that its configuration has no place for: it would have no effect.
fn check_all_taken(parameters: &Parameters, folder: &Path) -> Result<(), ModelError> {
    match parameters.unused().into_iter().next() {
        None => Ok(()),
        Some(name) => {
            let problem = format!("the weights have {name:?}, which the configuration has no place for");
            Err(ModelError::Config { path: folder.join("config.json"), problem })
        }
    }
}
