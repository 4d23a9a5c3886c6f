// The work of a block of the scan: tiles of rows x queries, cut into slices of every row's bytes.
#pragma once

#include "../common/tile.cuh"
#include "../ip_topk.h"

static_assert(TILE_THREADS == TOLLER_SCAN_THREADS && TILE_ROWS == TOLLER_SCAN_ROWS && SLICE_BYTES == TOLLER_SCAN_SLICE,
              "as ip_topk.h says");

// Whether the filter allows `ordinal`.
__device__ inline bool is_allowed(const toller_scan_args &args, uint32_t ordinal) {
    const auto words = global_array(args.allowed, args.allowed_words);
    const uint32_t word = ordinal / 32;
    return args.allowed == nullptr || (word < args.allowed_words && (words[word] >> (ordinal % 32) & 1) != 0);
}

// Whether the filter allows any row of a tile, or a row in the same words. Other tiles are not read.
__device__ inline bool any_is_allowed(const toller_scan_args &args, uint32_t first_row, uint32_t tile_rows) {
    if (args.allowed == nullptr) return true;
    const auto words = global_array(args.allowed, args.allowed_words);
    const uint32_t rows = min(tile_rows, args.row_count - first_row);
    const uint64_t first = static_cast<uint64_t>(args.first_ordinal) + first_row;
    for (uint64_t word = first / 32; word <= (first + rows - 1) / 32 && word < args.allowed_words; ++word) {
        if (words[word] != 0) return true;
    }
    return false;
}

// The place of a block in its work. Blocks take tiles in turn; tiles of the same rows follow each other, so
// that a row is read from memory once, and from the second-level cache for the other tiles of queries.
template <uint32_t ROWS, uint32_t TILE_COLUMNS>
struct Cursor {
    // `row_tile` counts the tiles that are scanned.
    uint32_t row_tile, query_tile, slice;

    static __device__ uint32_t query_tiles(const toller_scan_args &args) {
        return (args.query_count + TILE_COLUMNS - 1) / TILE_COLUMNS;
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
        const uint32_t number = args.first_tile + row_tile;
        // Tile 0 of TOLLER_SCAN_SAMPLE is skipped.
        return (number + args.skips * (number / (TOLLER_SCAN_SAMPLE - 1) + 1)) * args.tile_step * ROWS;
    }
    __device__ uint32_t first_query() const { return query_tile * TILE_COLUMNS; }

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
        while (!is_at_end(args) && !any_is_allowed(args, first_row(args), ROWS)) step(args);
    }
};
