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

// The biases of a unit of the weight's rows, from `at` on.
__device__ inline void load_bias(const toller_product_args &args, float (&bias)[UNIT], uint32_t at) {
    StatesF32::load(bias, chunks_of(args.bias, args.weight_rows * sizeof(float)), at / UNIT);
}

__device__ inline void add(float (&x)[UNIT], const float (&y)[UNIT]) {
#pragma unroll
    for (int i = 0; i < static_cast<int>(UNIT); ++i) x[i] += y[i];
}

// Writes the results of a patch, whose first sum is of `row` with row `column` of the weight. A lane has one
// unit of several rows. So it loads the biases once, and all residuals before the first is needed.
template <class States, int FRAGMENTS, bool IS_GATED>
__device__ inline void write_patch(const toller_product_args &args, Patch<FRAGMENTS> patch, uint64_t row, uint32_t column) {
    constexpr uint32_t STEP = IS_GATED ? 2 : 1, ACROSS = FRAGMENTS / STEP, ROWS_AT_ONCE = 32 / ACROSS;
    constexpr int ROUNDS = 16 / ROWS_AT_ONCE;
    const uint32_t lane = threadIdx.x % 32, unit = lane % ACROSS * STEP, first = column + unit * UNIT, to = first / STEP / UNIT;
    if (first >= args.weight_rows) return;
    const auto row_in_patch = [&](int round) { return lane / ACROSS + round * ROWS_AT_ONCE; };
    const auto is_present = [&](int round) { return row + row_in_patch(round) < args.rows; };
    float bias[UNIT], linear_bias[UNIT], residual[ROUNDS][UNIT];
    load_bias(args, bias, first);
    if (IS_GATED) load_bias(args, linear_bias, first + UNIT);
    if (args.residual != nullptr) {
#pragma unroll
        for (int round = 0; round < ROUNDS; ++round) {
            if (!is_present(round)) continue;
            const auto from = chunks_of(row_of(args.residual, row + row_in_patch(round), args.residual_stride), args.residual_stride);
            if (args.residual_is_wide != 0) {
                StatesF32::load(residual[round], from, to);
            } else {
                States::load(residual[round], from, to);
            }
        }
    }
#pragma unroll
    for (int round = 0; round < ROUNDS; ++round) {
        if (!is_present(round)) continue;
        float x[UNIT];
        patch.get(x, row_in_patch(round), unit);
        add(x, bias);
        activate<States>(args.activation, x);
        if (IS_GATED) {
            float linear[UNIT];
            patch.get(linear, row_in_patch(round), unit + 1);
            add(linear, linear_bias);
#pragma unroll
            for (int i = 0; i < static_cast<int>(UNIT); ++i) x[i] *= linear[i];
        }
        if (args.residual != nullptr) add(x, residual[round]);
        clear_padding(x, to * UNIT, args.columns);
        const auto out = chunks_of(row_of(args.out, row + row_in_patch(round), args.stride), args.stride);
        if (args.is_wide != 0) {
            StatesF32::store(out, to, x);
        } else {
            States::store(out, to, x);
        }
    }
}

template <class States, int FRAGMENTS>
__device__ inline void write_patch(const toller_product_args &args, Patch<FRAGMENTS> patch, uint64_t row, uint32_t column) {
    if (args.gated != 0) {
        write_patch<States, FRAGMENTS, true>(args, patch, row, column);
    } else {
        write_patch<States, FRAGMENTS, false>(args, patch, row, column);
    }
}

template <class States, class Engine, int STAGES>
__device__ inline void product(const toller_product_args &args) {
    constexpr uint32_t COLUMNS = Engine::TILE_COLUMNS;
    constexpr uint32_t STAGE_BYTES = (TILE_ROWS + COLUMNS) * SLICE_BYTES;
    constexpr int AHEAD = STAGES - Engine::LAG;
    constexpr int FRAGMENTS = Engine::COLUMNS < 8 ? Engine::COLUMNS : 8;
    static_assert(STAGES * STAGE_BYTES + 1024 == TOLLER_PRODUCT_SHARED(COLUMNS, STAGES), "as encoder.h says");
    static_assert(TILE_THREADS / 32 * Patch<FRAGMENTS>::BYTES <= STAGES * STAGE_BYTES, "room for the patches");

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
    const bool has_rows = !Engine::WARPS_ARE_APART || first_row + Engine::first_row() < args.rows;
    uint32_t stage = 0;
#pragma unroll 1
    for (uint32_t slice = 0; slice < slices; ++slice) {
        cp_async_wait<AHEAD - 1>();
        engine.acquire();
        // For all threads: this slice has arrived, and the slice LAG before it has been multiplied.
        __syncthreads();
        load(slice + AHEAD, (stage + AHEAD) % STAGES);
        if (has_rows) engine.multiply(rows_at(stage), rows_at(stage) + TILE_ROWS * SLICE_BYTES);
        stage = (stage + 1) % STAGES;
    }
    engine.finish();
    cp_async_wait<0>();
    // The patches take the place of the stages.
    __syncthreads();
    const Patch<FRAGMENTS> patch{start + threadIdx.x / 32 * Patch<FRAGMENTS>::BYTES};
#pragma unroll
    for (int m = 0; m < Engine::ROWS; ++m) {
#pragma unroll
        for (int n = 0; n < Engine::COLUMNS; n += FRAGMENTS) {
            __syncwarp();
            patch.put(engine.sums + m * Engine::COLUMNS + n);
            __syncwarp();
            write_patch<States>(args, patch, first_row + Engine::first_row() + m * 16,
                                first_column + Engine::first_column() + n * 8);
        }
    }
}
