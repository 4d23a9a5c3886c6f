//! NVIDIA's linear layers, which ours are compared with in place: from cuBLASLt, if it can be loaded.
//!
//! Matrices by rows are, for the library, transposed matrices by columns: `out^T = weight x^T`.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

use cudarc::cublaslt::result::{self, CublasError};
use cudarc::cublaslt::sys::{
    self, cublasLtMatmulDescAttributes_t as Of, cublasLtMatmulPreferenceAttributes_t as Prefer,
};
use cudarc::driver::{CudaContext, CudaStream, result as driver};

use super::LibraryProduct;
use crate::error::DeviceError;

/// What the library's fastest products on Hopper need, by its manual.
const WORKSPACE_BYTES: usize = 32 << 20;

/// Algorithms are chosen for this many rows, about what fills a GPU, and are kept for every other number: a
/// row's sums should not depend on its batch.
const ROWS: u64 = 16_384;

/// `CUBLAS_OP_T`, which is cuBLAS's.
const TRANSPOSED: u32 = cudarc::cublas::sys::cublasOperation_t::CUBLAS_OP_T as u32;

/// What matrices are aligned to at least.
const ALIGNMENT: u32 = 16;

/// An opened library. One thread at a time calls it.
#[derive(Debug)]
pub(super) struct BlasLt {
    context: Arc<CudaContext>,
    handle: sys::cublasLtHandle_t,
    workspace: u64,
    /// By outputs, depth, and whether there is a residual.
    algorithms: HashMap<(u32, u32, bool), sys::cublasLtMatmulAlgo_t>,
}

// SAFETY: the manual allows every thread to use a handle; `&mut self` makes it one at a time.
unsafe impl Send for BlasLt {}

/// A description that the library made, destroyed after its use.
struct Owned<T: Copy>(T, unsafe fn(T) -> Result<(), CublasError>);

impl<T: Copy> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: the library made it, and this is its last use.
        let _ = unsafe { (self.1)(self.0) };
    }
}

impl BlasLt {
    /// Opens the library for the thread's current context, that of the device `name`.
    pub(super) fn open(context: &Arc<CudaContext>, name: &str) -> Result<Self, DeviceError> {
        // SAFETY: loading the library runs its initialization, and nothing else.
        if !unsafe { sys::is_culib_present() } {
            let what = "this choice of kernels";
            return Err(DeviceError::NoLibrary { what, library: "libcublasLt.so.13" });
        }
        let handle = result::create_handle().map_err(|error| failed(name, error))?;
        let mut opened = Self { context: context.clone(), handle, workspace: 0, algorithms: HashMap::new() };
        // SAFETY: only the library writes and reads this memory.
        let workspace = unsafe { driver::malloc_sync(WORKSPACE_BYTES) };
        let workspace = workspace.map_err(|error| DeviceError::Failed {
            name: name.to_owned(),
            call: "the workspace of cuBLASLt".to_owned(),
            message: format!("{:?}", error.0),
            code: error.0 as u32,
        })?;
        opened.workspace = workspace;
        Ok(opened)
    }

    /// Queues a product.
    ///
    /// # Safety
    /// The matrices are as [`LibraryProduct`] says, and live until the stream is done. The thread's context
    /// is the one of the stream and of [`BlasLt::open`].
    pub(super) unsafe fn multiply(
        &mut self,
        product: &LibraryProduct,
        stream: &CudaStream,
        name: &str,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller keeps the contract for the matrices.
        unsafe { self.queue(product, stream) }.map_err(|error| failed(name, error))
    }

    /// # Safety
    /// As for [`BlasLt::multiply`].
    unsafe fn queue(&mut self, product: &LibraryProduct, stream: &CudaStream) -> Result<(), CublasError> {
        let LibraryProduct { x, weight, bias, residual, out, rows, outputs, depth } = *product;
        let operation = operation(bias.0)?;
        let algorithm = match self.algorithms.get(&(outputs, depth, residual.is_some())) {
            Some(&algorithm) => algorithm,
            None => {
                let algorithm = self.choose(&operation, ROWS, outputs, depth)?;
                self.algorithms.insert((outputs, depth, residual.is_some()), algorithm);
                algorithm
            }
        };
        let [of_weight, of_x, of_out] = layouts(u64::from(rows), outputs, depth)?;
        let (one, of_residual) = (1.0_f32, if residual.is_some() { 1.0_f32 } else { 0.0 });
        let pointer = |address: u64| address as *mut c_void;
        // SAFETY: the caller keeps the contract for the matrices, which the layouts describe. The factors are
        // read before the call returns. The stream does one product after the other, so they share the
        // workspace.
        let multiply = |algorithm| unsafe {
            result::matmul(
                self.handle,
                operation.0,
                (&raw const one).cast(),
                (&raw const of_residual).cast(),
                pointer(weight.0),
                of_weight.0,
                pointer(x.0),
                of_x.0,
                pointer(residual.unwrap_or(out).0),
                of_out.0,
                pointer(out.0),
                of_out.0,
                &raw const algorithm,
                pointer(self.workspace),
                WORKSPACE_BYTES,
                stream.cu_stream().cast(),
            )
        };
        // An algorithm for many rows may not take few.
        multiply(algorithm).or_else(|_| multiply(self.choose(&operation, u64::from(rows), outputs, depth)?))
    }

    /// The library's first choice among algorithms that do not split the depth.
    fn choose(
        &self,
        operation: &Owned<sys::cublasLtMatmulDesc_t>,
        rows: u64,
        outputs: u32,
        depth: u32,
    ) -> Result<sys::cublasLtMatmulAlgo_t, CublasError> {
        let preference = Owned(result::create_matmul_pref()?, result::destroy_matmul_pref);
        let unsplit = sys::cublasLtReductionScheme_t::CUBLASLT_REDUCTION_SCHEME_NONE as u32;
        let set = |attribute, value: &[u8]| {
            // SAFETY: the preference is alive, and the value has the bytes of its attribute.
            unsafe {
                result::set_matmul_pref_attribute(preference.0, attribute, value.as_ptr().cast(), value.len())
            }
        };
        set(Prefer::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &(WORKSPACE_BYTES as u64).to_ne_bytes())?;
        set(Prefer::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &unsplit.to_ne_bytes())?;
        for matrix in [
            Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
            Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
            Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
            Prefer::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
        ] {
            set(matrix, &ALIGNMENT.to_ne_bytes())?;
        }
        let [of_weight, of_x, of_out] = layouts(rows, outputs, depth)?;
        // SAFETY: all descriptions are alive.
        let chosen = unsafe {
            result::get_matmul_algo_heuristic(
                self.handle, operation.0, of_weight.0, of_x.0, of_out.0, of_out.0, preference.0,
            )
        }?;
        Ok(chosen.algo)
    }
}

impl Drop for BlasLt {
    fn drop(&mut self) {
        // The context of a device that has failed gives all memory back.
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: `open` made both, and this is their last use; freeing waits for queued work.
            unsafe {
                let _ = driver::free_sync(self.workspace);
                let _ = result::destroy_handle(self.handle);
            }
        }
    }
}

/// The product of a transposed and a plain matrix with sums in f32, and a bias for each of its rows.
fn operation(bias: u64) -> Result<Owned<sys::cublasLtMatmulDesc_t>, CublasError> {
    let sums = sys::cublasComputeType_t::CUBLAS_COMPUTE_32F;
    let created = result::create_matmul_desc(sums, sys::cudaDataType::CUDA_R_32F)?;
    let operation = Owned(created, result::destroy_matmul_desc);
    let set = |attribute, value: &[u8]| {
        // SAFETY: the description is alive, and the value has the bytes of its attribute.
        unsafe {
            result::set_matmul_desc_attribute(operation.0, attribute, value.as_ptr().cast(), value.len())
        }
    };
    let adds_bias = sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_BIAS as u32;
    set(Of::CUBLASLT_MATMUL_DESC_TRANSA, &TRANSPOSED.to_ne_bytes())?;
    set(Of::CUBLASLT_MATMUL_DESC_EPILOGUE, &adds_bias.to_ne_bytes())?;
    set(Of::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias.to_ne_bytes())?;
    Ok(operation)
}

/// The layouts of weight, states and results of `rows` rows, by columns.
fn layouts(
    rows: u64,
    outputs: u32,
    depth: u32,
) -> Result<[Owned<sys::cublasLtMatrixLayout_t>; 3], CublasError> {
    let layout = |height: u32, width: u64| {
        let halves = sys::cudaDataType::CUDA_R_16F;
        let created = result::create_matrix_layout(halves, u64::from(height), width, i64::from(height))?;
        Ok(Owned(created, result::destroy_matrix_layout))
    };
    Ok([layout(depth, u64::from(outputs))?, layout(depth, rows)?, layout(outputs, rows)?])
}

fn failed(name: &str, error: CublasError) -> DeviceError {
    let call = "cublasLtMatmul".to_owned();
    DeviceError::Failed { name: name.to_owned(), call, message: format!("{:?}", error.0), code: 0 }
}
