//! The transformer over candle's tensors, on any of candle's devices, with gradients.
//!
//! Every step consists of plain operations: the gradients of candle's fused layer norm, softmax and rotation
//! are silently cut. States are f32, products of the precision that was asked for.

mod activation;
mod attention;
mod batch;
mod device;
mod pool;

#[cfg(test)]
mod tests;

use std::sync::Mutex;

use candle_core::{D, DType, Device, Tensor, Var};
use toller_ir::locked;

pub use self::attention::CandleAttention;
pub use self::batch::CandleBatch;
pub use self::device::CandleDevice;
use crate::backend::{Backend, Closing, Prefix, Stream, Work};
use crate::cpu::{check_gated, check_linear, check_width};
use crate::unit::SHORTEST;
use crate::{
    Activation, AttentionParameters, LinearParameters, Matrix, NnError, NormParameters, NormPlacement, Place,
    Pooling, Precision, Sequences, norm,
};

/// Tokens of a batch on the CPU, and on a GPU.
const BATCH_TOKENS: [usize; 2] = [1024, 16_384];

/// One of candle's devices, in one precision.
///
/// Products come from the libraries that candle calls. Their order of summation depends on the number of
/// rows: a vector's last bits depend on its batch.
#[derive(Debug)]
pub struct Candle {
    device: Device,
    /// The type of states.
    states: DType,
    inner: Products,
    /// The parameters in the order of their layouts, where gradients are wanted.
    variables: Option<Mutex<Vec<Var>>>,
}

/// How matrix products are computed.
#[derive(Clone, Copy, Debug)]
struct Products {
    /// What factors are rounded to.
    rounded: DType,
    /// What rounded factors are multiplied in.
    multiplied: DType,
}

/// A linear layer.
pub struct CandleLinear {
    /// `[outputs, inputs]`.
    weight: Tensor,
    /// `[outputs]`.
    bias: Option<Tensor>,
    products: Products,
}

/// A norm.
pub struct CandleNorm {
    weight: Tensor,
    bias: Option<Tensor>,
    epsilon: f64,
    centers: bool,
}

impl Products {
    /// Without rounding, in this type.
    fn exact(number: DType) -> Self {
        Self { rounded: number, multiplied: number }
    }

    fn factor(self, x: &Tensor) -> candle_core::Result<Tensor> {
        x.to_dtype(self.rounded)?.to_dtype(self.multiplied)
    }

    /// The product of two matrices, or of as many pairs of matrices, in the type of the first.
    fn multiply(self, a: &Tensor, b: &Tensor) -> candle_core::Result<Tensor> {
        self.factor(a)?.matmul(&self.factor(b)?)?.to_dtype(a.dtype())
    }
}

impl CandleLinear {
    fn forward(&self, x: &Tensor, activation: Activation) -> candle_core::Result<Tensor> {
        let product = self.products.multiply(x, &self.weight.t()?)?;
        let sum = match &self.bias {
            Some(bias) => product.broadcast_add(bias)?,
            None => product,
        };
        activation::apply(activation, &sum)
    }
}

impl CandleNorm {
    /// Each row of `x` `[..., width]` normalised.
    fn forward(&self, x: &Tensor) -> Result<Tensor, NnError> {
        let width = self.weight.elem_count();
        check_width("a norm", x.dim(D::Minus1)?, width)?;
        let mean = |x: &Tensor| x.sum_keepdim(D::Minus1)?.affine(1.0 / width as f64, 0.0);
        let centered = if self.centers { x.broadcast_sub(&mean(x)?)? } else { x.clone() };
        let variance = mean(&centered.sqr()?)?;
        let normal = centered.broadcast_div(&(variance + self.epsilon)?.sqrt()?)?;
        let scaled = normal.broadcast_mul(&self.weight)?;
        Ok(match &self.bias {
            Some(bias) => scaled.broadcast_add(bias)?,
            None => scaled,
        })
    }
}

impl Candle {
    /// The device, multiplying in `precision`.
    ///
    /// # Errors
    /// [`NnError::CandlePrecision`] for int8.
    pub fn new(device: Device, precision: Precision) -> Result<Self, NnError> {
        let rounded = match precision {
            Precision::F32 => DType::F32,
            Precision::F16 => DType::F16,
            Precision::Bf16 => DType::BF16,
            Precision::Int8 => return Err(NnError::CandlePrecision(precision)),
        };
        // candle has no bf16 products on the CPU, and f16 is no faster there than f32.
        let multiplied = if device.is_cpu() { DType::F32 } else { rounded };
        let inner = Products { rounded, multiplied };
        Ok(Self { device, states: DType::F32, inner, variables: None })
    }

    /// The same with gradients: parameters that are laid out from now on are variables.
    #[must_use]
    pub fn with_gradients(self) -> Self {
        Self { variables: Some(Mutex::default()), ..self }
    }

    /// The variables: each table, weight, bias and relative bias, in the order of their layouts. A layer's
    /// weight comes before its bias.
    #[must_use]
    pub fn variables(&self) -> Vec<Var> {
        let variables = self.variables.as_ref();
        variables.map_or_else(Vec::new, |all| locked(all).clone())
    }

    fn tensor(&self, values: &[f32], shape: &[usize]) -> candle_core::Result<Tensor> {
        Tensor::from_slice(values, shape, &self.device)?.to_dtype(self.states)
    }

    /// A parameter: a variable where gradients are wanted.
    fn parameter(&self, values: &[f32], shape: &[usize]) -> candle_core::Result<Tensor> {
        let tensor = self.tensor(values, shape)?;
        let Some(variables) = &self.variables else { return Ok(tensor) };
        let variable = Var::from_tensor(&tensor)?;
        let tensor = variable.as_tensor().clone();
        locked(variables).push(variable);
        Ok(tensor)
    }

    fn linear_layer(&self, layer: LinearParameters<'_>, products: Products) -> Result<CandleLinear, NnError> {
        check_linear(&layer)?;
        let weight = self.parameter(layer.weight.values, &[layer.outputs(), layer.inputs()])?;
        // Rounded once. A variable is rounded in every step, which rounds its gradient's way back, too.
        let weight = if self.variables.is_none() { weight.to_dtype(products.rounded)? } else { weight };
        let bias = layer.bias.map(|bias| self.parameter(bias, &[bias.len()])).transpose()?;
        Ok(CandleLinear { weight, bias, products })
    }
}

impl Backend for Candle {
    type Batch = CandleBatch;
    type States = Tensor;
    type Scratch = ();
    type Table = Tensor;
    type Linear = CandleLinear;
    type Gated = [CandleLinear; 2];
    type Norm = CandleNorm;
    type Attention = CandleAttention;

    fn work(&self) -> Work {
        let on_cpu = self.device.is_cpu();
        let batch_tokens = BATCH_TOKENS[usize::from(!on_cpu)];
        // candle's products use all threads, and its other steps one: batches at the same time use the rest.
        let sessions = if on_cpu { rayon::current_num_threads() } else { 1 };
        Work { batch_tokens, least_tokens: batch_tokens, sessions, uses_threads: on_cpu }
    }

    fn scratch(&self) {}

    fn table(&self, table: Matrix<'_>) -> Result<Tensor, NnError> {
        Ok(self.parameter(table.values, &[table.rows, table.columns])?)
    }

    fn linear(&self, layer: LinearParameters<'_>, place: Place) -> Result<CandleLinear, NnError> {
        // What follows the poolings has few rows, and is exact.
        let products = if place == Place::Head { Products::exact(self.states) } else { self.inner };
        self.linear_layer(layer, products)
    }

    fn gated(
        &self,
        activated: LinearParameters<'_>,
        linear: LinearParameters<'_>,
    ) -> Result<[CandleLinear; 2], NnError> {
        check_gated(&activated, &linear)?;
        Ok([self.linear_layer(activated, self.inner)?, self.linear_layer(linear, self.inner)?])
    }

    fn norm(&self, parameters: NormParameters<'_>) -> Result<CandleNorm, NnError> {
        norm::check(&parameters)?;
        let NormParameters { weight, bias, epsilon, centers } = parameters;
        Ok(CandleNorm {
            weight: self.parameter(weight, &[weight.len()])?,
            bias: bias.map(|bias| self.parameter(bias, &[bias.len()])).transpose()?,
            epsilon: f64::from(epsilon),
            centers,
        })
    }

    fn attention(&self, attention: AttentionParameters<'_>) -> Result<CandleAttention, NnError> {
        CandleAttention::new(self, attention)
    }

    fn batch(&self, rows: Vec<Vec<u32>>, sequences: Sequences) -> Result<CandleBatch, NnError> {
        CandleBatch::new(&self.device, rows, &sequences)
    }

    fn embed(
        &self,
        (): &mut (),
        batch: &CandleBatch,
        tables: &[Tensor],
        norm: &CandleNorm,
        placement: NormPlacement,
    ) -> Result<Stream<Tensor>, NnError> {
        let sum = batch.embed(tables)?;
        let normed = norm.forward(&sum)?;
        Ok(Stream::placed(sum, normed, placement))
    }

    fn project(
        &self,
        (): &mut (),
        x: &Tensor,
        layer: &CandleLinear,
        activation: Activation,
    ) -> Result<Tensor, NnError> {
        Ok(layer.forward(x, activation)?)
    }

    fn gate(
        &self,
        (): &mut (),
        x: &Tensor,
        [activated, linear]: &[CandleLinear; 2],
        activation: Activation,
    ) -> Result<Tensor, NnError> {
        Ok(activated.forward(x, activation)?.mul(&linear.forward(x, Activation::Identity)?)?)
    }

    fn put_prefix(
        &self,
        (): &mut (),
        qkv: Tensor,
        batch: &CandleBatch,
        attention: &CandleAttention,
        prefix: Prefix<'_, Tensor>,
    ) -> Result<Tensor, NnError> {
        attention.put_prefix(&qkv, batch, prefix)
    }

    fn attend(
        &self,
        (): &mut (),
        qkv: Tensor,
        batch: &CandleBatch,
        attention: &CandleAttention,
        head_norms: Option<&[CandleNorm; 2]>,
    ) -> Result<Tensor, NnError> {
        attention.forward(&qkv, batch, head_norms, |weights, _| Ok(weights))
    }

    fn close(
        &self,
        (): &mut (),
        x: Tensor,
        Closing { layer, inner_norm, norm, placement }: Closing<'_, CandleLinear, CandleNorm>,
        residual: Tensor,
    ) -> Result<Stream<Tensor>, NnError> {
        let mut x = layer.forward(&x, Activation::Identity)?;
        if let Some(norm) = inner_norm {
            x = norm.forward(&x)?;
        }
        let sum = x.add(&residual)?;
        let Some(norm) = norm else { return Ok(sum.into()) };
        let normed = norm.forward(&sum)?;
        Ok(Stream::placed(sum, normed, placement))
    }

    fn normalize(&self, (): &mut (), x: Tensor, norm: &CandleNorm) -> Result<Tensor, NnError> {
        norm.forward(&x)
    }

    fn pool(
        &self,
        (): &mut (),
        x: &Tensor,
        batch: &CandleBatch,
        poolings: &[Pooling],
        skipped: usize,
    ) -> Result<Tensor, NnError> {
        Ok(pool::pool(x, batch, poolings, skipped)?)
    }

    fn truncate(&self, (): &mut (), x: Tensor, width: usize) -> Result<Tensor, NnError> {
        Ok(x.narrow(1, 0, width)?.contiguous()?)
    }

    fn unit(&self, (): &mut (), x: Tensor) -> Result<Tensor, NnError> {
        // The least square is under the root: the root's gradient at zero is infinite.
        let square = x.sqr()?.sum_keepdim(1)?.maximum(SHORTEST * SHORTEST)?;
        Ok(x.broadcast_div(&square.sqrt()?)?)
    }

    fn to_host(&self, (): &mut (), x: Tensor, host: &mut Vec<f32>) -> Result<(), NnError> {
        host.extend(x.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?);
        Ok(())
    }
}
