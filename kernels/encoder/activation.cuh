// Activation functions.
#pragma once

#include "states.cuh"

__device__ inline float activated(uint32_t activation, float x) {
    switch (activation) {
    case TOLLER_ACTIVATION_GELU: return 0.5f * x * (1.0f + erff(x * 0.70710678f));
    case TOLLER_ACTIVATION_GELU_TANH: return 0.5f * x * (1.0f + tanhf(0.79788456f * __fmaf_rn(0.044715f * x * x, x, x)));
    case TOLLER_ACTIVATION_RELU: return fmaxf(x, 0.0f);
    case TOLLER_ACTIVATION_SILU: return x / (1.0f + expf(-x));
    case TOLLER_ACTIVATION_TANH: return tanhf(x);
    case TOLLER_ACTIVATION_SIGMOID: return 1.0f / (1.0f + expf(-x));
    default: return x;
    }
}

__device__ inline void activate(uint32_t activation, float (&x)[UNIT]) {
    if (activation == TOLLER_ACTIVATION_IDENTITY) return;
#pragma unroll
    for (int i = 0; i < static_cast<int>(UNIT); ++i) x[i] = activated(activation, x[i]);
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
            activate(args.activation, x);
#pragma unroll
            for (uint32_t i = 0; i < UNIT; ++i) {
                if (unit * UNIT + i >= args.columns) x[i] = 0;
            }
            States::store(chunks_of(at, args.stride), unit, x);
        }
    }
}
