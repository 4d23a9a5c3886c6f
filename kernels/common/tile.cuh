// Tiles of rows times columns on tensor cores, in slices of 128 bytes of every row: their layout in shared
// memory, the copies that fill it, and the engine of mma.sync. The columns are rows of a second matrix.
#pragma once

#include "instructions.cuh"
#include "memory.cuh"

constexpr uint32_t TILE_THREADS = 256, TILE_ROWS = 128, SLICE_BYTES = 128;

// The layout of a slice in shared memory: 128 bytes a row, with its 16-byte chunks exchanged so that neither
// eight chunks of one row nor the same chunk of eight rows share a bank. wgmma calls it the 128-byte swizzle.
__device__ inline uint32_t swizzled(uint32_t row, uint32_t chunk) {
    return row * SLICE_BYTES + ((chunk ^ (row % 8)) * 16);
}

// The first byte of the dynamic shared memory whose address is a multiple of 1,024: the swizzle of wgmma depends
// on the bits of the address.
__device__ inline uint32_t aligned_shared() { return (1024 - shared_address(0) % 1024) % 1024; }

// Starts to copy a slice of `ROWS` rows of `matrix`, which has `count` rows, from row `first` on. Beyond the
// matrix it writes zeros. A thread copies the same chunk of one row in `ROWS_AT_ONCE`.
template <uint32_t ROWS>
__device__ inline void load_slice(uint32_t to, Global<const char> matrix, uint64_t first, uint32_t count,
                                  uint32_t stride, uint32_t slice) {
    constexpr uint32_t CHUNKS = SLICE_BYTES / 16, ROWS_AT_ONCE = TILE_THREADS / CHUNKS;
    static_assert(ROWS_AT_ONCE % 8 == 0, "the rows of a thread are swizzled alike");
    const uint32_t row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
    const uint32_t byte = slice * SLICE_BYTES + chunk * 16;
    const uint64_t left = first + row < count ? count - (first + row) : 0;
    const uint32_t rows_left = byte < stride ? static_cast<uint32_t>(left) : 0;
    const char *from = matrix.data + (rows_left > 0 ? (first + row) * stride + byte : 0);
    to += swizzled(row, chunk);
#pragma unroll
    for (uint32_t ahead = 0; ahead < ROWS; ahead += ROWS_AT_ONCE) {
        if (ROWS % ROWS_AT_ONCE != 0 && row + ahead >= ROWS) return;
        const bool present = ahead < rows_left;
        // Nothing is read beyond the matrix, wherever `from` points.
        cp_async_16(to + ahead * SLICE_BYTES, from, present);
        from += static_cast<uint64_t>(ROWS_AT_ONCE) * stride;
    }
}

// An engine of ROW_WARPS x COLUMN_WARPS warps, which each multiply a share of the tile with mma.sync.
template <class Format, int TILE, int ROW_WARPS>
struct MmaSync {
    static constexpr uint32_t TILE_COLUMNS = TILE;
    static constexpr int COLUMN_WARPS = TILE_THREADS / 32 / ROW_WARPS;
    static constexpr int ROWS = TILE_ROWS / 16 / ROW_WARPS, COLUMNS = TILE / 8 / COLUMN_WARPS;

    typename Format::Sum sums[ROWS * COLUMNS][4];

    static __device__ uint32_t first_row() { return threadIdx.x / 32 / COLUMN_WARPS * (ROWS * 16); }
    static __device__ uint32_t first_column() { return threadIdx.x / 32 % COLUMN_WARPS * (COLUMNS * 8); }

    __device__ void clear() {
#pragma unroll
        for (int f = 0; f < ROWS * COLUMNS; ++f) {
#pragma unroll
            for (int i = 0; i < 4; ++i) sums[f][i] = 0;
        }
    }

    // Adds the products of a slice of rows and of columns in shared memory.
    __device__ void multiply(uint32_t rows, uint32_t columns) { multiply_into(sums, rows, columns); }

  protected:
    // Adds them to other sums.
    __device__ static void multiply_into(typename Format::Sum (&to)[ROWS * COLUMNS][4], uint32_t rows, uint32_t columns) {
        const uint32_t lane = threadIdx.x % 32;
#pragma unroll
        for (uint32_t step = 0; step < SLICE_BYTES / 32; ++step) {
            uint32_t a[ROWS][4], b[COLUMNS][2];
#pragma unroll
            for (int m = 0; m < ROWS; ++m) {
                ldmatrix_x4(a[m], rows + swizzled(first_row() + m * 16 + lane % 16, step * 2 + lane / 16));
            }
            load_columns(b, columns, step);
#pragma unroll
            for (int m = 0; m < ROWS; ++m) {
#pragma unroll
                for (int n = 0; n < COLUMNS; ++n) Format::multiply(to[m * COLUMNS + n], a[m], b[n]);
            }
        }
    }

    static __device__ void load_columns(uint32_t (&b)[COLUMNS][2], uint32_t columns, uint32_t step) {
        const uint32_t lane = threadIdx.x % 32, chunk = step * 2 + lane / 8 % 2;
        if constexpr (COLUMNS == 1) {
            ldmatrix_x2(b[0], columns + swizzled(first_column() + lane % 8, chunk));
        } else {
            static_assert(COLUMNS % 2 == 0, "two fragments a load");
#pragma unroll
            for (int n = 0; n < COLUMNS; n += 2) {
                uint32_t both[4];
                ldmatrix_x4(both, columns + swizzled(first_column() + n * 8 + lane / 16 * 8 + lane % 8, chunk));
                b[n][0] = both[0], b[n][1] = both[1], b[n + 1][0] = both[2], b[n + 1][1] = both[3];
            }
        }
    }
};
