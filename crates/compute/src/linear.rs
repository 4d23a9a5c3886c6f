//! A linear layer with everything that follows it fused.

use candle_core::{CpuStorage, CustomOp1, CustomOp2, DType, Layout, Result, Shape, Tensor, bail};

use crate::activation::Activation;
use crate::cpu::linear::Linear as CpuLinear;
use crate::cpu::tile::Packed;
use crate::custom_op::contiguous_f32;
use crate::profile::{Operation, timer};
use crate::simd::{self, LANES};

/// A linear layer, its weight laid out for the device it runs on.
#[derive(Clone)]
pub struct Linear {
    weight: Packed,
    /// `[out]`, padded with zeros to whole vectors; empty for none.
    bias: Vec<f32>,
}

impl Linear {
    /// A layer with `weight` `[out, in]` and `bias` `[out]`, of any float dtype.
    ///
    /// # Errors
    /// When the shapes do not agree.
    pub fn new(weight: &Tensor, bias: Option<&Tensor>) -> Result<Self> {
        let (columns, depth) = weight.dims2()?;
        let weight = Packed::new(&weight.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?, columns, depth);
        let mut padded = Vec::new();
        if let Some(bias) = bias {
            if bias.dims1()? != columns {
                bail!("a bias of {:?} for a weight of {columns} rows", bias.dims());
            }
            padded = bias.to_dtype(DType::F32)?.to_vec1()?;
            padded.resize(columns.next_multiple_of(LANES), 0.0);
        }
        Ok(Self { weight, bias: padded })
    }

    /// `activation(x * weight^T + bias)`: `x` `[rows, in]`, the result `[rows, out]`.
    ///
    /// # Errors
    /// When `x` has another shape or is no contiguous f32 tensor on the CPU.
    pub fn forward(&self, x: &Tensor, activation: Activation) -> Result<Tensor> {
        x.apply_op1_no_bwd(&Fused { layer: self, activation })
    }

    /// `x * weight^T + bias + residual`: `residual` and the result are `[rows, out]`.
    ///
    /// # Errors
    /// As for [`Linear::forward`], and when `residual` has another shape.
    pub fn forward_add(&self, x: &Tensor, residual: &Tensor) -> Result<Tensor> {
        x.apply_op2_no_bwd(residual, &Fused { layer: self, activation: Activation::Identity })
    }
}

/// The operation as candle sees it.
struct Fused<'a> {
    layer: &'a Linear,
    activation: Activation,
}

impl Fused<'_> {
    fn run(&self, x: &[f32], layout: &Layout, residual: Option<&[f32]>) -> Result<(CpuStorage, Shape)> {
        let (rows, depth) = layout.shape().dims2()?;
        let weight = &self.layer.weight;
        if depth != weight.depth {
            bail!("linear: input of width {depth}, weight of depth {}", weight.depth);
        }
        if residual.is_some_and(|residual| residual.len() != rows * weight.columns) {
            bail!("linear: the residual is not [{rows}, {}]", weight.columns);
        }
        let _timer = timer(Operation::Linear, 2 * rows * depth * weight.columns);
        let kernel =
            CpuLinear { x, rows, weight, bias: &self.layer.bias, residual, activation: self.activation };
        Ok((CpuStorage::F32(simd::dispatch(kernel)), Shape::from((rows, weight.columns))))
    }
}

impl CustomOp1 for Fused<'_> {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        self.run(contiguous_f32("linear", x, layout)?, layout, None)
    }
}

impl CustomOp2 for Fused<'_> {
    fn name(&self) -> &'static str {
        "linear_add"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        l1: &Layout,
        residual: &CpuStorage,
        l2: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let residual = contiguous_f32("linear_add", residual, l2)?;
        self.run(contiguous_f32("linear_add", x, l1)?, l1, Some(residual))
    }
}
