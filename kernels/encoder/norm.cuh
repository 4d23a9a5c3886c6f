// Embeddings and norms: a warp for each row, whose f32 numbers it keeps in shared memory.
#pragma once

#include "states.cuh"

// A warp's row. Each lane reads only the numbers that it wrote itself, so no barrier is needed.
struct NormRow {
    Shared<Floats4> halves;
    uint32_t width;

    static __device__ NormRow of_warp(uint32_t width) {
        const uint32_t bytes = units(width) * UNIT * sizeof(float);
        return {shared_array<Floats4>(threadIdx.x / 32 * bytes, units(width) * 2), width};
    }

    // The first and the second halves of units are apart: lanes then use different banks.
    __device__ void put(uint32_t unit, const float (&from)[UNIT]) const {
#pragma unroll
        for (uint32_t half = 0; half < 2; ++half) {
            Floats4 four;
#pragma unroll
            for (int i = 0; i < 4; ++i) four.values[i] = from[half * 4 + i];
            halves[half * units(width) + unit] = four;
        }
    }

    __device__ void get(float (&to)[UNIT], uint32_t unit) const {
#pragma unroll
        for (uint32_t half = 0; half < 2; ++half) {
            const Floats4 four = halves[half * units(width) + unit];
#pragma unroll
            for (int i = 0; i < 4; ++i) to[half * 4 + i] = four.values[i];
        }
    }

    // Gives the numbers of the normalised row to `store`, a unit at a time. `sum` is the lane's sum of its numbers.
    template <class Store>
    __device__ void normalized(const toller_norm &norm, float sum, const Store &store) const {
        const uint32_t lane = threadIdx.x % 32;
        // Without the slow paths of exact division and square root, which are calls.
        const float inverse = __fdividef(1.0f, static_cast<float>(width));
        const float mean = norm.centers != 0 ? warp_total(sum) * inverse : 0.0f;
        float squares = 0;
        for (uint32_t unit = lane; unit < units(width); unit += 32) {
            float x[UNIT];
            get(x, unit);
#pragma unroll
            for (uint32_t i = 0; i < UNIT; ++i) {
                const float difference = unit * UNIT + i < width ? x[i] - mean : 0.0f;
                squares = __fmaf_rn(difference, difference, squares);
            }
        }
        const float scale = rsqrtf(__fmaf_rn(warp_total(squares), inverse, norm.epsilon));
        const auto weights = chunks_of(norm.weight, units(width) * UNIT * 4), biases = chunks_of(norm.bias, units(width) * UNIT * 4);
        for (uint32_t unit = lane; unit < units(width); unit += 32) {
            float x[UNIT], weight[UNIT], bias[UNIT];
            get(x, unit);
            StatesF32::load(weight, weights, unit);
            StatesF32::load(bias, biases, unit);
#pragma unroll
            for (int i = 0; i < static_cast<int>(UNIT); ++i) x[i] = __fmaf_rn((x[i] - mean) * scale, weight[i], bias[i]);
            store(unit, x);
        }
    }

    template <class States>
    __device__ void write(const toller_norm &norm, float sum, Global<Chunk> out) const {
        normalized(norm, sum, [&](uint32_t unit, const float (&x)[UNIT]) { States::store(out, unit, x); });
    }
};

template <class States>
__device__ inline void embed(const toller_embed_args &args) {
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    const auto row = NormRow::of_warp(args.width);
    const uint32_t table_stride = units(args.width) * UNIT * sizeof(float);
    for (uint64_t token = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; token < args.tokens; token += warps) {
        float sum = 0;
        for (uint32_t unit = lane; unit < units(args.width); unit += 32) {
            float x[UNIT] = {};
            for (uint32_t table = 0; table < args.table_count; ++table) {
                const uint32_t of_table = global_array(args.rows[table], args.tokens)[token];
                float more[UNIT];
                StatesF32::load(more, chunks_of(row_of(args.tables[table], of_table, table_stride), table_stride), unit);
#pragma unroll
                for (int i = 0; i < static_cast<int>(UNIT); ++i) x[i] += more[i];
            }
#pragma unroll
            for (int i = 0; i < static_cast<int>(UNIT); ++i) sum += x[i];
            row.put(unit, x);
        }
        row.write<States>(args.norm, sum, chunks_of(row_of(args.out, token, args.stride), args.stride));
    }
}

// Reads a row for a norm. Returns the lane's sum of its numbers.
template <class States>
__device__ inline float read_row(const NormRow &row, Global<const Chunk> from) {
    float sum = 0;
    for (uint32_t unit = threadIdx.x % 32; unit < units(row.width); unit += 32) {
        float x[UNIT];
        States::load(x, from, unit);
#pragma unroll
        for (int i = 0; i < static_cast<int>(UNIT); ++i) sum += x[i];
        row.put(unit, x);
    }
    return sum;
}

template <class States>
__device__ inline void normalize(const toller_norm_args &args) {
    const uint32_t warps = gridDim.x * (blockDim.x / 32);
    const auto row = NormRow::of_warp(args.width);
    for (uint64_t at = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; at < args.rows; at += warps) {
        const float sum = read_row<States>(row, chunks_of(row_of(args.x, at, args.stride), args.stride));
        row.write<States>(args.norm, sum, chunks_of(row_of(args.out, at, args.out_stride), args.out_stride));
    }
}

// Norms of f32 sums: the results in bf16 are what is multiplied next, and those in f32 the next residual.
__device__ inline void normalize_wide(const toller_norm_args &args) {
    const uint32_t warps = gridDim.x * (blockDim.x / 32);
    const auto row = NormRow::of_warp(args.width);
    for (uint64_t at = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; at < args.rows; at += warps) {
        const float sum = read_row<StatesF32>(row, chunks_of(row_of(args.x, at, args.stride), args.stride));
        const auto out = chunks_of(row_of(args.out, at, args.out_stride), args.out_stride);
        if (args.wide == nullptr) {
            row.write<StatesBf16>(args.norm, sum, out);
            continue;
        }
        const auto wide = chunks_of(row_of(args.wide, at, args.stride), args.stride);
        row.normalized(args.norm, sum, [&](uint32_t unit, const float (&x)[UNIT]) {
            StatesBf16::store(out, unit, x);
            StatesF32::store(wide, unit, x);
        });
    }
}
