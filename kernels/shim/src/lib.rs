//! The CUDA kernels on the CPU: the shim of `kernels/shim` executes their sources, a block's threads in lockstep, and checks what they do.
//! For tests: it is slow.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

unsafe extern "C" {
    fn toller_shim_allocate(bytes: usize) -> *mut c_void;
    fn toller_shim_free(memory: *mut c_void);
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

/// Memory that kernels may touch: `bytes` of it, aligned to 256, all 0xff.
///
/// # Panics
/// When the system has none.
#[must_use]
pub fn allocate(bytes: usize) -> *mut u8 {
    // SAFETY: asks for memory alone.
    let memory = unsafe { toller_shim_allocate(bytes) };
    assert!(!memory.is_null(), "no memory for {bytes} bytes");
    memory.cast()
}

/// Gives memory back.
///
/// # Safety
/// `memory` is of [`allocate`], and is not used again.
pub unsafe fn free(memory: *mut u8) {
    // SAFETY: promised by the caller.
    unsafe { toller_shim_free(memory.cast()) };
}

/// Runs a kernel to its end, all blocks of `grid` one after the other.
///
/// # Errors
/// What the kernel did wrong, and where: memory that is not its own, a barrier that not all threads reach, a race.
///
/// # Safety
/// One launch at a time in the process; `argument` holds the kernel's structure, and its pointers are of [`allocate`].
pub unsafe fn launch(
    kernel: &str,
    argument: &[u8],
    grid: [u32; 2],
    threads: u32,
    shared_bytes: u32,
) -> Result<(), String> {
    let name = CString::new(kernel).map_err(|error| error.to_string())?;
    let mut error: [c_char; ERROR_BYTES] = [0; ERROR_BYTES];
    // The structure holds pointers, which want to be aligned.
    let mut aligned = vec![0_u64; argument.len().div_ceil(size_of::<u64>())];
    // SAFETY: there is room for the argument.
    unsafe { aligned.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(argument.as_ptr(), argument.len()) };
    // SAFETY: promised by the caller; the text is ended by a zero byte.
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
    // SAFETY: as above.
    Err(unsafe { CStr::from_ptr(error.as_ptr()) }.to_string_lossy().into_owned())
}
