// The scan's epilogue: appends the sums of a warp that can still be among the k best to the candidates.
//
// A warp holds ROWS x COLUMNS fragments of 16 rows x 8 queries, each as mma.sync (and wgmma) leaves it: lane
// 4 g + t has rows g and g + 8 of queries 2 t and 2 t + 1. All sums are tested, with two instructions each,
// and every lane notes in one word which of its fragments had a hit. The rest is rare and must not cost
// registers: fragments with hits are handled one by one, in a loop that is not unrolled.
#pragma once

#include "formats.cuh"
#include "tiles.cuh"

constexpr uint32_t ALL_LANES = 0xffffffffu;

// The facts of two neighbouring queries that the test needs: one 16-byte load.
struct alignas(16) QueryPair {
    float slope[2];
    float cutoff[2];
};

// Fills the table of a tile's pairs of queries.
template <uint32_t TILE_QUERIES>
__device__ inline void write_query_pairs(const toller_scan_args &args, Shared<QueryPair> pairs, uint32_t first_query) {
    const auto facts = global_array(args.facts, args.query_count);
    const auto thresholds = global_array(args.thresholds, args.query_count);
    for (uint32_t i = threadIdx.x; i < TILE_QUERIES / 2; i += TOLLER_SCAN_THREADS) {
        QueryPair pair;
        for (uint32_t j = 0; j < 2; ++j) {
            const uint32_t query = first_query + 2 * i + j;
            const bool present = query < args.query_count;
            // No finite sum reaches a query that is not there.
            pair.slope[j] = present ? facts[query].slope : 0.0f;
            pair.cutoff[j] = present ? cutoff_of(facts[query], thresholds[query]) : INFINITE;
        }
        pairs[i] = pair;
    }
}

// Whether a row may reach the threshold of a query. True for NaN.
template <class Format>
__device__ inline bool may_reach(typename Format::Sum sum, RowFacts row, float slope, float cutoff) {
    return !(__fmaf_rn(slope, row.spread, Format::scaled(sum, row)) < cutoff);
}

// Whether the query's list of excluded ordinals has `ordinal`.
__device__ inline bool is_excluded(const toller_scan_args &args, uint32_t query, uint32_t ordinal) {
    if (args.excluded == nullptr) return false;
    const auto offsets = global_array(args.excluded_offsets, static_cast<uint64_t>(args.query_count) + 1);
    const auto excluded = global_array(args.excluded, offsets[args.query_count]);
    uint64_t from = offsets[query], to = offsets[query + 1];
    while (from < to) {
        const uint64_t middle = from + (to - from) / 2;
        if (excluded[middle] < ordinal) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from < offsets[query + 1] && excluded[from] == ordinal;
}

// Appends the hits among a lane's two sums of one query to the query's candidates. All lanes take part; those
// with the same t have the same query and get their places with one atomic.
__device__ inline void append(const toller_scan_args &args, uint32_t query, const bool (&hits)[2],
                              const uint32_t (&ordinals)[2], const float (&sums)[2], const float (&spreads)[2]) {
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t same_query = 0x11111111u << (lane % 4), below = (1u << lane) - 1;
    const uint32_t first = __ballot_sync(ALL_LANES, hits[0]) & same_query;
    const uint32_t second = __ballot_sync(ALL_LANES, hits[1]) & same_query;
    const uint32_t either = first | second;
    const uint32_t leader = either != 0 ? __ffs(either) - 1 : lane;
    uint32_t base = 0;
    if (either != 0 && lane == leader) {
        const auto counts = global_array(args.counts, args.query_count);
        base = atomicAdd(&counts[query], static_cast<uint32_t>(__popc(first) + __popc(second)));
    }
    base = __shfl_sync(ALL_LANES, base, leader);
    const uint32_t slots[2] = {base + __popc(first & below), base + __popc(first) + __popc(second & below)};
    for (int i = 0; i < 2; ++i) {
        // Candidates beyond the capacity are only counted: the driver sees that and scans again.
        if (hits[i] && slots[i] < args.capacity) {
            const uint64_t buffers = static_cast<uint64_t>(args.query_count) * args.capacity;
            const auto candidates = global_array(args.candidates, buffers);
            const auto &facts = global_array(args.facts, args.query_count)[query];
            const uint64_t place = static_cast<uint64_t>(query) * args.capacity + slots[i];
            candidates[place] = bounded(facts, ordinals[i], sums[i], spreads[i]);
        }
    }
}

// Nominates from a fragment with at least one hit. `row` and `query` are those of the lane's first sum.
template <class Format>
__device__ inline void nominate_fragment(const toller_scan_args &args, const typename Format::Sum (&sums)[4],
                                         const RowFacts (&rows)[2], uint32_t row, uint32_t query,
                                         const QueryPair &pair) {
#pragma unroll
    for (uint32_t column = 0; column < 2; ++column) {
        bool hits[2];
        uint32_t ordinals[2];
        float scaled[2], spreads[2];
        for (uint32_t half = 0; half < 2; ++half) {
            const auto sum = sums[half * 2 + column];
            const uint32_t at = row + half * 8;
            ordinals[half] = args.first_ordinal + at;
            scaled[half] = Format::scaled(sum, rows[half]);
            spreads[half] = rows[half].spread;
            hits[half] = at < args.row_count && query + column < args.query_count &&
                         may_reach<Format>(sum, rows[half], pair.slope[column], pair.cutoff[column]) &&
                         is_allowed(args, ordinals[half]) && !is_excluded(args, query + column, ordinals[half]);
        }
        append(args, query + column, hits, ordinals, scaled, spreads);
    }
}

// Nominates from the sums of a warp. Its first row is `first_row` of the chunk; its first query is
// `first_query` of the group and `first_column` of the tile.
template <class Format, int ROWS, int COLUMNS>
__device__ inline void nominate(const toller_scan_args &args, const typename Format::Sum (&sums)[ROWS * COLUMNS][4],
                                Shared<QueryPair> pairs, uint32_t first_row, uint32_t first_query,
                                uint32_t first_column) {
    static_assert(ROWS * COLUMNS <= 32, "a bit a fragment");
    const uint32_t lane = threadIdx.x % 32, row = first_row + lane / 4, column = lane % 4 * 2;
    const float ratio = args.residual_ratio == nullptr ? 0.0f : global_array(args.residual_ratio, 1)[0];
    RowFacts rows[ROWS][2];
#pragma unroll
    for (int m = 0; m < ROWS; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const uint32_t at = row + m * 16 + half * 8;
            rows[m][half] = at < args.row_count ? Format::row(args, at, ratio) : RowFacts{0.0f, 0.0f};
        }
    }
    uint32_t hit = 0;
#pragma unroll
    for (int n = 0; n < COLUMNS; ++n) {
        const QueryPair pair = pairs[(first_column + n * 8 + column) / 2];
#pragma unroll
        for (int m = 0; m < ROWS; ++m) {
            const auto &of = sums[m * COLUMNS + n];
            const bool any = may_reach<Format>(of[0], rows[m][0], pair.slope[0], pair.cutoff[0]) |
                             may_reach<Format>(of[1], rows[m][0], pair.slope[1], pair.cutoff[1]) |
                             may_reach<Format>(of[2], rows[m][1], pair.slope[0], pair.cutoff[0]) |
                             may_reach<Format>(of[3], rows[m][1], pair.slope[1], pair.cutoff[1]);
            hit |= any ? 1u << (m * COLUMNS + n) : 0u;
        }
    }
    uint32_t hit_by_any = __reduce_or_sync(ALL_LANES, hit);
#pragma unroll 1
    while (hit_by_any != 0) {
        const int fragment = __ffs(hit_by_any) - 1;
        hit_by_any &= hit_by_any - 1;
        // Registers cannot be indexed at run time: the fragment is picked by comparing.
        typename Format::Sum picked[4];
        RowFacts picked_rows[2];
#pragma unroll
        for (int f = 0; f < ROWS * COLUMNS; ++f) {
            if (f == fragment) {
#pragma unroll
                for (int i = 0; i < 4; ++i) picked[i] = sums[f][i];
                picked_rows[0] = rows[f / COLUMNS][0];
                picked_rows[1] = rows[f / COLUMNS][1];
            }
        }
        const uint32_t m = fragment / COLUMNS, n = fragment % COLUMNS;
        const QueryPair pair = pairs[(first_column + n * 8 + column) / 2];
        nominate_fragment<Format>(args, picked, picked_rows, row + m * 16, first_query + n * 8 + column, pair);
    }
}
