// The scores that are returned: in f64, in the one order that every device keeps.
//
// Number i goes to partial sum i % 16, in ascending order; then the upper half of the partial sums is added
// to the lower half until one is left, which is rounded to f32. Sixteen lanes hold the partial sums, so half
// a warp scores a row. The product of two f32 is exact in f64, whether the multiply-add is fused or not.
#pragma once

#include "../common/memory.cuh"
#include "bounds.cuh"

constexpr uint32_t PARTIAL_SUMS = 16, TEAMS_OF_WARP = 32 / PARTIAL_SUMS;
// Rows that half a warp scores at a time: their loads overlap, and the query is widened once.
constexpr uint32_t ROWS_OF_TEAM = 4, ROWS_OF_WARP = ROWS_OF_TEAM * TEAMS_OF_WARP;
// Numbers of each row that a lane loads at a time.
constexpr uint32_t STEPS_AT_ONCE = 4;
// Candidates that a warp looks through at a time. Those to be scored wait until the warp has enough of them.
constexpr uint32_t LOOKED_THROUGH = TOLLER_RESCORE_LOOKED_THROUGH, MOST_WAITING = ROWS_OF_WARP + LOOKED_THROUGH;
// A candidate to be scored: its place among the query's candidates, and its row.
struct Waiting {
    uint32_t place, row;
};
static_assert(TOLLER_RESCORE_SHARED == TOLLER_RESCORE_THREADS / 32 * MOST_WAITING * sizeof(Waiting), "as ip_topk.h says");

// Adds the upper halves to the lower ones; the sum is in the first of the sixteen lanes.
__device__ inline double folded(double sum) {
    for (uint32_t half = PARTIAL_SUMS / 2; half > 0; half /= 2) {
        // Lanes beyond the half add something that is never read.
        sum += __shfl_down_sync(0xffffffffu, sum, half, PARTIAL_SUMS);
    }
    return sum;
}

// Adds the next `STEPS` products of each row to a lane's partial sums, in their order. All are loaded first.
template <class Stored, uint32_t STEPS>
__device__ inline void add_products(double (&sums)[ROWS_OF_TEAM], Global<const float> query,
                                    const Global<const typename Stored::Value> (&rows)[ROWS_OF_TEAM], uint32_t first) {
    float numbers[STEPS];
    typename Stored::Value values[STEPS][ROWS_OF_TEAM];
#pragma unroll
    for (uint32_t step = 0; step < STEPS; ++step) {
        numbers[step] = query[first + step * PARTIAL_SUMS];
#pragma unroll
        for (uint32_t j = 0; j < ROWS_OF_TEAM; ++j) values[step][j] = rows[j][first + step * PARTIAL_SUMS];
    }
#pragma unroll
    for (uint32_t step = 0; step < STEPS; ++step) {
        const double number = numbers[step];
#pragma unroll
        for (uint32_t j = 0; j < ROWS_OF_TEAM; ++j) sums[j] += number * Stored::widened(values[step][j]);
    }
}

template <class Stored>
__device__ inline void rescore(const toller_rescore_args &args) {
    using Value = typename Stored::Value;
    constexpr uint32_t AT_ONCE = PARTIAL_SUMS * STEPS_AT_ONCE;
    const uint32_t query_number = blockIdx.x, lane = threadIdx.x % 32, team = lane / PARTIAL_SUMS, of_row = lane % PARTIAL_SUMS;
    const uint32_t warps = blockDim.x / 32, warp = threadIdx.x / 32;
    const uint32_t count = global_array(args.counts, args.query_count)[query_number];
    if (count > args.capacity) return;
    const auto query = global_array(args.queries + static_cast<uint64_t>(query_number) * args.dim, args.dim);
    const auto candidates =
        global_array(args.candidates + static_cast<uint64_t>(query_number) * args.capacity, args.capacity);
    const float aim = args.aims == nullptr ? -INFINITE : global_array(args.aims, args.query_count)[query_number];
    // What has no bounds has no middle, and is wanted.
    const auto is_wanted = [&](toller_candidate candidate, uint32_t row) {
        return row < args.row_count && !(candidate.lower == candidate.upper) && !(middle_of(candidate) < aim);
    };

    const auto waiting = shared_array<Waiting>(warp * MOST_WAITING * sizeof(Waiting), MOST_WAITING);
    uint32_t held = 0, scored = 0;
    uint64_t next = (blockIdx.y * warps + warp) * uint64_t{LOOKED_THROUGH};
    while (true) {
        for (; held < ROWS_OF_WARP && next < count; next += uint64_t{gridDim.y} * warps * LOOKED_THROUGH) {
            const uint64_t i = next + lane;
            const bool present = lane < LOOKED_THROUGH && i < count;
            toller_candidate candidate = {0, 0.0f, 0.0f};
            if (present) candidate = candidates[i];
            // Ordinals below the first row's wrap around to beyond the last row.
            const uint32_t row = candidate.ordinal - args.first_ordinal;
            const bool wanted = present && is_wanted(candidate, row);
            const uint32_t all = __ballot_sync(0xffffffffu, wanted);
            if (wanted) waiting[held + __popc(all & ((1u << lane) - 1))] = {static_cast<uint32_t>(i), row};
            held += __popc(all);
        }
        __syncwarp();
        if (held == 0) break;
        const uint32_t taken = min(held, ROWS_OF_WARP);
        held -= taken;
        // A team without a row takes the last one's; it does not write its score.
        const auto taken_by = [&](uint32_t j) -> Waiting { return waiting[held + min(j * TEAMS_OF_WARP + team, taken - 1)]; };
        Global<const Value> rows[ROWS_OF_TEAM];
        double sums[ROWS_OF_TEAM] = {};
#pragma unroll
        for (uint32_t j = 0; j < ROWS_OF_TEAM; ++j) {
            const char *at = static_cast<const char *>(args.rows) + uint64_t{taken_by(j).row} * args.stride;
            rows[j] = global_array(reinterpret_cast<const Value *>(at), args.dim);
        }
        const uint32_t whole = args.dim / AT_ONCE * AT_ONCE;
        for (uint32_t i = of_row; i < whole; i += AT_ONCE) add_products<Stored, STEPS_AT_ONCE>(sums, query, rows, i);
        for (uint32_t i = whole + of_row; i < args.dim; i += PARTIAL_SUMS) add_products<Stored, 1>(sums, query, rows, i);
#pragma unroll
        for (uint32_t j = 0; j < ROWS_OF_TEAM; ++j) {
            const float score = __double2float_rn(folded(sums[j]));
            if (of_row != 0 || j * TEAMS_OF_WARP + team >= taken) continue;
            toller_candidate &scored_now = candidates[taken_by(j).place];
            scored_now.lower = scored_now.upper = score;
        }
        scored += taken;
        // All have read the numbers that the next candidates overwrite.
        __syncwarp();
    }
    if (lane == 0 && scored > 0) atomicAdd(&global_array(args.nominated, args.query_count)[query_number], scored);
}
