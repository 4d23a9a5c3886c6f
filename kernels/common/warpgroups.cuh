// The engine of tiles for sm_90a: warpgroups of 64 rows each multiply with wgmma.
//
// The slices of rows and columns are in the same swizzled layout as for mma.sync. Bulk copies bring them, so no
// fence is needed.
#pragma once

#include "tile.cuh"
#include "wgmma.cuh"

// Of warpgroups that multiply, of which the block's first is number `FIRST_GROUP`.
template <class Format, int FRAGMENTS, uint32_t FIRST_GROUP>
struct Warpgroups {
    static constexpr int ROWS = 1, COLUMNS = FRAGMENTS;
    static constexpr uint32_t GROUP_THREADS = 128, GROUP_ROWS = 64;

    typename Format::Sum sums[COLUMNS][4];

    // The number of the thread's warpgroup among those that multiply.
    static __device__ uint32_t group() { return threadIdx.x / GROUP_THREADS - FIRST_GROUP; }
    static __device__ uint32_t first_row() { return (threadIdx.x / 32 - FIRST_GROUP * (GROUP_THREADS / 32)) * 16; }

    __device__ void clear() {
#pragma unroll
        for (int f = 0; f < COLUMNS; ++f) {
#pragma unroll
            for (int i = 0; i < 4; ++i) sums[f][i] = 0;
        }
    }

    // Adds the products of a slice of rows and of columns in shared memory. Meanwhile the tensor cores have those of
    // the other warpgroups, so nothing is gained by beginning the next slice before this one is done.
    __device__ void multiply(uint32_t rows, uint32_t columns) {
        const uint64_t a = matrix_descriptor(rows + group() * (GROUP_ROWS * SLICE_BYTES)), b = matrix_descriptor(columns);
        wgmma_fence();
#pragma unroll
        for (uint32_t step = 0; step < SLICE_BYTES / 32; ++step) Format::multiply_group(sums, a + step * 2, b + step * 2);
        wgmma_commit();
        wgmma_wait<0>();
    }

    // After the last slice.
    __device__ void finish() { wgmma_settle(sums); }
};
