// Products of a warpgroup: asynchronous, both operands from shared memory (sm_90a).
//
// 64 rows times 192 columns at once, 32 bytes deep. The sums have the layout of mma.sync: warp w of
// the warpgroup has rows 16 w to 16 w + 15, and c[n] is its fragment of columns 8 n to 8 n + 7.
#pragma once

#include <stdint.h>

// Describes a matrix in shared memory to wgmma (PTX ISA, "Matrix descriptor format"): rows of 128 bytes,
// swizzled by 128 bytes, that begin at a multiple of 1,024. Adding 2 moves it on by 32 bytes of every row.
__device__ inline uint64_t matrix_descriptor(uint32_t address) {
    constexpr uint64_t UNIT = 16, EIGHT_ROWS = 8 * 128, SWIZZLED_BY_128 = 1;
    // The leading dimension's offset, bits 16 to 29, is not used for this layout.
    return (address & 0x3ffff) / UNIT | uint64_t{1} << 16 | EIGHT_ROWS / UNIT << 32 | SWIZZLED_BY_128 << 62;
}

#ifdef TOLLER_SHIM
#include "../shim/device.h"
#else

// Orders what the thread did to shared memory by ordinary means before what wgmma and bulk copies do after a barrier.
__device__ inline void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Makes the sums in registers ready for the products that follow.
__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Makes one group of the products since the last group.
__device__ inline void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits until at most `PENDING` groups are under way.
template <int PENDING>
__device__ inline void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// Keeps the compiler from reading the sums before the preceding wait.
template <int COLUMNS>
__device__ inline void wgmma_settle(float (&c)[COLUMNS][4]) {
#pragma unroll
    for (int n = 0; n < COLUMNS; ++n) asm volatile("" : "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3])::"memory");
}

template <int COLUMNS>
__device__ inline void wgmma_settle(int32_t (&c)[COLUMNS][4]) {
#pragma unroll
    for (int n = 0; n < COLUMNS; ++n) asm volatile("" : "+r"(c[n][0]), "+r"(c[n][1]), "+r"(c[n][2]), "+r"(c[n][3])::"memory");
}

// C += A B of two described matrices; MORE ends the instruction with the type's scales and transpositions.
#define TOLLER_FOUR(X, N) X(c[N][0]), X(c[N][1]), X(c[N][2]), X(c[N][3])
#define TOLLER_SIXTEEN(X, N)                                                                                           \
    TOLLER_FOUR(X, N), TOLLER_FOUR(X, (N) + 1), TOLLER_FOUR(X, (N) + 2), TOLLER_FOUR(X, (N) + 3)
#define TOLLER_WGMMA(NAME, TYPE, CONSTRAINT, DEPTH, TYPES, MORE)                                                       \
    __device__ inline void NAME(TYPE(&c)[24][4], uint64_t a, uint64_t b) {                                             \
        asm volatile("{.reg .pred always; setp.eq.u32 always, 0, 0; wgmma.mma_async.sync.aligned.m64n192" DEPTH TYPES  \
                     " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                        \
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "                \
                     "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                \
                     "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "                \
                     "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "                \
                     "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}, "               \
                     "%96, %97, always" MORE ";}"                                                                      \
                     : TOLLER_SIXTEEN(CONSTRAINT, 0), TOLLER_SIXTEEN(CONSTRAINT, 4), TOLLER_SIXTEEN(CONSTRAINT, 8),    \
                       TOLLER_SIXTEEN(CONSTRAINT, 12), TOLLER_SIXTEEN(CONSTRAINT, 16), TOLLER_SIXTEEN(CONSTRAINT, 20)  \
                     : "l"(a), "l"(b));                                                                                \
    }
TOLLER_WGMMA(wgmma_f16, float, "+f", "k16", ".f32.f16.f16", ", 1, 1, 0, 0")
TOLLER_WGMMA(wgmma_bf16, float, "+f", "k16", ".f32.bf16.bf16", ", 1, 1, 0, 0")
TOLLER_WGMMA(wgmma_tf32, float, "+f", "k8", ".f32.tf32.tf32", ", 1, 1")
TOLLER_WGMMA(wgmma_int8, int32_t, "+r", "k32", ".s32.s8.s8", "")
#undef TOLLER_WGMMA
#undef TOLLER_SIXTEEN
#undef TOLLER_FOUR

#endif
