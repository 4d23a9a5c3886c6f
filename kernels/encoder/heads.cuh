// Heads in the form that attention takes: padded, queries and keys rotated by their positions (Su et al.
// 2021, equation 34). A warp for each token.
#pragma once

#include "states.cuh"

// The numbers of a head from `column` on, zeros beyond it; `qkv` is the token's row.
template <class States>
__device__ inline void load_head(float (&to)[UNIT], const toller_heads_args &args, const void *qkv, uint32_t part, uint32_t column) {
    const uint32_t first = part * args.head_size + column;
    if (args.head_size % UNIT == 0 && column % UNIT == 0) {
        if (column < args.head_size) {
            States::load(to, chunks_of(qkv, args.stride), first / UNIT);
            return;
        }
    }
#pragma unroll
    for (uint32_t i = 0; i < UNIT; ++i) to[i] = column + i < args.head_size ? States::at(qkv, args.stride, first + i) : 0.0f;
}

// A number of a head after the rotation with its partner, which is half a head away.
__device__ inline float rotated(float x, float partner, bool is_first, float cosine, float sine) {
    const float turned = partner * sine;
    return __fmaf_rn(x, cosine, is_first ? -turned : turned);
}

// Rotates the numbers of a head from `column` on.
template <class States>
__device__ inline void rotate(float (&x)[UNIT], const toller_heads_args &args, const void *qkv, uint32_t part, uint32_t column,
                              uint32_t position) {
    const uint32_t half = args.head_size / 2;
    if (half % UNIT == 0) {
        // All partners, cosines and sines are loaded at once.
        if (column >= args.head_size) return;
        const bool is_first = column < half;
        const uint32_t angle = (is_first ? column : column - half) / UNIT, stride = half * sizeof(float);
        float partners[UNIT], cosines[UNIT], sines[UNIT];
        load_head<States>(partners, args, qkv, part, is_first ? column + half : column - half);
        StatesF32::load(cosines, chunks_of(row_of(static_cast<const void *>(args.cosines), position, stride), stride), angle);
        StatesF32::load(sines, chunks_of(row_of(static_cast<const void *>(args.sines), position, stride), stride), angle);
#pragma unroll
        for (uint32_t i = 0; i < UNIT; ++i) x[i] = rotated(x[i], partners[i], is_first, cosines[i], sines[i]);
        return;
    }
    const auto cosines = global_array(args.cosines, (position + 1ull) * half), sines = global_array(args.sines, (position + 1ull) * half);
#pragma unroll
    for (uint32_t i = 0; i < UNIT; ++i) {
        const uint32_t at = column + i;
        if (at >= args.head_size) continue;
        const bool is_first = at < half;
        const float partner = States::at(qkv, args.stride, part * args.head_size + (is_first ? at + half : at - half));
        const uint64_t angle = static_cast<uint64_t>(position) * half + (is_first ? at : at - half);
        x[i] = rotated(x[i], partner, is_first, cosines[angle], sines[angle]);
    }
}

template <class States>
__device__ inline void prepare_heads(const toller_heads_args &args) {
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    const uint32_t of_head = args.padded / UNIT, out_stride = args.parts * args.padded * States::BYTES;
    const auto positions = global_array(args.positions, args.tokens);
    for (uint64_t token = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; token < args.tokens; token += warps) {
        const void *qkv = row_of(args.qkv, token, args.stride);
        const auto out = chunks_of(row_of(args.out, token, out_stride), out_stride);
        for (uint32_t unit = lane; unit < args.parts * of_head; unit += 32) {
            const uint32_t part = unit / of_head, column = unit % of_head * UNIT;
            float x[UNIT];
            load_head<States>(x, args, qkv, part, column);
            if (args.cosines != nullptr && part < args.rotated) rotate<States>(x, args, qkv, part, column, positions[token]);
            States::store(out, unit, x);
        }
    }
}
