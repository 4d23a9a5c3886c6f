// The engine of tiles for sm_90a: warpgroups of 64 rows each multiply with wgmma.
//
// The slices of rows and columns are in the same swizzled layout as for mma.sync. With SLICES_AT_ONCE = 2,
// the products of a slice are still computed while those of the next slice are issued, so a stage is free two
// slices later.
#pragma once

#include "tile.cuh"
#include "wgmma.cuh"

template <class Format, int FRAGMENTS = 32, int SLICES_AT_ONCE = 2, uint32_t FIRST_GROUP = 0>
struct Warpgroups {
    static constexpr uint32_t TILE_COLUMNS = FRAGMENTS * 8;
    static constexpr int ROWS = 1, COLUMNS = FRAGMENTS;
    static constexpr int LAG = SLICES_AT_ONCE;
    static constexpr bool WARPS_ARE_APART = false;
    static constexpr uint32_t GROUP_THREADS = 128, GROUP_ROWS = 64;

    typename Format::Sum sums[COLUMNS][4];

    // The number of the thread's warpgroup among those that multiply.
    static __device__ uint32_t group() { return threadIdx.x / GROUP_THREADS - FIRST_GROUP; }
    static __device__ uint32_t first_row() { return (threadIdx.x / 32 - FIRST_GROUP * (GROUP_THREADS / 32)) * 16; }
    static __device__ uint32_t first_column() { return 0; }

    __device__ void clear() {
#pragma unroll
        for (int f = 0; f < COLUMNS; ++f) {
#pragma unroll
            for (int i = 0; i < 4; ++i) sums[f][i] = 0;
        }
    }

    // Lets wgmma read what this thread has copied.
    __device__ void acquire() { fence_proxy_async(); }

    __device__ void multiply(uint32_t rows, uint32_t columns) {
        issue(rows, columns);
        retire(rows, columns);
    }

    // Begins the products of a slice.
    __device__ void issue(uint32_t rows, uint32_t columns) {
        const uint64_t a = matrix_descriptor(rows + group() * (GROUP_ROWS * SLICE_BYTES)), b = matrix_descriptor(columns);
        wgmma_fence();
#pragma unroll
        for (uint32_t step = 0; step < SLICE_BYTES / 32; ++step) Format::multiply_group(sums, a + step * 2, b + step * 2);
        wgmma_commit();
    }

    // Waits for the products of SLICES_AT_ONCE - 1 slices before.
    __device__ void retire(uint32_t, uint32_t) { wgmma_wait<SLICES_AT_ONCE - 1>(); }

    __device__ void finish() {
        wgmma_wait<0>();
        wgmma_settle(sums);
    }
};
