//! The CUDA kernels on the CPU, for tests: the shim executes their sources, a block's threads in turn, and
//! checks what they do. It is slow.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

unsafe extern "C" {
    fn toller_shim_allocate(bytes: usize) -> *mut c_void;
    fn toller_shim_free(memory: *mut c_void);
    fn toller_shim_tensor_map(
        map: *mut c_void,
        matrix: *const c_void,
        row_bytes: u64,
        rows: u64,
        stride: u64,
        box_rows: u32,
    ) -> c_int;
    fn toller_shim_linear_f16(
        x: *const u16,
        weight: *const u16,
        bias: *const u16,
        residual: *const u16,
        out: *mut u16,
        rows: u32,
        outputs: u32,
        depth: u32,
    );
    fn toller_shim_launch(
        kernel: *const c_char,
        args: *const c_void,
        args_bytes: usize,
        grid_x: u32,
        grid_y: u32,
        block_threads: u32,
        shared_bytes: u32,
        error: *mut c_char,
        error_bytes: usize,
    ) -> c_int;
}

/// Bytes of an error's text.
const ERROR_BYTES: usize = 4096;

/// `bytes` bytes of memory that kernels may touch, aligned to 256, all 0xff.
///
/// # Panics
/// When the system does not have this much memory.
#[must_use]
pub fn allocate(bytes: usize) -> *mut u8 {
    // SAFETY: the function only allocates.
    let memory = unsafe { toller_shim_allocate(bytes) };
    assert!(!memory.is_null(), "no memory for {bytes} bytes");
    memory.cast()
}

/// Gives memory back.
///
/// # Safety
/// `memory` comes from [`allocate`], and is not used again.
pub unsafe fn free(memory: *mut u8) {
    // SAFETY: the caller guarantees the memory and its last use.
    unsafe { toller_shim_free(memory.cast()) };
}

/// A tensor map for kernels of the shim: of `rows` rows of `row_bytes` bytes, one after the other, in boxes
/// of `box_rows` rows. `None` for what a GPU cannot describe.
#[must_use]
pub fn tensor_map(matrix: *const u8, rows: u32, row_bytes: u32, box_rows: u32) -> Option<[u64; 16]> {
    let mut map = [0; 16];
    let (row_bytes, rows) = (u64::from(row_bytes), u64::from(rows));
    // SAFETY: the map has the bytes that the function writes, and the matrix is not read.
    let failed = unsafe {
        toller_shim_tensor_map(map.as_mut_ptr().cast(), matrix.cast(), row_bytes, rows, row_bytes, box_rows)
    };
    (failed == 0).then_some(map)
}

/// Runs a kernel to its end, the blocks of `grid` one after another.
///
/// # Errors
/// The kernel's mistake and its place: another's memory, a barrier that not all threads reach, a
/// race.
///
/// # Safety
/// The process has no other launch at the same time. `argument` is the kernel's structure; its
/// pointers come from [`allocate`].
pub unsafe fn launch(
    kernel: &str,
    argument: &[u8],
    grid: [u32; 2],
    threads: u32,
    shared_bytes: u32,
) -> Result<(), String> {
    let name = CString::new(kernel).map_err(|error| error.to_string())?;
    let mut error: [c_char; ERROR_BYTES] = [0; ERROR_BYTES];
    // The structure holds pointers, which must be aligned.
    let mut aligned = vec![0_u64; argument.len().div_ceil(size_of::<u64>())];
    // SAFETY: `aligned` has at least as many bytes as the argument.
    unsafe { aligned.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(argument.as_ptr(), argument.len()) };
    // SAFETY: the caller guarantees the structure and the only launch; the sizes are the buffers' sizes.
    let failed = unsafe {
        toller_shim_launch(
            name.as_ptr(),
            aligned.as_ptr().cast(),
            argument.len(),
            grid[0],
            grid[1],
            threads,
            shared_bytes,
            error.as_mut_ptr(),
            ERROR_BYTES,
        )
    };
    if failed == 0 {
        return Ok(());
    }
    // SAFETY: the shim has ended the text with a zero byte.
    Err(unsafe { CStr::from_ptr(error.as_ptr()) }.to_string_lossy().into_owned())
}

/// The matrices of a linear layer in f16, dense: `x` `[rows, depth]`, `weight` `[outputs, depth]`, `bias`
/// `[outputs]`, `out` and `residual` (or null) `[rows, outputs]`.
#[derive(Clone, Copy, Debug)]
pub struct Linear {
    /// The states.
    pub x: *const u16,
    /// The weight.
    pub weight: *const u16,
    /// The bias.
    pub bias: *const u16,
    /// What is added to the results, or null.
    pub residual: *const u16,
    /// The results.
    pub out: *mut u16,
    /// Rows of the states.
    pub rows: u32,
    /// Rows of the weight.
    pub outputs: u32,
    /// Numbers of a row of the states and of the weight.
    pub depth: u32,
}

/// Computes a linear layer as a library of matrix products does: sums in f32, rounded once.
///
/// # Safety
/// The matrices are where `linear` says, and nothing else uses them meanwhile.
pub unsafe fn multiply(linear: Linear) {
    let Linear { x, weight, bias, residual, out, rows, outputs, depth } = linear;
    // SAFETY: the caller guarantees the matrices.
    unsafe { toller_shim_linear_f16(x, weight, bias, residual, out, rows, outputs, depth) };
}
