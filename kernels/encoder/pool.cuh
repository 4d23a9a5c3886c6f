// From token states to vectors: poolings, the first numbers of rows, unit length.
#pragma once

#include "states.cuh"

// The numbers of a unit, pooled over the states [first, end) of a sequence that begins at `start`.
template <class States>
__device__ inline void pool_unit(float (&to)[UNIT], const toller_pool_args &args, uint32_t pooling, uint32_t unit, uint32_t start,
                                 uint32_t first, uint32_t end) {
    const auto load = [&](float(&x)[UNIT], uint32_t token) {
        States::load(x, chunks_of(row_of(args.x, token, args.stride), args.stride), unit);
    };
#pragma unroll
    for (int i = 0; i < static_cast<int>(UNIT); ++i) to[i] = 0;
    if (first >= end) return;
    if (pooling == TOLLER_POOLING_CLS || pooling == TOLLER_POOLING_LAST_TOKEN) {
        load(to, pooling == TOLLER_POOLING_CLS ? first : end - 1);
        return;
    }
    if (pooling == TOLLER_POOLING_MAX) load(to, first);
    const bool is_weighted = pooling == TOLLER_POOLING_WEIGHTED_MEAN;
    // A thread sums all tokens of a text. So loads take the time, and several are under way at once.
#pragma unroll 8
    for (uint32_t token = first; token < end; ++token) {
        float x[UNIT];
        load(x, token);
        const float weight = is_weighted ? static_cast<float>(token - start + 1) : 1.0f;
#pragma unroll
        for (int i = 0; i < static_cast<int>(UNIT); ++i) {
            to[i] = pooling == TOLLER_POOLING_MAX ? max_or_nan(x[i], to[i]) : __fmaf_rn(weight, x[i], to[i]);
        }
    }
    if (pooling == TOLLER_POOLING_MAX) return;
    const uint64_t count = end - first, skipped = first - start;
    const float divisor = is_weighted                                ? static_cast<float>(count * (2 * skipped + count + 1) / 2)
                          : pooling == TOLLER_POOLING_MEAN_SQRT_LEN ? sqrtf(static_cast<float>(count))
                                                                     : static_cast<float>(count);
#pragma unroll
    for (int i = 0; i < static_cast<int>(UNIT); ++i) to[i] /= divisor;
}

template <class States>
__device__ inline void pool(const toller_pool_args &args) {
    const uint32_t sequence = blockIdx.x, of_row = units(args.width), most = args.out_stride / sizeof(float);
    const auto offsets = global_array(args.offsets, args.sequences + 1ull);
    const uint32_t start = offsets[sequence], end = offsets[sequence + 1], first = min(start + args.skipped, end);
    const auto out = global_array(static_cast<float *>(row_of(static_cast<void *>(args.out), sequence, args.out_stride)), most);
    for (uint32_t at = blockIdx.y * blockDim.x + threadIdx.x; at < args.pooling_count * of_row; at += gridDim.y * blockDim.x) {
        const uint32_t number = at / of_row, unit = at % of_row;
        float x[UNIT];
        pool_unit<States>(x, args, args.poolings[number], unit, start, first, end);
#pragma unroll
        for (uint32_t i = 0; i < UNIT; ++i) {
            if (unit * UNIT + i < args.width) out[number * args.width + unit * UNIT + i] = x[i];
        }
    }
    if (blockIdx.y == 0 && threadIdx.x < most - args.pooling_count * args.width) out[args.pooling_count * args.width + threadIdx.x] = 0;
}

__device__ inline void write_rows(const toller_rows_args &args) {
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    for (uint64_t at = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; at < args.rows; at += warps) {
        const auto from = global_array(static_cast<const float *>(row_of(static_cast<const void *>(args.x), at, args.stride)), args.width);
        const auto to = global_array(static_cast<float *>(row_of(static_cast<void *>(args.out), at, args.out_stride)),
                                     args.out_stride / sizeof(float));
        double length = 1;
        if (args.unit != 0) {
            double squares = 0;
            for (uint32_t i = lane; i < args.width; i += 32) squares += static_cast<double>(from[i]) * from[i];
            // A shorter row is divided by this, as PyTorch does.
            length = fmax(sqrt(warp_sum(squares)), 1e-12);
        }
        for (uint32_t i = lane; i < to.len; i += 32) to[i] = i < args.width ? static_cast<float>(from[i] / length) : 0.0f;
    }
}
