//! A hint to the cache.

/// Asks for the cache line of `at`, which need not be valid, to be brought to the first level.
#[inline(always)]
pub fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64; a prefetch does not fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
    // SAFETY: a prefetch does not fault, and changes nothing that a program sees. (Its intrinsic is not
    // stable.)
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = at;
}
