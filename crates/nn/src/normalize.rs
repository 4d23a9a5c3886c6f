//! Unit length.

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};

use crate::custom_op::contiguous_f32;
use crate::profile::{Operation, timer};

/// A row shorter than this is divided by it instead of by its length, as PyTorch's `normalize` does.
const SHORTEST: f64 = 1e-12;

/// Scales each row of `x` `[rows, width]` to unit Euclidean length; the length is accumulated in f64.
///
/// # Errors
/// When `x` is no contiguous f32 tensor of two dimensions on the CPU.
pub fn normalize(x: &Tensor) -> Result<Tensor> {
    x.dims2()?;
    x.apply_op1_no_bwd(&Normalize)
}

struct Normalize;

impl CustomOp1 for Normalize {
    fn name(&self) -> &'static str {
        "normalize"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let _timer = timer(Operation::Pooling, 0);
        let mut out = contiguous_f32("normalize", x, layout)?.to_vec();
        let (_, width) = layout.shape().dims2()?;
        for row in out.chunks_exact_mut(width.max(1)) {
            let square: f64 = row.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
            let length = square.sqrt().max(SHORTEST);
            row.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
        }
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Tensor};

    use super::normalize;

    #[test]
    fn unit_length_and_zero_stays_zero() -> candle_core::Result<()> {
        let x = Tensor::new(&[[3_f32, 4.0], [0.0, 0.0], [1e-30, 0.0]], &Device::Cpu)?;
        assert_eq!(normalize(&x)?.to_vec2::<f32>()?, [[0.6, 0.8], [0.0, 0.0], [1e-18, 0.0]]);
        Ok(())
    }
}
