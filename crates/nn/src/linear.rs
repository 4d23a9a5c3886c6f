//! A linear layer with everything that follows it fused.

use candle_core::{CpuStorage, CustomOp1, CustomOp2, DType, Layout, Result, Shape, Tensor, bail};

use crate::activation::Activation;
use crate::cpu::linear::Linear as CpuLinear;
use crate::cpu::weight::{Int8Weight, Weight};
use crate::custom_op::contiguous_f32;
use crate::precision::Precision;
use crate::profile::{Operation, timer};
use toller_simd::{Isa, LANES};

/// A linear layer, its weight laid out for the device it runs on.
#[derive(Clone)]
pub struct Linear {
    weight: Weight,
    /// `[out]`, padded with zeros to whole vectors; empty for none.
    bias: Vec<f32>,
}

impl Linear {
    /// A layer in f32 with `weight` `[out, in]` and `bias` `[out]`, of any float dtype.
    ///
    /// # Errors
    /// When the shapes do not agree or the weight is empty.
    pub fn new(weight: &Tensor, bias: Option<&Tensor>) -> Result<Self> {
        Self::in_precision(weight, bias, Precision::F32)
    }

    /// A layer that multiplies in `precision`; everything that follows the product is f32.
    ///
    /// # Errors
    /// As for [`Linear::new`], and when the weight has more inputs than int8 has sums for.
    pub fn in_precision(weight: &Tensor, bias: Option<&Tensor>, precision: Precision) -> Result<Self> {
        let (columns, depth) = weight.dims2()?;
        check_depth(depth, precision)?;
        let matrix = weight.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?;
        let weight = Weight::new(&matrix, columns, depth, precision);
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

/// Checks that a weight has inputs, and no more of them than its precision can sum over.
pub(crate) fn check_depth(depth: usize, precision: Precision) -> Result<()> {
    if depth == 0 {
        bail!("a weight that takes no input");
    }
    if precision == Precision::Int8 && depth > Int8Weight::LONGEST {
        bail!("int8 sums over {} inputs at most, not {depth}", Int8Weight::LONGEST);
    }
    Ok(())
}

/// The operation as candle sees it.
struct Fused<'a> {
    layer: &'a Linear,
    activation: Activation,
}

impl Fused<'_> {
    fn run(&self, x: &[f32], layout: &Layout, residual: Option<&[f32]>) -> Result<(CpuStorage, Shape)> {
        let (rows, depth) = layout.shape().dims2()?;
        let Linear { weight, bias } = self.layer;
        let columns = weight.columns();
        if depth != weight.depth() {
            bail!("linear: input of width {depth}, weight of depth {}", weight.depth());
        }
        if residual.is_some_and(|residual| residual.len() != rows * columns) {
            bail!("linear: the residual is not [{rows}, {columns}]");
        }
        let _timer = timer(Operation::Linear, 2 * rows * depth * columns);
        let layer = CpuLinear { x, rows, weight, bias, residual, activation: self.activation };
        Ok((CpuStorage::F32(layer.on(Isa::active())), Shape::from((rows, columns))))
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
