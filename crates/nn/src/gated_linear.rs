//! A gated linear layer.

use candle_core::{CpuStorage, CustomOp1, DType, Layout, Result, Shape, Tensor, bail};

use crate::activation::Activation;
use crate::cpu::gated_linear::{GatedLinear as CpuGatedLinear, interleave};
use crate::cpu::weight::Weight;
use crate::custom_op::contiguous_f32;
use crate::linear::check_depth;
use crate::precision::Precision;
use crate::profile::{Operation, timer};
use toller_simd::{Isa, LANES};

/// A gated linear unit, `activation(x A^T + a) * (x B^T + b)` element by element (Dauphin et al. 2017; Shazeer
/// 2020, section 2): with the activation GELU it is GeGLU, with SiLU SwiGLU, with the sigmoid GLU.
#[derive(Clone)]
pub struct GatedLinear {
    weight: Weight,
    /// Empty for none.
    bias: Vec<f32>,
    columns: usize,
}

impl GatedLinear {
    /// A layer with two halves, each a weight `[out, in]` and perhaps a bias `[out]` of any float dtype: the
    /// one that is activated, and the one that is not. It multiplies in `precision`.
    ///
    /// # Errors
    /// When the shapes do not agree, and as for [`crate::Linear::in_precision`].
    pub fn new(
        activated: (&Tensor, Option<&Tensor>),
        linear: (&Tensor, Option<&Tensor>),
        precision: Precision,
    ) -> Result<Self> {
        let (columns, depth) = activated.0.dims2()?;
        check_depth(depth, precision)?;
        if linear.0.dims2()? != (columns, depth) || activated.1.is_some() != linear.1.is_some() {
            bail!("gated linear: halves {:?} and {:?}", activated.0.dims(), linear.0.dims());
        }
        let values = |tensor: &Tensor| tensor.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>();
        let rows = interleave(&values(activated.0)?, &values(linear.0)?, columns, depth);
        let bias = match (activated.1, linear.1) {
            (Some(activated), Some(linear))
                if activated.dims1()? == columns && linear.dims1()? == columns =>
            {
                interleave(&values(activated)?, &values(linear)?, columns, 1)
            }
            (None, None) => Vec::new(),
            _ => bail!("gated linear: biases that are not [{columns}]"),
        };
        let width = columns.next_multiple_of(LANES) * 2;
        Ok(Self { weight: Weight::new(&rows, width, depth, precision), bias, columns })
    }

    /// `x` `[rows, in]`, the result `[rows, out]`.
    ///
    /// # Errors
    /// When `x` has another shape or is no contiguous f32 tensor on the CPU.
    pub fn forward(&self, x: &Tensor, activation: Activation) -> Result<Tensor> {
        x.apply_op1_no_bwd(&Forward { layer: self, activation })
    }
}

struct Forward<'a> {
    layer: &'a GatedLinear,
    activation: Activation,
}

impl CustomOp1 for Forward<'_> {
    fn name(&self) -> &'static str {
        "gated_linear"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let x = contiguous_f32("gated_linear", x, layout)?;
        let (rows, depth) = layout.shape().dims2()?;
        let GatedLinear { weight, bias, columns } = self.layer;
        if depth != weight.depth() {
            bail!("gated linear: input of width {depth}, weight of depth {}", weight.depth());
        }
        let _timer = timer(Operation::Linear, 4 * rows * depth * columns);
        let (activation, columns) = (self.activation, *columns);
        let out = CpuGatedLinear { x, rows, weight, bias, activation, columns }.on(Isa::active());
        Ok((CpuStorage::F32(out), Shape::from((rows, columns))))
    }
}
