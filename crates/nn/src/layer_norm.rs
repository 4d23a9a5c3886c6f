//! Layer normalisation.

use candle_core::{CpuStorage, CustomOp1, DType, Layout, Result, Shape, Tensor, bail};

use crate::cpu::layer_norm::LayerNorm as CpuLayerNorm;
use crate::custom_op::contiguous_f32;
use crate::profile::{Operation, timer};
use toller_simd as simd;

/// Layer normalisation over the last dimension (Ba et al. 2016, equation 4).
#[derive(Clone)]
pub struct LayerNorm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl LayerNorm {
    /// With `weight` and `bias` `[width]`.
    ///
    /// # Errors
    /// When the shapes do not agree.
    pub fn new(weight: &Tensor, bias: &Tensor, epsilon: f64) -> Result<Self> {
        let width = weight.dims1()?;
        if bias.dims1()? != width || width == 0 {
            bail!("layer norm: weight {:?}, bias {:?}", weight.dims(), bias.dims());
        }
        let values = |tensor: &Tensor| tensor.to_dtype(DType::F32)?.to_vec1();
        Ok(Self { weight: values(weight)?, bias: values(bias)?, epsilon: epsilon as f32 })
    }

    /// Normalises each row of `x` `[rows, width]`.
    ///
    /// # Errors
    /// When `x` has another width or is no contiguous f32 tensor on the CPU.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.apply_op1_no_bwd(&Forward(self))
    }
}

struct Forward<'a>(&'a LayerNorm);

impl CustomOp1 for Forward<'_> {
    fn name(&self) -> &'static str {
        "layer_norm"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let x = contiguous_f32("layer_norm", x, layout)?;
        let Self(LayerNorm { weight, bias, epsilon }) = self;
        if layout.dims().last() != Some(&weight.len()) {
            bail!("layer norm of width {} over {:?}", weight.len(), layout.dims());
        }
        let _timer = timer(Operation::LayerNorm, 0);
        let out = simd::dispatch(CpuLayerNorm { x, weight, bias, epsilon: *epsilon });
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }
}
