// The scan: tiles of rows times tiles of queries on tensor cores. Only candidates for the k best are written.
//
// A persistent block works through its tiles slice by slice (128 bytes of every row at a time). A ring of
// stages holds the slices. Copies run ahead of the products, across the ends of tiles, so that memory is busy
// while a tile is compared. The products come from the engine of common/tile.cuh.
#pragma once

#include "nominate.cuh"

// The block's dynamic shared memory: a ring of stages, each with a slice of rows and a slice of queries; a
// ring of as many tables of queries; and the tile's hits.
template <uint32_t TILE, int STAGES>
struct Layout {
    static constexpr uint32_t ROWS_BYTES = TILE_ROWS * SLICE_BYTES;
    static constexpr uint32_t STAGE_BYTES = ROWS_BYTES + TILE * SLICE_BYTES;
    static constexpr uint32_t PAIRS = TILE / 2;
    static constexpr uint32_t TABLE_BYTES = PAIRS * sizeof(QueryPair);
    static constexpr uint32_t HITS = STAGES * (STAGE_BYTES + TABLE_BYTES);
    static constexpr uint32_t MOST_HITS = TOLLER_SCAN_HITS(TILE);
    static constexpr uint32_t COUNTS = HITS + MOST_HITS * sizeof(TileHit);
    static constexpr uint32_t BYTES = COUNTS + 16;
    static_assert(BYTES + 1024 == TOLLER_SCAN_SHARED(TILE, STAGES), "as ip_topk.h says");

    uint32_t start;

    __device__ uint32_t rows(uint32_t stage) const { return shared_address(start + stage * STAGE_BYTES); }
    __device__ uint32_t queries(uint32_t stage) const { return rows(stage) + ROWS_BYTES; }

    __device__ uint32_t table(uint32_t number) const { return start + STAGES * STAGE_BYTES + number * TABLE_BYTES; }
    __device__ Shared<QueryPair> pairs(uint32_t number) const { return shared_array<QueryPair>(table(number), PAIRS); }

    // The hits of even or of odd tiles: one list with two counts.
    __device__ TileHits hits(uint32_t parity) const {
        return {shared_array<TileHit>(start + HITS, MOST_HITS), shared_array<uint32_t>(start + COUNTS + parity * 4, 1)};
    }
};

template <class Format, class Engine, int STAGES>
__device__ inline void scan(const toller_scan_args &args) {
    constexpr uint32_t QUERIES = Engine::TILE_COLUMNS;
    constexpr int AHEAD = STAGES - 1;
    const Layout<QUERIES, STAGES> layout{aligned_shared()};
    const uint64_t stride = args.stride;
    const auto rows = global_array(static_cast<const char *>(args.rows), args.row_count * stride);
    const auto queries = global_array(static_cast<const char *>(args.queries), args.query_count * stride);

    // Tables are loaded with the first slices of their tiles: at most AHEAD tiles ahead, so STAGES tables
    // suffice.
    static_assert(AHEAD < STAGES, "a table is not loaded before the tile that used its place is done");
    using Place = Cursor<TILE_ROWS, QUERIES>;
    const auto pairs = global_array(args.pairs, Place::query_tiles(args) * (QUERIES / 2));
    auto loading = Place::first(args);
    uint32_t loading_table = 0;
    const auto load_next = [&](uint32_t stage) {
        if (!loading.is_at_end(args)) {
            if (loading.slice == 0) {
                if (threadIdx.x < QUERIES / 2) {
                    const uint32_t to = shared_address(layout.table(loading_table) + threadIdx.x * sizeof(QueryPair));
                    cp_async_16(to, &pairs[loading.first_query() / 2 + threadIdx.x], true);
                }
                loading_table = (loading_table + 1) % STAGES;
            }
            load_slice<TILE_ROWS>(layout.rows(stage), rows, loading.first_row(args), args.row_count, args.stride,
                                  loading.slice);
            load_slice<QUERIES>(layout.queries(stage), queries, loading.first_query(), args.query_count, args.stride,
                                loading.slice);
            loading.next_slice(args);
        }
        // Commits a group even without copies: the number of groups then says which slices have arrived.
        cp_async_commit();
    };
#pragma unroll 1
    for (int stage = 0; stage < AHEAD; ++stage) load_next(stage);

    Engine engine;
    if (threadIdx.x < 2) layout.hits(threadIdx.x).count[0] = 0;
    const uint32_t slices = Place::slices(args);
    uint32_t stage = 0, table = 0;
    // Of the tile before, whose hits are nominated during this one.
    uint32_t parity = 0, row_before = 0, query_before = 0;
    auto tile = Place::first(args);
#pragma unroll 1
    for (; !tile.is_at_end(args); tile.next_tile(args)) {
        engine.clear();
#pragma unroll 1
        for (uint32_t slice = 0; slice < slices; ++slice) {
            cp_async_wait<AHEAD - 1>();
            // For all threads: this slice has arrived, and the slice before it has been multiplied.
            __syncthreads();
            load_next((stage + AHEAD) % STAGES);
            if (slice == min(1u, slices - 1)) {
                // The barrier above was after the last hit of the tile before.
                layout.hits(parity).template nominate_all<Format>(args, row_before, query_before, threadIdx.x, TILE_THREADS);
                parity ^= 1;
                if (threadIdx.x == 0) layout.hits(parity).count[0] = 0;
                // This tile's hits need the new count; else the next slice's barrier is between.
                if (slice + 1 == slices) __syncthreads();
            }
            engine.multiply(layout.rows(stage), layout.queries(stage));
            stage = (stage + 1) % STAGES;
        }
        row_before = tile.first_row(args), query_before = tile.first_query();
        nominate<Format, Engine::ROWS, Engine::COLUMNS>(args, engine.sums, layout.pairs(table), layout.hits(parity), row_before,
                                                        query_before, Engine::first_row(), Engine::first_column());
        table = (table + 1) % STAGES;
    }
    __syncthreads();
    layout.hits(parity).template nominate_all<Format>(args, row_before, query_before, threadIdx.x, TILE_THREADS);
    cp_async_wait<0>();
}
