// The work of a block of the scan: tiles of rows x queries, cut into slices of every row's bytes.
#pragma once

#include "../common/memory.cuh"
#include "../ip_topk.h"

constexpr uint32_t TILE_ROWS = TOLLER_SCAN_ROWS;
constexpr uint32_t SLICE_BYTES = TOLLER_SCAN_SLICE;

// Whether the filter allows `ordinal`.
__device__ inline bool is_allowed(const toller_scan_args &args, uint32_t ordinal) {
    const auto words = global_array(args.allowed, args.allowed_words);
    const uint32_t word = ordinal / 32;
    return args.allowed == nullptr || (word < args.allowed_words && (words[word] >> (ordinal % 32) & 1) != 0);
}

// Whether the filter allows any row of a tile, or a row in the same words. Other tiles are not read.
__device__ inline bool any_is_allowed(const toller_scan_args &args, uint32_t first_row) {
    if (args.allowed == nullptr) return true;
    const auto words = global_array(args.allowed, args.allowed_words);
    const uint32_t rows = min(TILE_ROWS, args.row_count - first_row);
    const uint64_t first = static_cast<uint64_t>(args.first_ordinal) + first_row;
    for (uint64_t word = first / 32; word <= (first + rows - 1) / 32 && word < args.allowed_words; ++word) {
        if (words[word] != 0) return true;
    }
    return false;
}

// The place of a block in its work. Blocks take tiles in turn; tiles of the same rows follow each other, so
// that a row is read from memory once, and from the second-level cache for the other tiles of queries.
template <uint32_t TILE_QUERIES>
struct Cursor {
    // `row_tile` counts the tiles that are scanned.
    uint32_t row_tile, query_tile, slice;

    static __device__ uint32_t query_tiles(const toller_scan_args &args) {
        return (args.query_count + TILE_QUERIES - 1) / TILE_QUERIES;
    }

    static __device__ uint32_t slices(const toller_scan_args &args) {
        return (args.stride + SLICE_BYTES - 1) / SLICE_BYTES;
    }

    static __device__ Cursor first(const toller_scan_args &args) {
        Cursor cursor{blockIdx.x / query_tiles(args), blockIdx.x % query_tiles(args), 0};
        cursor.skip_what_is_not_allowed(args);
        return cursor;
    }

    __device__ bool is_at_end(const toller_scan_args &args) const { return row_tile >= args.tile_count; }
    __device__ uint32_t first_row(const toller_scan_args &args) const {
        return (args.first_tile + row_tile * args.tile_step) * TILE_ROWS;
    }
    __device__ uint32_t first_query() const { return query_tile * TILE_QUERIES; }

    __device__ void next_tile(const toller_scan_args &args) {
        step(args);
        skip_what_is_not_allowed(args);
    }

    __device__ void next_slice(const toller_scan_args &args) {
        if (++slice == slices(args)) next_tile(args);
    }

  private:
    // Without a division.
    __device__ void step(const toller_scan_args &args) {
        const uint32_t tiles = query_tiles(args);
        row_tile += gridDim.x / tiles;
        query_tile += gridDim.x % tiles;
        if (query_tile >= tiles) {
            query_tile -= tiles;
            ++row_tile;
        }
        slice = 0;
    }

    __device__ void skip_what_is_not_allowed(const toller_scan_args &args) {
        while (!is_at_end(args) && !any_is_allowed(args, first_row(args))) step(args);
    }
};

// The layout of a slice in shared memory: 128 bytes a row, with its 16-byte chunks exchanged so that neither
// eight chunks of one row nor the same chunk of eight rows share a bank. wgmma calls it the 128-byte swizzle.
__device__ inline uint32_t swizzled(uint32_t row, uint32_t chunk) {
    return row * SLICE_BYTES + ((chunk ^ (row % 8)) * 16);
}

// Starts to copy a slice of `ROWS` rows of `matrix`, which has `count` rows, from row `first` on. Beyond the
// matrix it writes zeros. A thread copies the same chunk of one row in `ROWS_AT_ONCE`.
template <uint32_t ROWS>
__device__ inline void load_slice(uint32_t to, Global<const char> matrix, uint64_t first, uint32_t count,
                                  uint32_t stride, uint32_t slice) {
    constexpr uint32_t CHUNKS = SLICE_BYTES / 16, ROWS_AT_ONCE = TOLLER_SCAN_THREADS / CHUNKS;
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
