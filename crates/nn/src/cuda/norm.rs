//! Norms on a GPU: of states, of a sum, and before a residual.

use toller_gpu::Address;

use super::number::{Number, UNIT};
use super::{Cuda, CudaNorm, CudaScratch, CudaStates, abi};
use crate::cpu::check_width;
use crate::{NnError, NormPlacement, Stream};

impl Cuda {
    /// Normalises `x` into `out`, which may be the same; of another type, with `keeps`, also in place.
    pub(super) fn normalize_into(
        &self,
        x: &CudaStates,
        out: &CudaStates,
        norm: &CudaNorm,
        keeps: bool,
    ) -> Result<(), NnError> {
        check_width("a norm", x.width.next_multiple_of(UNIT), norm.padded_width())?;
        let args = abi::Normalize {
            x: x.address(),
            out: out.address(),
            wide: if keeps { x.address() } else { Address::default() },
            norm: norm.argument(),
            rows: x.rows as u32,
            width: x.width as u32,
            stride: x.stride() as u32,
            out_stride: out.stride() as u32,
            ..abi::Normalize::default()
        };
        // SAFETY: both states have the same shape, and the norm their width; of different types, `x` is f32
        // and `out` bf16.
        unsafe { self.kernels.normalize(x.number, out.number, args)? };
        Ok(())
    }

    /// Normalises `x` in place, and adds a residual of its shape and its type, or of the backend's.
    pub(super) fn normalize_and_add(
        &self,
        x: &CudaStates,
        norm: &CudaNorm,
        residual: &CudaStates,
    ) -> Result<(), NnError> {
        check_width("a norm", x.width.next_multiple_of(UNIT), norm.padded_width())?;
        let args = abi::Normalize {
            x: x.address(),
            out: x.address(),
            residual: residual.address(),
            norm: norm.argument(),
            rows: x.rows as u32,
            width: x.width as u32,
            stride: x.stride() as u32,
            out_stride: x.stride() as u32,
            residual_stride: residual.stride() as u32,
            residual_is_bf16: u32::from(residual.number == Number::Bf16),
            ..abi::Normalize::default()
        };
        // SAFETY: the residual has the shape of `x`, as `close` checks, and the norm its width. A residual of
        // another type is of bf16: only sums in bf16 are wider than residuals.
        unsafe { self.kernels.normalize(x.number, x.number, args)? };
        Ok(())
    }

    /// A sum and its norm, as the next half of a layer takes them.
    pub(super) fn place_norm(
        &self,
        scratch: &mut CudaScratch,
        sum: CudaStates,
        norm: &CudaNorm,
        placement: NormPlacement,
    ) -> Result<Stream<CudaStates>, NnError> {
        let is_residual = placement == NormPlacement::After;
        if is_residual && sum.number == self.number {
            self.normalize_into(&sum, &sum, norm, false)?;
            return Ok(sum.into());
        }
        let normed = scratch.take(sum.rows, sum.width, self.number)?;
        self.normalize_into(&sum, &normed, norm, is_residual)?;
        Ok(Stream { residual: sum, normed: Some(normed) })
    }
}
