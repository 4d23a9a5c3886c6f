// Heads in the form that attention takes: padded, queries and keys normalised (Henry et al. 2020, section 2) and
// rotated by their positions (Su et al. 2021, equation 34). A warp for each token.
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

// The norm of one head, or none.
struct HeadNorm {
    Global<const float> weights, biases;
    float mean, scale;
    bool is_there;

    __device__ float of(float x, uint32_t column) const {
        return is_there ? __fmaf_rn((x - mean) * scale, weights[column], biases[column]) : x;
    }

    // Normalises the numbers of the head from `column` on. Those beyond the head stay zero.
    __device__ void apply(float (&x)[UNIT], uint32_t column, uint32_t head_size) const {
#pragma unroll
        for (uint32_t i = 0; i < UNIT; ++i) {
            if (column + i < head_size) x[i] = of(x[i], column + i);
        }
    }
};

// The sum of what the lanes of a head have. All lanes of the warp take part.
__device__ inline float head_sum(float x, uint32_t padded) {
    for (uint32_t lanes = padded / UNIT / 2; lanes > 0; lanes /= 2) x += __shfl_xor_sync(0xffffffffu, x, lanes);
    return x;
}

// The norm of the head whose numbers from `column` on are `x`. All lanes of the warp take part.
__device__ inline HeadNorm norm_of_head(const float (&x)[UNIT], const toller_heads_args &args, uint32_t part, uint32_t column) {
    const float *weights = args.norms[0].weight, *biases = args.norms[0].bias;
    float epsilon = args.norms[0].epsilon;
    bool centers = args.norms[0].centers != 0;
    if (part >= args.queries) {
        weights = args.norms[1].weight, biases = args.norms[1].bias;
        epsilon = args.norms[1].epsilon, centers = args.norms[1].centers != 0;
    }
    if (args.norms[0].weight == nullptr) return {global_array(weights, 0), global_array(biases, 0), 0, 1, false};
    const float inverse = __fdividef(1.0f, static_cast<float>(args.head_size));
    float sum = 0, squares = 0;
#pragma unroll
    for (uint32_t i = 0; i < UNIT; ++i) sum += x[i];
    const float of_sum = head_sum(sum, args.padded) * inverse, mean = centers ? of_sum : 0.0f;
#pragma unroll
    for (uint32_t i = 0; i < UNIT; ++i) {
        const float difference = column + i < args.head_size ? x[i] - mean : 0.0f;
        squares = __fmaf_rn(difference, difference, squares);
    }
    const float scale = rsqrtf(__fmaf_rn(head_sum(squares, args.padded), inverse, epsilon));
    const uint64_t count = units(args.head_size) * UNIT;
    return {global_array(weights, count), global_array(biases, count), mean, scale, part < args.prepared};
}

// A number of a head after the rotation with its partner, which is half a head away.
__device__ inline float rotated(float x, float partner, bool is_first, float cosine, float sine) {
    const float turned = partner * sine;
    return __fmaf_rn(x, cosine, is_first ? -turned : turned);
}

// Rotates the numbers of a head from `column` on.
template <class States>
__device__ inline void rotate(float (&x)[UNIT], const toller_heads_args &args, const void *qkv, uint32_t part, uint32_t column,
                              const HeadNorm &norm, uint32_t position) {
    const uint32_t half = args.head_size / 2;
    if (half % UNIT == 0) {
        // All partners, cosines and sines are loaded at once.
        if (column >= args.head_size) return;
        const bool is_first = column < half;
        const uint32_t angle = (is_first ? column : column - half) / UNIT, stride = half * sizeof(float);
        const uint32_t partner = is_first ? column + half : column - half;
        float partners[UNIT], cosines[UNIT], sines[UNIT];
        load_head<States>(partners, args, qkv, part, partner);
        norm.apply(partners, partner, args.head_size);
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
        const uint32_t other = is_first ? at + half : at - half;
        const float partner = norm.of(States::at(qkv, args.stride, part * args.head_size + other), other);
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
        for (uint32_t first = 0; first < args.parts * of_head; first += 32) {
            const uint32_t unit = first + lane, part = unit / of_head, column = unit % of_head * UNIT;
            const bool is_there = part < args.parts;
            float x[UNIT] = {};
            if (is_there) load_head<States>(x, args, qkv, part, column);
            const HeadNorm norm = norm_of_head(x, args, part, column);
            if (!is_there) continue;
            norm.apply(x, column, args.head_size);
            if (args.cosines != nullptr && part < args.prepared) rotate<States>(x, args, qkv, part, column, norm, positions[token]);
            States::store(out, unit, x);
        }
    }
}
