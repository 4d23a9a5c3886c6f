// Linear layers: tiles of 128 rows of states times rows of the weight, and what follows each product.
//
// A sum adds its products in ascending order of depth, 32 bytes at a time, in one accumulator: neither the
// tile nor its place changes its bits. There is no split along the depth.
#pragma once

#include "../common/tile.cuh"
#include "activation.cuh"
#include "patch.cuh"

static_assert(TILE_THREADS == TOLLER_PRODUCT_THREADS && TILE_ROWS == TOLLER_PRODUCT_ROWS && SLICE_BYTES == TOLLER_PRODUCT_SLICE,
              "as encoder.h says");

// The engine for f32. Tensor cores cut a sum after each product, and 1,000 cuts show in f32: the products of
// a slice are added from zero, and their sum is rounded once.
template <int TILE, int ROW_WARPS>
struct SplitSync : MmaSync<StatesF32, TILE, ROW_WARPS> {
    using Base = MmaSync<StatesF32, TILE, ROW_WARPS>;

    __device__ void multiply(uint32_t rows, uint32_t columns) {
        float parts[Base::ROWS * Base::COLUMNS][4] = {};
        Base::multiply_into(parts, rows, columns);
#pragma unroll
        for (int f = 0; f < Base::ROWS * Base::COLUMNS; ++f) {
#pragma unroll
            for (int i = 0; i < 4; ++i) this->sums[f][i] += parts[f][i];
        }
    }
};

// A fragment's sums with their biases. The fragment begins with row `column` of the weight, which has whole fragments.
__device__ inline void add_bias(const toller_product_args &args, float (&x)[4], const float (&sums)[4], uint32_t column) {
    const auto biases = global_array(reinterpret_cast<const StatesF32::Two *>(args.bias), args.weight_rows / 2);
    const auto bias = column < args.weight_rows ? biases[column / 2 + threadIdx.x % 4] : StatesF32::two(0, 0);
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = sums[i] + bias.values[i % 2];
}

// What follows the products of fragments that begin with row `column` of the weight: bias, activation and gate.
template <class States, bool IS_GATED, int FRAGMENTS>
__device__ inline void finish_sums(const toller_product_args &args, float (&x)[FRAGMENTS][4], const float (*sums)[4], uint32_t column) {
    constexpr int STEP = IS_GATED ? 2 : 1;
#pragma unroll
    for (int n = 0; n < FRAGMENTS; ++n) add_bias(args, x[n], sums[n * STEP], column + n * STEP * 8);
    activate<States>(args.activation, x);
    if constexpr (IS_GATED) {
#pragma unroll
        for (int n = 0; n < FRAGMENTS; ++n) {
            float linear[4];
            add_bias(args, linear, sums[n * STEP + 1], column + (n * STEP + 1) * 8);
#pragma unroll
            for (int i = 0; i < 4; ++i) x[n][i] *= linear[i];
        }
    }
}

// Sets a fragment's numbers beyond `columns` to zero, as clear_padding does for a unit.
__device__ inline void clear_fragment_padding(float (&x)[4], uint32_t first, uint32_t columns) {
    if (columns % UNIT == 0) return;
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i) {
        if (first + threadIdx.x % 4 * 2 + i % 2 >= columns) x[i] = 0;
    }
}

// Writes the results of sixteen rows from `row` on, of `COLUMNS` fragments that begin with row `column` of the weight.
// The patch begins at `start`.
template <class States, class Residual, class Out, bool IS_GATED, int COLUMNS>
__device__ inline void write_rows(const toller_product_args &args, const float (*sums)[4], uint32_t start, uint64_t row, uint32_t column) {
    constexpr int STEP = IS_GATED ? 2 : 1, ALL = COLUMNS / STEP;
    constexpr int MOST = Residual::BYTES == 4 || Out::BYTES == 4 ? 4 : 8;
    constexpr int FRAGMENTS = ALL % MOST == 0 ? MOST : ALL % 4 == 0 ? 4 : 2;
    static_assert(ALL % FRAGMENTS == 0, "whole patches");
    // With sums of several types, the compiler would keep each one's addresses from tile to tile, in registers that
    // there are not.
    const uint32_t lane = States::HAS_WIDE_SUMS ? forgotten(threadIdx.x % 32) : threadIdx.x % 32;
    const Patch<Residual, FRAGMENTS> from{start, lane};
    const Patch<Out, FRAGMENTS> to{start, lane};
    const bool has_residual = args.residual != nullptr;
    typename Patch<Residual, FRAGMENTS>::Chunks residual{};
    const auto load_residual = [&](int fragment) {
        from.load_rows(residual, args.residual, args.residual_stride, row, args.rows, column / STEP + fragment * 8, args.columns);
    };
    if (has_residual) load_residual(0);
#pragma unroll
    for (int first = 0; first < ALL; first += FRAGMENTS) {
        const uint32_t first_column = column / STEP + first * 8;
        float x[FRAGMENTS][4];
        finish_sums<States, IS_GATED, FRAGMENTS>(args, x, sums + first * STEP, column + first * STEP * 8);
        // All lanes have read what the patch held before.
        __syncwarp();
        if (has_residual) {
            from.put_rows(residual);
            __syncwarp();
            // While this patch is written.
            if (first + FRAGMENTS < ALL) load_residual(first + FRAGMENTS);
#pragma unroll
            for (int n = 0; n < FRAGMENTS; ++n) {
                float more[4];
                from.get(more, n);
#pragma unroll
                for (int i = 0; i < 4; ++i) x[n][i] += more[i];
            }
            // A lane's numbers have the same place in a patch of the same type.
            if (Residual::BYTES != Out::BYTES) __syncwarp();
        }
#pragma unroll
        for (int n = 0; n < FRAGMENTS; ++n) {
            clear_fragment_padding(x[n], first_column + n * 8, args.columns);
            to.put(n, x[n]);
        }
        __syncwarp();
        to.store_rows(args.out, args.stride, row, args.rows, first_column, args.columns);
    }
}

template <class States, int COLUMNS>
__device__ inline void write_rows(const toller_product_args &args, const float (*sums)[4], uint32_t start, uint64_t row, uint32_t column) {
    if (args.gated != 0) return write_rows<States, States, States, true, COLUMNS>(args, sums, start, row, column);
    if constexpr (States::HAS_WIDE_SUMS) {
        if (args.residual_is_wide != 0) {
            if (args.is_wide != 0) return write_rows<States, StatesF32, StatesF32, false, COLUMNS>(args, sums, start, row, column);
            return write_rows<States, StatesF32, States, false, COLUMNS>(args, sums, start, row, column);
        }
        if (args.is_wide != 0) return write_rows<States, States, StatesF32, false, COLUMNS>(args, sums, start, row, column);
    }
    write_rows<States, States, States, false, COLUMNS>(args, sums, start, row, column);
}

template <class States, class Engine, int STAGES>
__device__ inline void product(const toller_product_args &args) {
    constexpr uint32_t COLUMNS = Engine::TILE_COLUMNS;
    constexpr uint32_t STAGE_BYTES = (TILE_ROWS + COLUMNS) * SLICE_BYTES;
    constexpr int AHEAD = STAGES - 1;
    static_assert(STAGES * STAGE_BYTES + 1024 == TOLLER_PRODUCT_SHARED(COLUMNS, STAGES), "as encoder.h says");
    static_assert(TILE_THREADS / 32 * PATCH_BYTES <= STAGES * STAGE_BYTES, "room for the patches");

    // Neighbouring blocks read the same rows.
    const uint32_t column_tiles = (args.weight_rows + COLUMNS - 1) / COLUMNS;
    const uint64_t first_row = static_cast<uint64_t>(blockIdx.x / column_tiles) * TILE_ROWS;
    const uint32_t first_column = blockIdx.x % column_tiles * COLUMNS;
    const uint64_t depth = args.depth_bytes;
    const auto rows = global_array(static_cast<const char *>(args.x), args.rows * depth);
    const uint64_t weight_stride = args.weight_stride;
    const auto weight = global_array(static_cast<const char *>(args.weight), args.weight_rows * weight_stride);
    const uint32_t start = aligned_shared();
    // The second part of a weight meets the same slices of rows again.
    const uint32_t of_part = (args.depth_bytes + SLICE_BYTES - 1) / SLICE_BYTES;
    const uint32_t slices = (args.weight_stride + SLICE_BYTES - 1) / SLICE_BYTES;
    const auto rows_at = [&](uint32_t stage) { return shared_address(start + stage * STAGE_BYTES); };
    const auto load = [&](uint32_t slice, uint32_t stage) {
        if (slice < slices) {
            load_slice<TILE_ROWS>(rows_at(stage), rows, first_row, args.rows, args.depth_bytes,
                                  slice < of_part ? slice : slice - of_part);
            load_slice<COLUMNS>(rows_at(stage) + TILE_ROWS * SLICE_BYTES, weight, first_column, args.weight_rows, args.weight_stride,
                                slice);
        }
        // Commits a group even without copies: the number of groups then says which slices have arrived.
        cp_async_commit();
    };
#pragma unroll 1
    for (uint32_t slice = 0; slice < AHEAD; ++slice) load(slice, slice);
    Engine engine;
    engine.clear();
    const bool has_rows = first_row + Engine::first_row() < args.rows;
    uint32_t stage = 0;
#pragma unroll 1
    for (uint32_t slice = 0; slice < slices; ++slice) {
        cp_async_wait<AHEAD - 1>();
        // For all threads: this slice has arrived, and the slice before it has been multiplied.
        __syncthreads();
        load(slice + AHEAD, (stage + AHEAD) % STAGES);
        if (has_rows) engine.multiply(rows_at(stage), rows_at(stage) + TILE_ROWS * SLICE_BYTES);
        stage = (stage + 1) % STAGES;
    }
    cp_async_wait<0>();
    // The patches take the place of the stages.
    __syncthreads();
#pragma unroll
    for (int m = 0; m < Engine::ROWS; ++m) {
        write_rows<States, Engine::COLUMNS>(args, engine.sums + m * Engine::COLUMNS, start + threadIdx.x / 32 * PATCH_BYTES,
                                            first_row + Engine::first_row() + m * 16, first_column + Engine::first_column());
    }
}
