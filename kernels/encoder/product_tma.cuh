// Linear layers with bulk tensor copies (TMA) and specialised warps, for sm_90a.
//
// One thread fills a ring of stages; three warpgroups multiply 64 rows of states each, and write what follows.
// Blocks take tiles in turn. So the next tile's slices are copied, and multiplied by other warpgroups, while
// one writes its results.
#pragma once

#include "../common/ring.cuh"
#include "../common/warpgroups.cuh"
#include "product.cuh"

// The block's dynamic shared memory: stages, a patch for each warp that multiplies, and barriers.
struct ProductLayout {
    static constexpr uint32_t ROWS = TOLLER_PRODUCT_TMA_ROWS, COLUMNS = TOLLER_PRODUCT_TMA_COLUMNS;
    static constexpr uint32_t STAGES = TOLLER_PRODUCT_TMA_STAGES, WARPS = ROWS / 16;
    static constexpr uint32_t ROWS_BYTES = ROWS * SLICE_BYTES, STAGE_BYTES = ROWS_BYTES + COLUMNS * SLICE_BYTES;
    static constexpr uint32_t PATCHES_AT = STAGES * STAGE_BYTES;
    static constexpr uint32_t RING_AT = PATCHES_AT + WARPS * PATCH_BYTES;
    static_assert(RING_AT + Ring<STAGES>::BARRIERS_BYTES + 1024 == TOLLER_PRODUCT_SHARED_TMA, "as encoder.h says");

    uint32_t start;

    __device__ Ring<STAGES> ring() const { return Ring<STAGES>::at(shared_address(start + RING_AT)); }
    __device__ uint32_t rows(uint32_t stage) const { return shared_address(start + stage * STAGE_BYTES); }
    __device__ uint32_t weight(uint32_t stage) const { return rows(stage) + ROWS_BYTES; }
    __device__ uint32_t patch(uint32_t warp) const { return start + PATCHES_AT + warp * PATCH_BYTES; }
};

// The tiles of a product. Neighbouring blocks read the same rows.
struct ProductTiles {
    uint32_t across, count, slices;

    static __device__ ProductTiles of(const toller_product_args &args) {
        const uint32_t across = (args.weight_rows + ProductLayout::COLUMNS - 1) / ProductLayout::COLUMNS;
        const uint32_t down = (args.rows + ProductLayout::ROWS - 1) / ProductLayout::ROWS;
        return {across, down * across, (args.weight_stride + SLICE_BYTES - 1) / SLICE_BYTES};
    }

    __device__ uint32_t first_row(uint32_t tile) const { return tile / across * ProductLayout::ROWS; }
    __device__ uint32_t first_column(uint32_t tile) const { return tile % across * ProductLayout::COLUMNS; }
};

// By one thread.
__device__ inline void copy_products(const toller_product_tma_args &args, ProductLayout layout) {
    const auto tiles = ProductTiles::of(args.product);
    // The second part of a weight meets the same slices of rows again.
    const uint32_t of_part = (args.product.depth_bytes + SLICE_BYTES - 1) / SLICE_BYTES;
    auto ring = layout.ring();
#pragma unroll 1
    for (uint32_t tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
#pragma unroll 1
        for (uint32_t slice = 0; slice < tiles.slices; ++slice) {
            const uint32_t of_rows = slice < of_part ? slice : slice - of_part;
            ring.begin_to_fill(ProductLayout::STAGE_BYTES);
            copy_box(layout.rows(ring.stage), &args.x, of_rows * SLICE_BYTES, tiles.first_row(tile), ring.barrier());
            copy_box(layout.weight(ring.stage), &args.weight, slice * SLICE_BYTES, tiles.first_column(tile), ring.barrier());
            ring.next();
        }
    }
}

// By one warpgroup.
template <class States>
__device__ inline void multiply_products(const toller_product_args &args, ProductLayout layout) {
    using Engine = Warpgroups<States, ProductLayout::COLUMNS / 8, 1>;
    const auto tiles = ProductTiles::of(args);
    const uint32_t patch = layout.patch(Engine::first_row() / 16);
    auto ring = layout.ring();
    Engine engine;
#pragma unroll 1
    for (uint32_t tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
        engine.clear();
#pragma unroll 1
        for (uint32_t slice = 0; slice < tiles.slices; ++slice) {
            ring.wait();
            engine.multiply(layout.rows(ring.stage), layout.weight(ring.stage));
            ring.release();
            ring.next();
        }
        engine.finish();
        write_rows<States, Engine::COLUMNS>(args, engine.sums, patch, uint64_t{tiles.first_row(tile)} + Engine::first_row(),
                                            tiles.first_column(tile));
    }
}

template <class States>
__device__ inline void product_tma(const toller_product_tma_args &args) {
    // A multiprocessor has 512 for each set of four threads, one of each warpgroup.
    constexpr uint32_t COPYING_REGISTERS = 32, MULTIPLYING_REGISTERS = 160;
    const ProductLayout layout{aligned_shared()};
    if (threadIdx.x == 0) {
        layout.ring().make(ProductLayout::WARPS);
        barrier_make_fence();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        keep_registers<COPYING_REGISTERS>();
        if (threadIdx.x == 0) copy_products(args, layout);
        return;
    }
    take_registers<MULTIPLYING_REGISTERS>();
    multiply_products<States>(args.product, layout);
}
