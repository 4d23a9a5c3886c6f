// Activation functions.
#pragma once

#include "states.cuh"

// x (1 + erf(x / sqrt 2)) / 2 as max(x, 0) - |x| erfc(|x| / sqrt 2) / 2. The logarithm of the last factor is a
// polynomial, fitted for all x: the largest error is 6.3e-7, a thousandth of what f16 rounds a number near 1 by.
__device__ inline float gelu_approximate(float x) {
    const float a = fabsf(x);
    float power = __fmaf_rn(a, -0.00047329403f, 0.0070844614f);
    power = __fmaf_rn(power, a, -0.05182717f);
    power = __fmaf_rn(power, a, -0.45999265f);
    power = __fmaf_rn(power, a, -1.1507877f);
    power = __fmaf_rn(power, a, -1.0000377f);
    return __fmaf_rn(-a, exp2_approximate(power), fmaxf(x, 0.0f));
}

// The numbers of rows of any shape.
template <int COUNT, class Function>
__device__ inline void each(float (&x)[COUNT], Function function) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) x[i] = function(x[i]);
}

template <int ROWS, int COUNT, class Function>
__device__ inline void each(float (&x)[ROWS][COUNT], Function function) {
#pragma unroll
    for (int row = 0; row < ROWS; ++row) each(x[row], function);
}

// The choice is made once for all numbers: the compiler does not move it out of a loop, and then computes them
// one after the other.
template <class States, class Numbers>
__device__ inline void activate(uint32_t activation, Numbers &x) {
    switch (activation) {
    case TOLLER_ACTIVATION_IDENTITY: return;
    case TOLLER_ACTIVATION_GELU:
        return each(x, [](float x) {
            return States::BYTES == 4 ? 0.5f * x * (1.0f + erff(x * 0.70710678f)) : gelu_approximate(x);
        });
    case TOLLER_ACTIVATION_GELU_TANH:
        return each(x, [](float x) { return 0.5f * x * (1.0f + tanhf(0.79788456f * __fmaf_rn(0.044715f * x * x, x, x))); });
    case TOLLER_ACTIVATION_RELU: return each(x, [](float x) { return max_or_nan(x, 0.0f); });
    case TOLLER_ACTIVATION_SILU: return each(x, [](float x) { return x / (1.0f + expf(-x)); });
    case TOLLER_ACTIVATION_TANH: return each(x, [](float x) { return tanhf(x); });
    default: return each(x, [](float x) { return 1.0f / (1.0f + expf(-x)); });
    }
}

// Sets what is beyond `columns` to zero, whatever the function of zero is; the unit begins at column `first`.
__device__ inline void clear_padding(float (&x)[UNIT], uint32_t first, uint32_t columns) {
    if (columns % UNIT == 0) return;
#pragma unroll
    for (uint32_t i = 0; i < UNIT; ++i) {
        if (first + i >= columns) x[i] = 0;
    }
}

// Whole rows in place. A warp for each row.
template <class States>
__device__ inline void activate_rows(const toller_activate_args &args) {
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    for (uint64_t row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; row < args.rows; row += warps) {
        void *at = row_of(args.x, row, args.stride);
        const auto from = chunks_of(static_cast<const void *>(at), args.stride);
        for (uint32_t unit = lane; unit < units(args.columns); unit += 32) {
            float x[UNIT];
            States::load(x, from, unit);
            activate<States>(args.activation, x);
            clear_padding(x, unit * UNIT, args.columns);
            States::store(chunks_of(at, args.stride), unit, x);
        }
    }
}
