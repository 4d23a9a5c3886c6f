//! Layers from tensors.

use candle_core::{Device, Tensor};
use toller_nn::{GatedLinear, LayerNorm, Linear, Precision};

use crate::EncoderError;
use crate::config::{NormConfig, QkvNames, UpNames};
use toller_checkpoint::Fingerprint;
use toller_checkpoint::Tensors;

/// Loads layers from tensors and fingerprints what it loads.
pub(crate) struct Loader<'a> {
    pub(crate) tensors: &'a Tensors,
    pub(crate) fingerprint: &'a mut Fingerprint,
    /// What the layers compute in.
    pub(crate) dtype: Precision,
}

/// The two halves of a gated layer, or the one of a plain one.
pub(super) enum Up {
    Plain(Linear),
    Gated(GatedLinear),
}

impl Loader<'_> {
    /// A tensor of the given shape.
    pub(crate) fn get(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, EncoderError> {
        let tensor = self.tensors.get(name, shape)?;
        self.fingerprint.tensor(name, &tensor)?;
        Ok(tensor)
    }

    /// A linear layer. In f32 where the model is in bf16: see [`Loader::down_linear`].
    pub(crate) fn linear(
        &mut self,
        name: &str,
        out: usize,
        input: usize,
        bias: bool,
    ) -> Result<Linear, EncoderError> {
        self.linear_in(self.exact_where_bf16(), name, out, input, bias)
    }

    /// The linear layer that ends a feed-forward network, and that bf16 costs the least accuracy for the time that it
    /// saves. With every layer in bf16 a text of the golden MiniLM was off by 1.07e-2, where bf16 may be by 1e-2;
    /// with this one and attention, by 5.7e-3. benches/results/encode.md has the error of each part.
    pub(super) fn down_linear(
        &mut self,
        name: &str,
        out: usize,
        input: usize,
        bias: bool,
    ) -> Result<Linear, EncoderError> {
        self.linear_in(self.dtype, name, out, input, bias)
    }

    /// What the layers compute in that stay in f32 where the others are bf16.
    fn exact_where_bf16(&self) -> Precision {
        if self.dtype == Precision::Bf16 { Precision::F32 } else { self.dtype }
    }

    fn linear_in(
        &mut self,
        dtype: Precision,
        name: &str,
        out: usize,
        input: usize,
        bias: bool,
    ) -> Result<Linear, EncoderError> {
        let (weight, bias) = self.weight_and_bias(name, out, input, bias)?;
        Ok(Linear::in_precision(&weight, bias.as_ref(), dtype)?)
    }

    /// A layer norm.
    pub(crate) fn norm(
        &mut self,
        name: &str,
        width: usize,
        config: NormConfig,
    ) -> Result<LayerNorm, EncoderError> {
        let weight = self.tensors.get_norm(name, "weight", width)?;
        self.fingerprint.tensor(&format!("{name}.weight"), &weight)?;
        let bias = if config.bias {
            let bias = self.tensors.get_norm(name, "bias", width)?;
            self.fingerprint.tensor(&format!("{name}.bias"), &bias)?;
            bias
        } else {
            Tensor::zeros(width, weight.dtype(), &Device::Cpu)?
        };
        Ok(LayerNorm::new(&weight, &bias, config.epsilon)?)
    }

    /// Queries, keys and values as one layer `[3 * hidden, hidden]`; `prefix` stands before its names.
    pub(super) fn qkv(
        &mut self,
        prefix: &str,
        names: QkvNames,
        hidden: usize,
        bias: bool,
    ) -> Result<Linear, EncoderError> {
        let parts = match names {
            QkvNames::Fused(name) => {
                return self.linear(&format!("{prefix}{name}"), 3 * hidden, hidden, bias);
            }
            QkvNames::Separate(parts) => parts,
        };
        let (mut weights, mut biases) = (Vec::new(), Vec::new());
        for part in parts {
            let (weight, bias) = self.weight_and_bias(&format!("{prefix}{part}"), hidden, hidden, bias)?;
            weights.push(weight);
            biases.extend(bias);
        }
        let bias = if biases.is_empty() { None } else { Some(Tensor::cat(&biases, 0)?) };
        Ok(Linear::in_precision(&Tensor::cat(&weights, 0)?, bias.as_ref(), self.exact_where_bf16())?)
    }

    /// The first half of a feed-forward network; `prefix` stands before its names.
    pub(super) fn up(
        &mut self,
        prefix: &str,
        names: UpNames,
        intermediate: usize,
        hidden: usize,
        bias: bool,
    ) -> Result<Up, EncoderError> {
        let name = |part: &str| format!("{prefix}{part}");
        Ok(match names {
            UpNames::Plain(part) => Up::Plain(self.linear(&name(part), intermediate, hidden, bias)?),
            UpNames::Gated { activated, linear } => {
                let activated = self.weight_and_bias(&name(activated), intermediate, hidden, bias)?;
                let linear = self.weight_and_bias(&name(linear), intermediate, hidden, bias)?;
                Up::Gated(GatedLinear::new(
                    (&activated.0, activated.1.as_ref()),
                    (&linear.0, linear.1.as_ref()),
                    self.exact_where_bf16(),
                )?)
            }
            UpNames::GatedFused(part) => {
                let (weight, bias) = self.weight_and_bias(&name(part), 2 * intermediate, hidden, bias)?;
                let half = |tensor: &Tensor, from: usize| tensor.narrow(0, from, intermediate)?.contiguous();
                let halves = |from: usize| {
                    let bias = bias.as_ref().map(|bias| half(bias, from)).transpose()?;
                    Ok::<_, candle_core::Error>((half(&weight, from)?, bias))
                };
                let (activated, linear) = (halves(0)?, halves(intermediate)?);
                Up::Gated(GatedLinear::new(
                    (&activated.0, activated.1.as_ref()),
                    (&linear.0, linear.1.as_ref()),
                    self.exact_where_bf16(),
                )?)
            }
        })
    }

    fn weight_and_bias(
        &mut self,
        name: &str,
        out: usize,
        input: usize,
        bias: bool,
    ) -> Result<(Tensor, Option<Tensor>), EncoderError> {
        let weight = self.get(&format!("{name}.weight"), &[out, input])?;
        let bias = bias.then(|| self.get(&format!("{name}.bias"), &[out])).transpose()?;
        Ok((weight, bias))
    }
}
