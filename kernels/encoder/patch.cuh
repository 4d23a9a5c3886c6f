// From fragments of sums to rows in global memory, and from rows to fragments.
#pragma once

#include "states.cuh"

constexpr uint32_t PATCH_ROWS = 16, PATCH_ROW_BYTES = 128, PATCH_BYTES = PATCH_ROWS * PATCH_ROW_BYTES;

// A warp's fragments on their way: sixteen rows of up to 128 bytes, in the type in which the rows are stored. As
// fragments, a lane has two neighbours of two rows each; as rows, chunks of 16 bytes.
template <class States, int FRAGMENTS>
struct Patch {
    // Neighbouring lanes have the chunks of a row, and the rest of the warp other rows.
    static constexpr uint32_t CHUNKS = FRAGMENTS * 8 * States::BYTES / 16, ROWS_AT_ONCE = 32 / CHUNKS;
    static constexpr int ROUNDS = PATCH_ROWS / ROWS_AT_ONCE;
    static_assert(CHUNKS <= PATCH_ROW_BYTES / 16 && ROWS_AT_ONCE <= PATCH_ROWS && FRAGMENTS * 8 * States::BYTES % 16 == 0, "a patch");

    uint32_t start, lane;

    __device__ void put(int n, const float (&x)[4]) const {
        put_two(n, 0, x[0], x[1]);
        put_two(n, 8, x[2], x[3]);
    }

    __device__ void get(float (&x)[4], int n) const {
        get_two(x[0], x[1], n, 0);
        get_two(x[2], x[3], n, 8);
    }

    // What a lane has of rows.
    using Chunks = Chunk[ROUNDS];

    __device__ void put_rows(const Chunks &chunks) const {
#pragma unroll
        for (int round = 0; round < ROUNDS; ++round) array<Chunk>()[place(row(round), chunk()) / sizeof(Chunk)] = chunks[round];
    }

    // Loads rows of a matrix of `rows` rows and `columns` columns, which are padded to whole units, from `first` and
    // column `column` on. What is beyond the matrix is not read.
    __device__ void load_rows(Chunks &to, const void *matrix, uint32_t stride, uint64_t first, uint64_t rows, uint32_t column, uint32_t columns) const {
        const uint32_t at = column / PER_CHUNK + chunk();
#pragma unroll
        for (int round = 0; round < ROUNDS; ++round) {
            if (at >= chunks_of_row(columns) || first + row(round) >= rows) continue;
            to[round] = chunks_of(row_of(matrix, first + row(round), stride), stride)[at];
        }
    }

    // Stores the patch the same way.
    __device__ void store_rows(void *matrix, uint32_t stride, uint64_t first, uint64_t rows, uint32_t column, uint32_t columns) const {
        const uint32_t at = column / PER_CHUNK + chunk();
#pragma unroll
        for (int round = 0; round < ROUNDS; ++round) {
            if (at >= chunks_of_row(columns) || first + row(round) >= rows) continue;
            chunks_of(row_of(matrix, first + row(round), stride), stride)[at] = array<Chunk>()[place(row(round), chunk()) / sizeof(Chunk)];
        }
    }

  private:
    static constexpr uint32_t PER_CHUNK = 16 / States::BYTES;

    __device__ uint32_t chunk() const { return lane % CHUNKS; }
    __device__ uint32_t row(int round) const { return lane / CHUNKS + round * ROWS_AT_ONCE; }
    static __device__ uint32_t chunks_of_row(uint32_t columns) { return units(columns) * (UNIT / PER_CHUNK); }

    template <class T>
    __device__ Shared<T> array() const {
        return shared_array<T>(start, PATCH_BYTES / sizeof(T));
    }

    // Chunks are exchanged so that the pairs of a fragment, in either type, use all banks.
    static __device__ uint32_t place(uint32_t row, uint32_t chunk) {
        return row * PATCH_ROW_BYTES + ((chunk ^ (States::BYTES == 4 ? row % 4 * 2 : row % 8)) * 16);
    }

    // The place of a lane's pair in a fragment, in the upper or the lower eight rows.
    __device__ uint32_t place_of_pair(int n, uint32_t rows) const {
        const uint32_t byte = (n * 8 + lane % 4 * 2) * States::BYTES;
        return place(rows + lane / 4, byte / 16) + byte % 16;
    }

    __device__ void put_two(int n, uint32_t rows, float low, float high) const {
        using Two = typename States::Two;
        array<Two>()[place_of_pair(n, rows) / sizeof(Two)] = States::two(low, high);
    }

    __device__ void get_two(float &low, float &high, int n, uint32_t rows) const {
        using Two = typename States::Two;
        const Two both = array<Two>()[place_of_pair(n, rows) / sizeof(Two)];
        low = States::first(both), high = States::second(both);
    }
};
