// Numbers in the forms in which they are stored and compared.
#pragma once

#include "instructions.cuh"

__device__ inline float bf16_to_f32(uint16_t x) { return __uint_as_float(static_cast<uint32_t>(x) << 16); }

// To the nearest number whose lowest `BITS` bits are zero, ties to even. Nothing is infinite.
template <int BITS>
__device__ inline float round_off_bits(float x) {
    const uint32_t bits = __float_as_uint(x);
    const uint32_t half = (1u << (BITS - 1)) - 1;
    return __uint_as_float((bits + half + (bits >> BITS & 1)) & ~((1u << BITS) - 1));
}

// `x`, but the compiler no longer knows what was computed from it.
__device__ inline uint32_t forgotten(uint32_t x) {
#ifdef __CUDA_ARCH__
    asm volatile("" : "+r"(x));
#endif
    return x;
}

// Stored types: a value on disk, and the number that it stands for.
struct StoredF16 {
    using Value = uint16_t;
    static __device__ double widened(Value x) { return f16_to_f32(x); }
};

struct StoredBf16 {
    using Value = uint16_t;
    static __device__ double widened(Value x) { return bf16_to_f32(x); }
};

struct StoredF32 {
    using Value = float;
    static __device__ double widened(Value x) { return x; }
};

// An unsigned number in the order of `x` (total order: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN).
__device__ inline uint32_t ordered_bits(float x) {
    const uint32_t bits = __float_as_uint(x);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

__device__ inline float from_ordered_bits(uint32_t bits) {
    return __uint_as_float(bits >> 31 ? bits & 0x7fffffffu : ~bits);
}

// The next number up and down. NaN stays NaN; an infinity changes only towards zero.
__device__ inline float next_up(float x) {
    const uint32_t bits = __float_as_uint(x);
    if (!(x < __uint_as_float(0x7f800000u))) return x;
    if ((bits & 0x7fffffffu) == 0) return __uint_as_float(1);
    return __uint_as_float(bits >> 31 ? bits - 1 : bits + 1);
}

__device__ inline float next_down(float x) { return -next_up(-x); }

// The larger number, or NaN if one is NaN. (fmaxf drops NaN: what overflowed would pass as finite.)
__device__ inline float max_or_nan(float x, float y) { return x > y || x != x ? x : y; }

// The sum over the warp, in every lane.
template <class Float>
__device__ inline Float warp_sum(Float x) {
    for (int lanes = 16; lanes > 0; lanes /= 2) x += __shfl_xor_sync(0xffffffffu, x, lanes);
    return x;
}

__device__ inline float warp_max(float x) {
    for (int lanes = 16; lanes > 0; lanes /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, lanes));
    return x;
}
