//! What candle's custom operations on the CPU have in common.

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, Layout, Result, bail};

/// The values of a contiguous f32 tensor.
pub(crate) fn contiguous_f32<'a>(name: &str, storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let CpuStorage::F32(values) = storage else {
        bail!("{name} takes f32 on the CPU, not {:?}", storage.dtype());
    };
    let Some((start, end)) = layout.contiguous_offsets() else {
        bail!("{name} takes contiguous tensors, not strides {:?}", layout.stride());
    };
    Ok(&values[start..end])
}
