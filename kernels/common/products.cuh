// The types that tiles multiply: the instructions of each. All are moved as bytes.
#pragma once

#include "instructions.cuh"
#include "wgmma.cuh"

struct ProductsF16 {
    using Sum = float;

    static __device__ void multiply(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) { mma_f16(c, a, b); }

    template <class Sums>
    static __device__ void multiply_group(Sums &c, uint64_t a, uint64_t b) {
        wgmma_f16(c, a, b);
    }
};

struct ProductsBf16 {
    using Sum = float;

    static __device__ void multiply(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) { mma_bf16(c, a, b); }

    template <class Sums>
    static __device__ void multiply_group(Sums &c, uint64_t a, uint64_t b) {
        wgmma_bf16(c, a, b);
    }
};

// f32 as two tf32 numbers each: three products, which miss the fourth, 2^-22 of the first. What is left of a
// number after its first part is cut to tf32.
struct ProductsSplit {
    using Sum = float;

    static __device__ void multiply(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        uint32_t a_high[4], a_low[4], b_high[2], b_low[2];
#pragma unroll
        for (int i = 0; i < 4; ++i) split(a[i], a_high[i], a_low[i]);
#pragma unroll
        for (int i = 0; i < 2; ++i) split(b[i], b_high[i], b_low[i]);
        mma_tf32(c, a_low, b_high);
        mma_tf32(c, a_high, b_low);
        mma_tf32(c, a_high, b_high);
    }

  private:
    static __device__ void split(uint32_t x, uint32_t &high, uint32_t &low) {
        high = f32_to_tf32(__uint_as_float(x));
        low = __float_as_uint(__uint_as_float(x) - __uint_as_float(high)) & 0xffffe000u;
    }
};
