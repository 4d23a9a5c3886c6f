//! NVIDIA's matrix product, to compare with: from cuBLAS, which is loaded when it is first asked for.

use std::ffi::c_void;

use cudarc::cublas::result::{self, CublasError};
use cudarc::cublas::sys;
use cudarc::driver::CudaStream;

use super::Address;

/// A handle of cuBLAS.
#[derive(Debug)]
pub(crate) struct Blas(sys::cublasHandle_t);

// SAFETY: a handle may be used by any thread, one at a time; its owner keeps it behind a lock.
unsafe impl Send for Blas {}

impl Blas {
    /// A handle for a stream of the current context; `None` where there is no cuBLAS.
    pub(crate) fn new(stream: &CudaStream) -> Option<Result<Self, CublasError>> {
        // SAFETY: loading the library runs its initialization.
        if !unsafe { sys::is_culib_present() } {
            return None;
        }
        Some(result::create_handle().and_then(|handle| {
            let blas = Self(handle);
            // SAFETY: the handle is there, and the stream is of the current context.
            unsafe { result::set_stream(handle, stream.cu_stream().cast())? };
            Ok(blas)
        }))
    }

    /// `c = a b` of f16 matrices of `n` rows and columns, with f32 sums.
    ///
    /// # Safety
    /// `a` and `b` are of n * n f16, `c` of as many f32, and live until the stream is done.
    pub(crate) unsafe fn multiply(
        &self,
        n: usize,
        a: Address,
        b: Address,
        c: Address,
    ) -> Result<(), CublasError> {
        let (one, zero) = (1_f32, 0_f32);
        let size = n as i32;
        let pointer = |address: Address| address.0 as *mut c_void;
        // SAFETY: promised by the caller; the factors are read before the call returns.
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
        // SAFETY: made by `new`, used no more.
        let _ = unsafe { result::destroy_handle(self.0) };
    }
}
