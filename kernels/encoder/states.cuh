// Rows of states as f32, eight numbers at a time, and the types that they are stored in.
#pragma once

#include "../common/memory.cuh"
#include "../common/numbers.cuh"
#include "../common/products.cuh"
#include "../encoder.h"

// What one thread loads or stores at once: 16 bytes.
struct alignas(16) Chunk {
    uint32_t words[4];
};

struct alignas(16) Floats4 {
    float values[4];
};

// Numbers of a unit: rows are padded to whole units.
constexpr uint32_t UNIT = 8;

__device__ inline uint32_t units(uint32_t width) { return (width + UNIT - 1) / UNIT; }

// States of two bytes a number.
template <class Pair>
struct Halves {
    static constexpr uint32_t BYTES = 2;

    // Two neighbours.
    using Two = uint32_t;
    static __device__ Two two(float first, float second) { return Pair::of(first, second); }
    static __device__ float first(Two two) { return Pair::widened(static_cast<uint16_t>(two)); }
    static __device__ float second(Two two) { return Pair::widened(static_cast<uint16_t>(two >> 16)); }

    static __device__ void load(float (&to)[UNIT], Global<const Chunk> row, uint32_t unit) {
        const Chunk chunk = row[unit];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            to[2 * i] = first(chunk.words[i]);
            to[2 * i + 1] = second(chunk.words[i]);
        }
    }

    static __device__ void store(Global<Chunk> row, uint32_t unit, const float (&from)[UNIT]) {
        Chunk chunk;
#pragma unroll
        for (int i = 0; i < 4; ++i) chunk.words[i] = two(from[2 * i], from[2 * i + 1]);
        row[unit] = chunk;
    }

    // One number of a row.
    static __device__ float at(const void *row, uint32_t stride, uint32_t column) {
        return Pair::widened(global_array(static_cast<const uint16_t *>(row), stride / BYTES)[column]);
    }

    static __device__ void put(void *row, uint32_t stride, uint32_t column, float x) {
        global_array(static_cast<uint16_t *>(row), stride / BYTES)[column] = static_cast<uint16_t>(Pair::of(x, 0));
    }
};

struct PairF16 {
    static __device__ float widened(uint16_t x) { return f16_to_f32(x); }
    static __device__ uint32_t of(float low, float high) { return f32_to_f16x2(low, high); }
};

struct PairBf16 {
    static __device__ float widened(uint16_t x) { return bf16_to_f32(x); }
    static __device__ uint32_t of(float low, float high) { return f32_to_bf16x2(low, high); }
};

struct StatesF16 : Halves<PairF16>, ProductsF16, PairF16 {
    static constexpr bool HAS_WIDE_SUMS = false;
};
// Sums with a residual may be f32.
struct StatesBf16 : Halves<PairBf16>, ProductsBf16, PairBf16 {
    static constexpr bool HAS_WIDE_SUMS = true;
};

struct StatesF32 : ProductsSplit {
    static constexpr uint32_t BYTES = 4;
    static constexpr bool HAS_WIDE_SUMS = false;

    struct alignas(8) Two {
        float values[2];
    };
    static __device__ Two two(float first, float second) { return {{first, second}}; }
    static __device__ float first(const Two &two) { return two.values[0]; }
    static __device__ float second(const Two &two) { return two.values[1]; }

    static __device__ void load(float (&to)[UNIT], Global<const Chunk> row, uint32_t unit) {
#pragma unroll
        for (uint32_t half = 0; half < 2; ++half) {
            const Chunk chunk = row[2 * unit + half];
#pragma unroll
            for (int i = 0; i < 4; ++i) to[half * 4 + i] = __uint_as_float(chunk.words[i]);
        }
    }

    static __device__ void store(Global<Chunk> row, uint32_t unit, const float (&from)[UNIT]) {
#pragma unroll
        for (uint32_t half = 0; half < 2; ++half) {
            Chunk chunk;
#pragma unroll
            for (int i = 0; i < 4; ++i) chunk.words[i] = __float_as_uint(from[half * 4 + i]);
            row[2 * unit + half] = chunk;
        }
    }

    static __device__ float at(const void *row, uint32_t stride, uint32_t column) {
        return global_array(static_cast<const float *>(row), stride / BYTES)[column];
    }

    static __device__ void put(void *row, uint32_t stride, uint32_t column, float x) {
        global_array(static_cast<float *>(row), stride / BYTES)[column] = x;
    }
};

// Row `row` of a matrix.
__device__ inline const void *row_of(const void *matrix, uint64_t row, uint32_t stride) {
    return static_cast<const char *>(matrix) + row * stride;
}

__device__ inline void *row_of(void *matrix, uint64_t row, uint32_t stride) {
    return static_cast<char *>(matrix) + row * stride;
}

__device__ inline Global<const Chunk> chunks_of(const void *row, uint32_t stride) {
    return global_array(static_cast<const Chunk *>(row), stride / sizeof(Chunk));
}

__device__ inline Global<Chunk> chunks_of(void *row, uint32_t stride) {
    return global_array(static_cast<Chunk *>(row), stride / sizeof(Chunk));
}
