// The scan's epilogue: appends the sums of a warp that can still be among the k best to the candidates.
//
// A warp holds ROWS x COLUMNS fragments of 16 rows x 8 queries, each as mma.sync (and wgmma) leaves it: lane
// 4 g + t has rows g and g + 8 of queries 2 t and 2 t + 1. All sums are tested, with two instructions each,
// and every lane notes in one word which of its fragments had a hit. Hits go to a list in shared memory.
// Threads filter and append the list while the next tile is multiplied, all hits at once: an atomic in global
// memory takes as long as several slices of products, and must not be waited for hit by hit.
#pragma once

#include "formats.cuh"
#include "tiles.cuh"

// A table's pair of queries: one 16-byte load.
struct alignas(16) QueryPair : toller_query_pair {};

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

// Whether a row that reaches its query's threshold is a candidate: it is not padding, and no filter drops it.
__device__ inline bool is_candidate(const toller_scan_args &args, uint32_t row, uint32_t query) {
    const uint32_t ordinal = args.first_ordinal + row;
    return row < args.row_count && query < args.query_count && is_allowed(args, ordinal) && !is_excluded(args, query, ordinal);
}

// Candidates beyond the capacity are only counted: the driver sees that and scans again.
__device__ inline void write_candidate(const toller_scan_args &args, uint32_t query, uint32_t slot, toller_candidate found) {
    if (slot >= args.capacity) return;
    const auto candidates = global_array(args.candidates, static_cast<uint64_t>(args.query_count) * args.capacity);
    candidates[static_cast<uint64_t>(query) * args.capacity + slot] = found;
}

// The largest ratio of the group's queries, which only codes have.
__device__ inline float residual_ratio_of(const toller_scan_args &args) {
    return args.residual_ratio == nullptr ? 0.0f : global_array(args.residual_ratio, 1)[0];
}

// Nominates a row for a query, unless a filter drops it. `sum` is as the bounds take it.
template <class Format>
__device__ inline void nominate_row(const toller_scan_args &args, uint32_t row, uint32_t query, float sum, float ratio) {
    if (!is_candidate(args, row, query)) return;
    const float spread = Format::row(args, row, ratio).spread;
    const uint32_t slot = atomicAdd(&global_array(args.counts, args.query_count)[query], 1u);
    write_candidate(args, query, slot, {args.first_ordinal + row, sum, spread});
}

// A sum of the tile that may reach its query's threshold. Row and query are counted in the tile.
struct alignas(8) TileHit {
    uint32_t place; // row * 256 + query, or NO_HIT
    float sum;      // as the bounds take it
};
constexpr uint32_t NO_HIT = UINT32_MAX;

// The hits of a tile in shared memory. The scan writes them in one tile and empties them in the next.
struct TileHits {
    Shared<TileHit> hits;
    Shared<uint32_t> count; // [1]

    // Adds the hits among a lane's sums of a fragment, if they all fit. `place` belongs to the first sum.
    __device__ bool add(const float (&sums)[4], const bool (&is_hit)[4], uint32_t place) const {
        const uint32_t found = is_hit[0] + is_hit[1] + is_hit[2] + is_hit[3];
        uint32_t slot = count.add(0, found);
        if (slot + found > hits.len) {
            // The first hits that do not fit leave a gap; later ones begin beyond the end.
            for (; slot < hits.len; ++slot) hits[slot] = {NO_HIT, 0.0f};
            return false;
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (is_hit[i]) hits[slot++] = {place + i / 2 * 8 * 256 + i % 2, sums[i]};
        }
        return true;
    }

    // Nominates the hits of the tile that begins at `first_row` and `first_query`. Threads take turns.
    template <class Format>
    __device__ void nominate_all(const toller_scan_args &args, uint32_t first_row, uint32_t first_query, uint32_t thread,
                                 uint32_t threads) const {
        const uint32_t held = min(uint32_t{count[0]}, hits.len);
        const float ratio = residual_ratio_of(args);
#pragma unroll 1
        for (uint32_t i = thread; i < held; i += threads) {
            const TileHit hit = hits[i];
            if (hit.place == NO_HIT) continue;
            nominate_row<Format>(args, first_row + hit.place / 256, first_query + hit.place % 256, hit.sum, ratio);
        }
    }
};

// Nominates from the sums of a warp, whose first row is `warp_row` and whose first query is `warp_query` of
// the tile that begins at `first_row` of the chunk and at `first_query` of the group.
template <class Format, int ROWS, int COLUMNS>
__device__ inline void nominate(const toller_scan_args &args, const typename Format::Sum (&sums)[ROWS * COLUMNS][4],
                                Shared<QueryPair> pairs, TileHits tile_hits, uint32_t first_row, uint32_t first_query,
                                uint32_t warp_row, uint32_t warp_query) {
    static_assert(ROWS * COLUMNS <= 32, "a bit a fragment");
    const uint32_t lane = threadIdx.x % 32, row = warp_row + lane / 4, query = warp_query + lane % 4 * 2;
    const float ratio = residual_ratio_of(args);
    RowFacts rows[ROWS][2];
#pragma unroll
    for (int m = 0; m < ROWS; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const uint32_t at = first_row + row + m * 16 + half * 8;
            rows[m][half] = at < args.row_count ? Format::row(args, at, ratio) : RowFacts{0.0f, 0.0f};
        }
    }
    uint32_t hit = 0;
#pragma unroll
    for (int n = 0; n < COLUMNS; ++n) {
        const QueryPair pair = pairs[(query + n * 8) / 2];
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
    // Each lane takes its fragments with a hit in turn: few lanes have one, and very few have two. The code for a
    // fragment is there once, since it would come from far away if it were there for each.
#pragma unroll 1
    while (hit != 0) {
        const int fragment = __ffs(hit) - 1;
        hit &= hit - 1;
        // By comparing: registers cannot be indexed at run time.
        typename Format::Sum picked[4];
        RowFacts of_rows[2];
#pragma unroll
        for (int f = 0; f < ROWS * COLUMNS; ++f) {
            if (f != fragment) continue;
#pragma unroll
            for (int i = 0; i < 4; ++i) picked[i] = sums[f][i];
            of_rows[0] = rows[f / COLUMNS][0], of_rows[1] = rows[f / COLUMNS][1];
        }
        const uint32_t at_row = row + fragment / COLUMNS * 16, at = query + fragment % COLUMNS * 8;
        const QueryPair pair = pairs[at / 2];
        float scaled[4];
        bool is_hit[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            scaled[i] = Format::scaled(picked[i], of_rows[i / 2]);
            is_hit[i] = may_reach<Format>(picked[i], of_rows[i / 2], pair.slope[i % 2], pair.cutoff[i % 2]);
        }
        if (tile_hits.add(scaled, is_hit, at_row * 256 + at)) continue;
        // They do not fit, as in the first chunk, which nominates all rows.
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (is_hit[i]) nominate_row<Format>(args, first_row + at_row + i / 2 * 8, first_query + at + i % 2, scaled[i], ratio);
        }
    }
}
