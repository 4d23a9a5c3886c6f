// Instructions of the PTX ISA that C++ cannot express, under plain names. The host shim models each of them.
#pragma once

#include <stdint.h>

#ifdef TOLLER_SHIM
#include "../shim/device.h"
#else

// ---- Asynchronous copies from global to shared memory (sm_80). ----

// Bytes that a copy brings into the second-level cache around its own: 64, 128 or 256. Undefined, the
// hardware decides.
#ifdef TOLLER_L2_PREFETCH
#define TOLLER_TEXT_OF(X) #X
#define TOLLER_L2_SUFFIX(BYTES) ".L2::" TOLLER_TEXT_OF(BYTES) "B"
#define TOLLER_CP_ASYNC "cp.async.cg.shared.global" TOLLER_L2_SUFFIX(TOLLER_L2_PREFETCH)
#else
#define TOLLER_CP_ASYNC "cp.async.cg.shared.global"
#endif

// Copies 16 bytes if they are `present`; else writes 16 zeros and does not read `from`.
__device__ inline void cp_async_16(uint32_t to, const void *from, bool present) {
    const int bytes = present ? 16 : 0;
    asm volatile(TOLLER_CP_ASYNC " [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

// Makes one group of the copies since the last group.
__device__ inline void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most `PENDING` of the thread's groups are still being copied.
template <int PENDING>
__device__ inline void cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// ---- Matrix fragments (sm_80): 16 rows of 32 bytes of A, 8 rows of 32 bytes of B, 16 x 8 values of C. ----

// Four (two) matrices of 8 rows of 16 bytes; lane 8 i + r gives the address of row r of matrix i.
__device__ inline void ldmatrix_x4(uint32_t (&to)[4], uint32_t row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}

__device__ inline void ldmatrix_x2(uint32_t (&to)[2], uint32_t row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"(row)
                 : "memory");
}

// Four matrices of 8 rows of 8 numbers of two bytes, each transposed.
__device__ inline void ldmatrix_x4_transposed(uint32_t (&to)[4], uint32_t row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}

// C += A B, 32 bytes deep: 16 values of f16 or bf16, 8 of tf32, 32 of int8.
#define TOLLER_MMA(NAME, TYPE, CONSTRAINT, INSTRUCTION)                                                                \
    __device__ inline void NAME(TYPE(&c)[4], const uint32_t(&a)[4], const uint32_t(&b)[2]) {                           \
        asm volatile(INSTRUCTION " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                    \
                     : CONSTRAINT(c[0]), CONSTRAINT(c[1]), CONSTRAINT(c[2]), CONSTRAINT(c[3])                          \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                              \
    }
TOLLER_MMA(mma_f16, float, "+f", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
TOLLER_MMA(mma_bf16, float, "+f", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
TOLLER_MMA(mma_tf32, float, "+f", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
TOLLER_MMA(mma_int8, int32_t, "+r", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
#undef TOLLER_MMA

// 2^x with an error of 2^-22 of the result; what is subnormal becomes zero.
__device__ inline float exp2_approximate(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// ---- Conversions. ----

__device__ inline float f16_to_f32(uint16_t x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
}

// To the nearest, ties to even.
__device__ inline uint16_t f32_to_f16(float x) {
    uint16_t y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}

// Two numbers in one word, the first in its low half; to the nearest, ties to even.
__device__ inline uint32_t f32_to_f16x2(float low, float high) {
    uint32_t y;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
    return y;
}

__device__ inline uint32_t f32_to_bf16x2(float low, float high) {
    uint32_t y;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
    return y;
}

// To the nearest tf32, ties away from zero.
__device__ inline uint32_t f32_to_tf32(float x) {
    uint32_t y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return y;
}

#endif
