//! NVIDIA's matrix product, whose rate ours is compared with: from cuBLAS, if it can be loaded.

use std::any::Any;
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Arc;

use cudarc::cublas::result::{self, CublasError};
use cudarc::cublas::sys;
use cudarc::driver::CudaStream;
use toller_ir::SplitMix64;

use super::driver::CudaDevice;
use super::{Address, Device, Memory};
use crate::error::DeviceError;
use crate::rates::quickest;

/// Rows, columns and depth of the product: 1.1 TFLOP.
const MATRIX: usize = 8192;

/// See [`super::matrix_rate`]. A library that does not work, such as one next to another release of its own
/// parts, has no rate: what is compared with it can still be measured.
pub(super) fn matrix_rate(device: &Arc<dyn Device>) -> Result<Option<f64>, DeviceError> {
    let any: &dyn Any = &**device;
    let Some(gpu) = any.downcast_ref::<CudaDevice>() else { return Ok(None) };
    // Numbers of ordinary data: with zeros, or all the same, multipliers take less power and run faster.
    let values = random_halves(MATRIX * MATRIX);
    let halves = || Memory::<u16>::of(device, &values);
    let (a, b, c) = (halves()?, halves()?, Memory::<f32>::new(device, MATRIX * MATRIX)?);
    let Some(Ok(blas)) = Blas::new(gpu.stream()?) else { return Ok(None) };
    let works = Cell::new(true);
    let seconds = quickest(device, || {
        // SAFETY: all three have MATRIX rows and columns and live until `quickest` has waited.
        let multiplied = unsafe { blas.multiply(MATRIX, a.address(), b.address(), c.address()) };
        works.set(works.get() && multiplied.is_ok());
        Ok(())
    })?;
    Ok(works.get().then(|| 2.0 * (MATRIX as f64).powi(3) / seconds))
}

/// The bits of f16 numbers between 1/2 and 1, of either sign.
fn random_halves(count: usize) -> Vec<u16> {
    let mut random = SplitMix64::new(0);
    (0..count).map(|_| (random.draw() as u16 & 0x83ff) | 0x3800).collect()
}

/// A handle of cuBLAS.
struct Blas(sys::cublasHandle_t);

impl Blas {
    /// A handle for a stream of the thread's current context; `None` if there is no cuBLAS.
    fn new(stream: &CudaStream) -> Option<Result<Self, CublasError>> {
        // SAFETY: loading the library runs its initialization, and nothing else.
        if !unsafe { sys::is_culib_present() } {
            return None;
        }
        Some(result::create_handle().and_then(|handle| {
            let blas = Self(handle);
            // SAFETY: the handle was just created, and the stream is of the current context.
            unsafe { result::set_stream(handle, stream.cu_stream().cast())? };
            Ok(blas)
        }))
    }

    /// `c = a b` of f16 matrices of `n` rows and columns, with f32 sums.
    ///
    /// # Safety
    /// `a` and `b` are the addresses of n * n f16, `c` that of n * n f32; all live until the stream is done.
    unsafe fn multiply(&self, n: usize, a: Address, b: Address, c: Address) -> Result<(), CublasError> {
        let (one, zero) = (1_f32, 0_f32);
        let size = n as i32;
        let pointer = |address: Address| address.0 as *mut c_void;
        // SAFETY: the caller keeps the contract for the matrices; the factors are read before the call
        // returns.
        unsafe {
            result::gemm_ex(
                self.0,
                sys::cublasOperation_t::CUBLAS_OP_T,
                sys::cublasOperation_t::CUBLAS_OP_N,
                size,
                size,
                size,
                (&raw const one).cast(),
                pointer(a),
                sys::cudaDataType::CUDA_R_16F,
                size,
                pointer(b),
                sys::cudaDataType::CUDA_R_16F,
                size,
                (&raw const zero).cast(),
                pointer(c),
                sys::cudaDataType::CUDA_R_32F,
                size,
                sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
                sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
        }
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: `new` created the handle, and this is its last use.
        let _ = unsafe { result::destroy_handle(self.0) };
    }
}
