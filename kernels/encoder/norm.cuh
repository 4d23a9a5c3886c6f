// Embeddings and norms: a warp for each row.
#pragma once

#include "states.cuh"

// A warp's row of up to TOLLER_NORM_IN_REGISTERS numbers, as f32. A lane has every 32nd unit.
struct RowInRegisters {
    static constexpr int UNITS_OF_LANE = TOLLER_NORM_IN_REGISTERS / (32 * UNIT);

    uint32_t width;
    float numbers[UNITS_OF_LANE][UNIT];

    __device__ explicit RowInRegisters(uint32_t width) : width(width) {}

    // Makes the row of what `load` writes into each unit; all loads are under way at the same time. Returns the lane's
    // sum.
    template <class Load>
    __device__ float fill(const Load &load) {
        const uint32_t lane = threadIdx.x % 32;
        float sum = 0;
#pragma unroll
        for (int i = 0; i < UNITS_OF_LANE; ++i) {
            if (lane + 32 * i < units(width)) load(lane + 32 * i, numbers[i]);
        }
        each([&](uint32_t, const float (&x)[UNIT]) {
#pragma unroll
            for (int i = 0; i < static_cast<int>(UNIT); ++i) sum += x[i];
        });
        return sum;
    }

    template <class Work>
    __device__ void each(const Work &work) const {
        const uint32_t lane = threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < UNITS_OF_LANE; ++i) {
            if (lane + 32 * i < units(width)) work(lane + 32 * i, numbers[i]);
        }
    }
};

// The same for wider rows, in shared memory. Each lane reads only the numbers that it wrote itself, so no barrier is
// needed.
struct RowInShared {
    uint32_t width;
    Shared<Floats4> halves;

    __device__ explicit RowInShared(uint32_t width)
        : width(width), halves(shared_array<Floats4>(threadIdx.x / 32 * units(width) * UNIT * sizeof(float), units(width) * 2)) {}

    template <class Load>
    __device__ float fill(const Load &load) {
        float sum = 0;
        for (uint32_t unit = threadIdx.x % 32; unit < units(width); unit += 32) {
            float x[UNIT];
            load(unit, x);
#pragma unroll
            for (int i = 0; i < static_cast<int>(UNIT); ++i) sum += x[i];
            put(unit, x);
        }
        return sum;
    }

    template <class Work>
    __device__ void each(const Work &work) const {
        for (uint32_t unit = threadIdx.x % 32; unit < units(width); unit += 32) {
            float x[UNIT];
            get(x, unit);
            work(unit, x);
        }
    }

  private:
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
};

// Gives the numbers of a normalised row to `store`, a unit at a time. `sum` is the lane's sum of its numbers.
template <class Row, class Store>
__device__ inline void normalize_row(const Row &row, const toller_norm &norm, float sum, const Store &store) {
    const uint32_t width = row.width;
    // Without the slow paths of exact division and square root, which are calls.
    const float inverse = __fdividef(1.0f, static_cast<float>(width));
    const float mean = norm.centers != 0 ? warp_sum(sum) * inverse : 0.0f;
    float squares = 0;
    row.each([&](uint32_t unit, const float (&x)[UNIT]) {
#pragma unroll
        for (uint32_t i = 0; i < UNIT; ++i) {
            const float difference = unit * UNIT + i < width ? x[i] - mean : 0.0f;
            squares = __fmaf_rn(difference, difference, squares);
        }
    });
    const float scale = rsqrtf(__fmaf_rn(warp_sum(squares), inverse, norm.epsilon));
    const auto weights = chunks_of(norm.weight, units(width) * UNIT * 4), biases = chunks_of(norm.bias, units(width) * UNIT * 4);
    row.each([&](uint32_t unit, const float (&x)[UNIT]) {
        float weight[UNIT], y[UNIT];
        StatesF32::load(weight, weights, unit);
        StatesF32::load(y, biases, unit);
#pragma unroll
        for (int i = 0; i < static_cast<int>(UNIT); ++i) y[i] = __fmaf_rn((x[i] - mean) * scale, weight[i], y[i]);
        store(unit, y);
    });
}

template <class States, class Row>
__device__ inline void embed_rows(const toller_embed_args &args) {
    const uint32_t warps = gridDim.x * (blockDim.x / 32), table_stride = units(args.width) * UNIT * sizeof(float);
    for (uint64_t token = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; token < args.tokens; token += warps) {
        Row row(args.width);
        const float sum = row.fill([&](uint32_t unit, float (&x)[UNIT]) {
#pragma unroll
            for (int i = 0; i < static_cast<int>(UNIT); ++i) x[i] = 0;
            for (uint32_t table = 0; table < args.table_count; ++table) {
                const uint32_t of_table = global_array(args.rows[table], args.tokens)[token];
                float more[UNIT];
                StatesF32::load(more, chunks_of(row_of(args.tables[table], of_table, table_stride), table_stride), unit);
#pragma unroll
                for (int i = 0; i < static_cast<int>(UNIT); ++i) x[i] += more[i];
            }
        });
        const auto out = chunks_of(row_of(args.out, token, args.stride), args.stride);
        const auto store = [&](uint32_t unit, const float (&x)[UNIT]) { States::store(out, unit, x); };
        if (args.norm.weight == nullptr) {
            row.each(store);
        } else {
            normalize_row(row, args.norm, sum, store);
        }
    }
}

template <class States>
__device__ inline void embed(const toller_embed_args &args) {
    if (args.width <= TOLLER_NORM_IN_REGISTERS) {
        embed_rows<States, RowInRegisters>(args);
    } else {
        embed_rows<States, RowInShared>(args);
    }
}

// Norms of rows of `From`. `write` gets the number of a row and returns what stores its units.
template <class From, class Row, class Write>
__device__ inline void normalize_rows(const toller_norm_args &args, const Write &write) {
    const uint32_t warps = gridDim.x * (blockDim.x / 32);
    for (uint64_t at = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; at < args.rows; at += warps) {
        Row row(args.width);
        const auto from = chunks_of(row_of(args.x, at, args.stride), args.stride);
        const float sum = row.fill([&](uint32_t unit, float (&x)[UNIT]) { From::load(x, from, unit); });
        normalize_row(row, args.norm, sum, write(at));
    }
}

template <class From, class Write>
__device__ inline void normalize_rows(const toller_norm_args &args, const Write &write) {
    if (args.width <= TOLLER_NORM_IN_REGISTERS) {
        normalize_rows<From, RowInRegisters>(args, write);
    } else {
        normalize_rows<From, RowInShared>(args, write);
    }
}

template <class States>
__device__ inline void normalize(const toller_norm_args &args) {
    normalize_rows<States>(args, [&](uint64_t at) {
        const auto out = chunks_of(row_of(args.out, at, args.out_stride), args.out_stride);
        const bool adds = args.residual != nullptr, is_bf16 = States::BYTES == 4 && args.residual_is_bf16 != 0;
        const auto residual = chunks_of(row_of(args.residual, adds ? at : 0, args.residual_stride), adds ? args.residual_stride : 0);
        return [=](uint32_t unit, const float (&x)[UNIT]) {
            if (!adds) return States::store(out, unit, x);
            float sum[UNIT];
            if (is_bf16) {
                StatesBf16::load(sum, residual, unit);
            } else {
                States::load(sum, residual, unit);
            }
#pragma unroll
            for (int i = 0; i < static_cast<int>(UNIT); ++i) sum[i] += x[i];
            States::store(out, unit, sum);
        };
    });
}

// Norms of f32 sums: the results in bf16 are what is multiplied next, and those in f32 the next residual.
__device__ inline void normalize_wide(const toller_norm_args &args) {
    normalize_rows<StatesF32>(args, [&](uint64_t at) {
        const auto out = chunks_of(row_of(args.out, at, args.out_stride), args.out_stride);
        const bool keeps = args.wide != nullptr;
        const auto wide = chunks_of(row_of(args.wide, keeps ? at : 0, args.stride), keeps ? args.stride : 0);
        return [=](uint32_t unit, const float (&x)[UNIT]) {
            StatesBf16::store(out, unit, x);
            if (keeps) StatesF32::store(wide, unit, x);
        };
    });
}
