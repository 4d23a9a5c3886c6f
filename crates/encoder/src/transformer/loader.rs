//! Layers from parameters.

use std::path::Path;

use toller_checkpoint::{Fingerprint, Parameters, Tensor};
use toller_nn::{Backend, LinearParameters, Matrix, NormParameters, Place};

use crate::EncoderError;
use crate::config::{NormConfig, QkvNames, TransformerConfig, UpNames};

/// Takes a model's parameters, adds them to its fingerprint, and has a backend lay them out.
pub(crate) struct Loader<'a, B> {
    pub(crate) backend: &'a B,
    pub(crate) parameters: &'a Parameters,
    pub(crate) fingerprint: &'a mut Fingerprint,
}

/// Gives a backend the name of a tensor that was taken by its canonical name.
pub(crate) fn name_tensor<B: Backend>(
    backend: &B,
    parameters: &Parameters,
    canonical: &str,
    tensor: &Tensor,
) {
    if let Some((folder, name)) = parameters.source(canonical) {
        backend.name_tensor(folder, &name, tensor.shape());
    }
}

/// A linear layer that a model does not have yet, to be trained: `[outputs, inputs]` weights, and a bias of
/// zeros. `name` is its name in the files.
pub(crate) fn new_layer<B: Backend>(
    backend: &B,
    folder: &Path,
    name: &str,
    [outputs, inputs]: [usize; 2],
    weights: Vec<f32>,
    fingerprint: &mut Fingerprint,
) -> Result<(Tensor, Tensor), EncoderError> {
    let weight = Tensor::new(vec![outputs, inputs], weights)?;
    let bias = Tensor::new(vec![outputs], vec![0.0; outputs])?;
    for (part, tensor) in [("weight", &weight), ("bias", &bias)] {
        let name = format!("{name}.{part}");
        backend.name_tensor(folder, &name, tensor.shape());
        fingerprint.tensor(&name, tensor);
    }
    Ok((weight, bias))
}

/// The first half of a feed-forward network.
pub(super) enum Up<B: Backend> {
    Plain(B::Linear),
    Gated(B::Gated),
}

/// A linear layer's values. Several layers may be one after the other.
struct Values {
    weight: Vec<f32>,
    bias: Option<Vec<f32>>,
    inputs: usize,
}

impl Values {
    fn parameters(&self) -> LinearParameters<'_> {
        let weight =
            Matrix { values: &self.weight, rows: self.weight.len() / self.inputs, columns: self.inputs };
        LinearParameters { weight, bias: self.bias.as_deref() }
    }
}

impl<B: Backend> Loader<'_, B> {
    /// A tensor of the given shape.
    pub(crate) fn get(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, EncoderError> {
        let tensor = self.parameters.get(name, shape)?;
        self.fingerprint.tensor(name, &tensor);
        name_tensor(self.backend, self.parameters, name, &tensor);
        Ok(tensor)
    }

    /// A table of embeddings `[rows, width]`.
    pub(super) fn table(&mut self, name: &str, rows: usize, width: usize) -> Result<B::Table, EncoderError> {
        self.scaled_table(name, rows, width, None)
    }

    /// The same, all values multiplied by a number.
    pub(super) fn scaled_table(
        &mut self,
        name: &str,
        rows: usize,
        width: usize,
        scale: Option<f32>,
    ) -> Result<B::Table, EncoderError> {
        let tensor = self.get(name, &[rows, width])?;
        let scaled: Option<Vec<f32>> = scale.map(|scale| tensor.values().iter().map(|x| x * scale).collect());
        let values = scaled.as_deref().unwrap_or(tensor.values());
        Ok(self.backend.table(Matrix { values, rows, columns: width })?)
    }

    /// A linear layer.
    pub(crate) fn linear(
        &mut self,
        name: &str,
        outputs: usize,
        inputs: usize,
        bias: bool,
        place: Place,
    ) -> Result<B::Linear, EncoderError> {
        let (weight, bias) = self.tensors(name, outputs, inputs, bias)?;
        let weight = Matrix { values: weight.values(), rows: outputs, columns: inputs };
        let bias = bias.as_ref().map(Tensor::values);
        Ok(self.backend.linear(LinearParameters { weight, bias }, place)?)
    }

    /// A norm.
    pub(crate) fn norm(
        &mut self,
        name: &str,
        width: usize,
        config: NormConfig,
    ) -> Result<B::Norm, EncoderError> {
        let mut part = |part: &str| {
            let tensor = self.parameters.get_norm(name, part, width)?;
            let name = format!("{name}.{part}");
            self.fingerprint.tensor(&name, &tensor);
            name_tensor(self.backend, self.parameters, &name, &tensor);
            Ok::<_, EncoderError>(tensor)
        };
        let weight = part("weight")?;
        let bias = config.bias.then(|| part("bias")).transpose()?;
        let more: Option<Vec<f32>> =
            config.adds_one.then(|| weight.values().iter().map(|x| 1.0 + x).collect());
        Ok(self.backend.norm(NormParameters {
            weight: more.as_deref().unwrap_or(weight.values()),
            bias: bias.as_ref().map(Tensor::values),
            epsilon: config.epsilon as f32,
            centers: config.centers,
        })?)
    }

    /// Queries, keys and values as one layer; `prefix` is before its names.
    pub(super) fn qkv(
        &mut self,
        prefix: &str,
        names: QkvNames,
        config: &TransformerConfig,
    ) -> Result<B::Linear, EncoderError> {
        let attention = &config.attention;
        let rows = [attention.heads, attention.key_heads, attention.key_heads]
            .map(|heads| heads * attention.head_size);
        let (hidden, bias) = (config.hidden, attention.qkv_bias);
        let parts = match names {
            QkvNames::Fused(name) => {
                let name = format!("{prefix}{name}");
                return self.linear(&name, rows.iter().sum(), hidden, bias, Place::Inner);
            }
            QkvNames::Separate(parts) => parts,
        };
        let mut joined = Values { weight: Vec::new(), bias: bias.then(Vec::new), inputs: hidden };
        for (part, rows) in parts.into_iter().zip(rows) {
            let (weight, bias) = self.tensors(&format!("{prefix}{part}"), rows, hidden, bias)?;
            joined.weight.extend_from_slice(weight.values());
            if let (Some(joined), Some(bias)) = (&mut joined.bias, bias) {
                joined.extend_from_slice(bias.values());
            }
        }
        Ok(self.backend.linear(joined.parameters(), Place::Inner)?)
    }

    /// The first half of a feed-forward network; `prefix` is before its names.
    pub(super) fn up(
        &mut self,
        prefix: &str,
        names: UpNames,
        intermediate: usize,
        hidden: usize,
        bias: bool,
    ) -> Result<Up<B>, EncoderError> {
        let name = |part: &str| format!("{prefix}{part}");
        let [activated, linear] = match names {
            UpNames::Plain(part) => {
                return Ok(Up::Plain(self.linear(&name(part), intermediate, hidden, bias, Place::Inner)?));
            }
            UpNames::Gated { activated, linear } => [
                self.values(&name(activated), intermediate, hidden, bias)?,
                self.values(&name(linear), intermediate, hidden, bias)?,
            ],
            UpNames::GatedFused(part) | UpNames::GateLast(part) => {
                let mut first = self.values(&name(part), 2 * intermediate, hidden, bias)?;
                let weight = first.weight.split_off(intermediate * hidden);
                let bias = first.bias.as_mut().map(|bias| bias.split_off(intermediate));
                let second = Values { weight, bias, inputs: hidden };
                if let UpNames::GateLast(_) = names { [second, first] } else { [first, second] }
            }
        };
        Ok(Up::Gated(self.backend.gated(activated.parameters(), linear.parameters())?))
    }

    fn values(
        &mut self,
        name: &str,
        outputs: usize,
        inputs: usize,
        bias: bool,
    ) -> Result<Values, EncoderError> {
        let (weight, bias) = self.tensors(name, outputs, inputs, bias)?;
        let bias = bias.map(|bias| bias.values().to_vec());
        Ok(Values { weight: weight.values().to_vec(), bias, inputs })
    }

    /// The weight and the bias of a linear layer.
    pub(crate) fn tensors(
        &mut self,
        name: &str,
        outputs: usize,
        inputs: usize,
        bias: bool,
    ) -> Result<(Tensor, Option<Tensor>), EncoderError> {
        let weight = self.get(&format!("{name}.weight"), &[outputs, inputs])?;
        let bias = bias.then(|| self.get(&format!("{name}.bias"), &[outputs])).transpose()?;
        Ok((weight, bias))
    }
}
