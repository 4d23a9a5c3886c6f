// The scan with bulk tensor copies (TMA) and specialised warps, for sm_90a.
//
// Warpgroup 0 copies and nominates; the three others multiply and compare, 64 rows of the tile each. They
// meet only at mbarriers: while one compares, the tensor cores work for the other two. Of warpgroup 0, one
// thread of the first warp fills the ring of stages, and each other warp nominates the hits of one of the
// three.
#pragma once

#include "../common/ring.cuh"
#include "../common/warpgroups.cuh"
#include "nominate.cuh"

// The block's dynamic shared memory: stages; tables of queries; hits of each warpgroup that multiplies;
// barriers; and the counts of hits.
struct TmaLayout {
    static constexpr uint32_t ROWS = TOLLER_SCAN_TMA_ROWS, QUERIES = TOLLER_SCAN_TMA_QUERIES, STAGES = TOLLER_SCAN_TMA_STAGES;
    static constexpr uint32_t GROUPS = ROWS / 64;
    static constexpr uint32_t ROWS_BYTES = ROWS * SLICE_BYTES, STAGE_BYTES = ROWS_BYTES + QUERIES * SLICE_BYTES;
    // The table of a tile is copied with the tile's first slice: when all warpgroups have released the slice
    // STAGES before it. They have then compared all tiles before that slice's, so those STAGES + 1 before.
    static constexpr uint32_t TABLES = STAGES + 1, PAIRS = QUERIES / 2, TABLE_BYTES = PAIRS * sizeof(QueryPair);
    static constexpr uint32_t MOST_HITS = TOLLER_SCAN_TMA_HITS;
    static constexpr uint32_t TABLES_AT = STAGES * STAGE_BYTES;
    static constexpr uint32_t HITS_AT = TABLES_AT + TABLES * TABLE_BYTES;
    static constexpr uint32_t RING_AT = HITS_AT + GROUPS * MOST_HITS * sizeof(TileHit);
    static constexpr uint32_t BARRIERS_AT = RING_AT + Ring<STAGES>::BARRIERS_BYTES;
    static constexpr uint32_t COUNTS_AT = BARRIERS_AT + GROUPS * 16;
    static constexpr uint32_t BYTES = COUNTS_AT + GROUPS * 8;
    static_assert(BYTES + 1024 == TOLLER_SCAN_SHARED_TMA, "as ip_topk.h says");

    uint32_t start;

    __device__ Ring<STAGES> ring() const { return Ring<STAGES>::at(shared_address(start + RING_AT)); }
    __device__ uint32_t rows(uint32_t stage) const { return shared_address(start + stage * STAGE_BYTES); }
    __device__ uint32_t queries(uint32_t stage) const { return rows(stage) + ROWS_BYTES; }

    __device__ uint32_t table(uint32_t number) const { return start + TABLES_AT + number * TABLE_BYTES; }
    __device__ Shared<QueryPair> pairs(uint32_t number) const { return shared_array<QueryPair>(table(number), PAIRS); }

    __device__ TileHits hits(uint32_t group) const {
        return {shared_array<TileHit>(start + HITS_AT + group * MOST_HITS * sizeof(TileHit), MOST_HITS),
                shared_array<uint32_t>(start + COUNTS_AT + group * 8, 1)};
    }
    // Of the hits of a warpgroup: all are there; all are nominated.
    __device__ uint32_t hits_full(uint32_t group) const { return shared_address(start + BARRIERS_AT + group * 16); }
    __device__ uint32_t hits_empty(uint32_t group) const { return hits_full(group) + 8; }

    // By one thread, before all others begin.
    __device__ void make() const {
        ring().make(GROUPS * 4);
        for (uint32_t group = 0; group < GROUPS; ++group) {
            barrier_make(hits_full(group), 4);
            barrier_make(hits_empty(group), 1);
            hits(group).count[0] = 0;
        }
        barrier_make_fence();
    }
};

using TmaCursor = Cursor<TmaLayout::ROWS, TmaLayout::QUERIES>;

// Copies the slices of all tiles, and with the first of a tile its table of queries. By one thread.
__device__ inline void copy_tiles(const toller_scan_tma_args &args, TmaLayout layout) {
    const toller_scan_args &scan = args.scan;
    const auto pairs = global_array(scan.pairs, TmaCursor::query_tiles(scan) * TmaLayout::PAIRS);
    auto ring = layout.ring();
    uint32_t table = 0;
#pragma unroll 1
    for (auto tile = TmaCursor::first(scan); !tile.is_at_end(scan); tile.next_tile(scan)) {
        const uint32_t row = tile.first_row(scan), query = tile.first_query();
#pragma unroll 1
        for (uint32_t slice = 0; slice < TmaCursor::slices(scan); ++slice) {
            ring.begin_to_fill(TmaLayout::STAGE_BYTES + (slice == 0 ? TmaLayout::TABLE_BYTES : 0));
            if (slice == 0) {
                copy_bulk(shared_address(layout.table(table)), &pairs[query / 2], TmaLayout::TABLE_BYTES, ring.barrier());
            }
            copy_box(layout.rows(ring.stage), &args.rows, slice * SLICE_BYTES, row, ring.barrier());
            copy_box(layout.queries(ring.stage), &args.queries, slice * SLICE_BYTES, query, ring.barrier());
            ring.next();
        }
        if (++table == TmaLayout::TABLES) table = 0;
    }
}

// Nominates the hits of all tiles of a warpgroup. By one warp.
template <class Format>
__device__ inline void nominate_tiles(const toller_scan_args &args, TmaLayout layout, uint32_t group) {
    const uint32_t lane = threadIdx.x % 32;
    const TileHits hits = layout.hits(group);
    uint32_t parity = 0;
#pragma unroll 1
    for (auto tile = TmaCursor::first(args); !tile.is_at_end(args); tile.next_tile(args)) {
        barrier_wait(layout.hits_full(group), parity);
        hits.nominate_all<Format>(args, tile.first_row(args), tile.first_query(), lane, 32);
        __syncwarp();
        if (lane == 0) {
            hits.count[0] = 0;
            barrier_arrive(layout.hits_empty(group));
        }
        parity ^= 1;
    }
}

// Multiplies and compares 64 rows of all tiles. By one warpgroup.
template <class Format>
__device__ inline void multiply_tiles(const toller_scan_args &args, TmaLayout layout) {
    using Engine = Warpgroups<Format, TmaLayout::QUERIES / 8, 1>;
    const uint32_t group = Engine::group();
    const TileHits hits = layout.hits(group);
    auto ring = layout.ring();
    // The hits of the tile before the first are nominated.
    uint32_t table = 0, parity = 1;
    Engine engine;
#pragma unroll 1
    for (auto tile = TmaCursor::first(args); !tile.is_at_end(args); tile.next_tile(args)) {
        engine.clear();
#pragma unroll 1
        for (uint32_t slice = 0; slice < TmaCursor::slices(args); ++slice) {
            ring.wait();
            engine.multiply(layout.rows(ring.stage), layout.queries(ring.stage));
            ring.release();
            ring.next();
        }
        engine.finish();
        barrier_wait(layout.hits_empty(group), parity);
        nominate<Format, Engine::ROWS, Engine::COLUMNS>(args, engine.sums, layout.pairs(table), hits, tile.first_row(args),
                                                        tile.first_query(), Engine::first_row(), 0);
        // The table of queries was read by plain loads, and a bulk copy will overwrite it.
        fence_proxy_async();
        __syncwarp();
        if (threadIdx.x % 32 == 0) barrier_arrive(layout.hits_full(group));
        parity ^= 1;
        if (++table == TmaLayout::TABLES) table = 0;
    }
}

template <class Format>
__device__ inline void scan_tma(const toller_scan_tma_args &args) {
    // A multiprocessor has 512 for each set of four threads, one of each warpgroup.
    constexpr uint32_t COPYING_REGISTERS = 32, MULTIPLYING_REGISTERS = 160;
    const TmaLayout layout{aligned_shared()};
    if (threadIdx.x == 0) layout.make();
    __syncthreads();
    if (threadIdx.x >= 128) {
        take_registers<MULTIPLYING_REGISTERS>();
        multiply_tiles<Format>(args.scan, layout);
        return;
    }
    keep_registers<COPYING_REGISTERS>();
    if (threadIdx.x >= 32) {
        nominate_tiles<Format>(args.scan, layout, threadIdx.x / 32 - 1);
    } else if (threadIdx.x == 0) {
        copy_tiles(args, layout);
    }
}
