// The scan's epilogue: appends the sums of a warp that can still be among the k best to the candidates.
//
// A warp holds ROWS x COLUMNS fragments of 16 rows x 8 queries, each as mma.sync (and wgmma) leaves it: lane
// 4 g + t has rows g and g + 8 of queries 2 t and 2 t + 1. All sums are tested, with two instructions each,
// and every lane notes in one word which of its fragments had a hit. The sums of fragments with hits go to a
// list in shared memory. Threads filter and append the list while the next tile is multiplied, all hits
// at once: an atomic in global memory takes as long as several slices of products, and must not be waited for
// hit by hit.
#pragma once

#include "formats.cuh"
#include "tiles.cuh"

constexpr uint32_t ALL_LANES = 0xffffffffu;

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

// Appends the hits among a lane's two sums of one query to the query's candidates. All lanes take part; those
// with the same t have the same query and get their places with one atomic.
__device__ inline void append(const toller_scan_args &args, uint32_t query, const bool (&hits)[2],
                              const toller_candidate (&found)[2]) {
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
        if (hits[i]) write_candidate(args, query, slots[i], found[i]);
    }
}

// Nominates from a fragment with at least one hit. `row` and `query` belong to the lane's first sum.
template <class Format>
__device__ inline void nominate_fragment(const toller_scan_args &args, const typename Format::Sum (&sums)[4],
                                         const RowFacts (&rows)[2], uint32_t row, uint32_t query,
                                         const QueryPair &pair) {
#pragma unroll
    for (uint32_t column = 0; column < 2; ++column) {
        bool hits[2];
        toller_candidate found[2];
        for (uint32_t half = 0; half < 2; ++half) {
            const auto sum = sums[half * 2 + column];
            const uint32_t at = row + half * 8;
            found[half] = {args.first_ordinal + at, Format::scaled(sum, rows[half]), rows[half].spread};
            hits[half] = may_reach<Format>(sum, rows[half], pair.slope[column], pair.cutoff[column]) &&
                         is_candidate(args, at, query + column);
        }
        append(args, query + column, hits, found);
    }
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

    // Adds a fragment's hits, if they all fit. All lanes take part. `place` belongs to the lane's first sum.
    template <class Format>
    __device__ bool add(const typename Format::Sum (&sums)[4], const RowFacts (&rows)[2], uint32_t place,
                        const QueryPair &pair) const {
        const uint32_t lane = threadIdx.x % 32, below = (1u << lane) - 1;
        uint32_t lanes[4], total = 0;
        typename Format::Sum own[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            // Else the compiler keeps what it has computed of all sums for the tests, in registers that there
            // are not.
            own[i] = forgotten(sums[i]);
            lanes[i] = __ballot_sync(ALL_LANES, may_reach<Format>(own[i], rows[i / 2], pair.slope[i % 2], pair.cutoff[i % 2]));
            total += __popc(lanes[i]);
        }
        uint32_t slot = lane == 0 ? count.add(0, total) : 0;
        slot = __shfl_sync(ALL_LANES, slot, 0);
        if (slot + total > hits.len) {
            // The first fragment that does not fit leaves a gap; later ones begin beyond the end.
#pragma unroll 1
            for (uint32_t i = slot + lane; i < hits.len; i += 32) hits[i] = {NO_HIT, 0.0f};
            return false;
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if ((lanes[i] >> lane & 1) != 0) {
                hits[slot + __popc(lanes[i] & below)] = {place + i / 2 * 8 * 256 + i % 2, Format::scaled(own[i], rows[i / 2])};
            }
            slot += __popc(lanes[i]);
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
            const uint32_t row = first_row + hit.place / 256, query = first_query + hit.place % 256;
            if (hit.place == NO_HIT || !is_candidate(args, row, query)) continue;
            const uint32_t slot = atomicAdd(&global_array(args.counts, args.query_count)[query], 1u);
            write_candidate(args, query, slot, {args.first_ordinal + row, hit.sum, Format::row(args, row, ratio).spread});
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
    uint32_t left = __reduce_or_sync(ALL_LANES, hit);
    if (left == 0) return;
    // Unrolled: registers cannot be indexed at run time. Groups without a hit are passed over at once, since
    // every branch of so long a code is far away.
    constexpr int GROUP = 8;
#pragma unroll
    for (int first = 0; first < ROWS * COLUMNS; first += GROUP) {
        if ((left >> first & ((1u << GROUP) - 1)) == 0) continue;
#pragma unroll
        for (int f = first; f < first + GROUP && f < ROWS * COLUMNS; ++f) {
            if ((left >> f & 1) != 0) {
                const uint32_t at = query + f % COLUMNS * 8;
                const uint32_t place = (row + f / COLUMNS * 16) * 256 + at;
                if (tile_hits.add<Format>(sums[f], rows[f / COLUMNS], place, pairs[at / 2])) left &= ~(1u << f);
            }
        }
    }
    // What did not fit, as in the first chunk, which nominates all rows.
#pragma unroll 1
    while (left != 0) {
        const int fragment = __ffs(left) - 1;
        left &= left - 1;
        // The fragment is picked by comparing, so that the long code below is there once.
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
        const uint32_t at = query + fragment % COLUMNS * 8;
        nominate_fragment<Format>(args, picked, picked_rows, first_row + row + fragment / COLUMNS * 16, first_query + at,
                                  pairs[at / 2]);
    }
}
