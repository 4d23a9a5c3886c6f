// The scores that are returned: in f64, in the one order that every device keeps.
//
// Number i goes to partial sum i % 16, in ascending order; then the upper half of the partial sums is added
// to the lower half until one is left, which is rounded to f32. Sixteen lanes hold the partial sums, so half
// a warp scores a row. The product of two f32 is exact in f64, whether the multiply-add is fused or not.
#pragma once

#include "../common/memory.cuh"
#include "../common/numbers.cuh"
#include "../ip_topk.h"

constexpr uint32_t PARTIAL_SUMS = 16;
// Rows that a half-warp scores at a time: their loads overlap, and the query is widened once.
constexpr uint32_t ROWS_AT_ONCE = 4;
// Numbers of each row that a lane loads at a time.
constexpr uint32_t STEPS_AT_ONCE = 4;

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
__device__ inline void add_products(double (&sums)[ROWS_AT_ONCE], Global<const float> query,
                                    const Global<const typename Stored::Value> (&rows)[ROWS_AT_ONCE], uint32_t first) {
    float numbers[STEPS];
    typename Stored::Value values[STEPS][ROWS_AT_ONCE];
#pragma unroll
    for (uint32_t step = 0; step < STEPS; ++step) {
        numbers[step] = query[first + step * PARTIAL_SUMS];
#pragma unroll
        for (uint32_t j = 0; j < ROWS_AT_ONCE; ++j) values[step][j] = rows[j][first + step * PARTIAL_SUMS];
    }
#pragma unroll
    for (uint32_t step = 0; step < STEPS; ++step) {
        const double number = numbers[step];
#pragma unroll
        for (uint32_t j = 0; j < ROWS_AT_ONCE; ++j) sums[j] += number * Stored::widened(values[step][j]);
    }
}

template <class Stored>
__device__ inline void rescore(const toller_rescore_args &args) {
    using Value = typename Stored::Value;
    const uint32_t query_number = blockIdx.x, lane = threadIdx.x % PARTIAL_SUMS;
    const uint32_t team = blockIdx.y * (blockDim.x / PARTIAL_SUMS) + threadIdx.x / PARTIAL_SUMS;
    const uint32_t teams = gridDim.y * (blockDim.x / PARTIAL_SUMS);
    const uint32_t count = global_array(args.counts, args.query_count)[query_number];
    if (count > args.capacity) return;
    const auto query = global_array(args.queries + static_cast<uint64_t>(query_number) * args.dim, args.dim);
    const auto candidates =
        global_array(args.candidates + static_cast<uint64_t>(query_number) * args.capacity, args.capacity);

    uint32_t scored = 0;
    // All lanes of a warp make equally many rounds, as the shuffles require.
    for (uint64_t first = team / 2 * 2 * ROWS_AT_ONCE; first < count; first += uint64_t{teams} * ROWS_AT_ONCE) {
        Global<const Value> rows[ROWS_AT_ONCE];
        bool wanted[ROWS_AT_ONCE];
        double sums[ROWS_AT_ONCE] = {};
        const uint64_t mine = first + team % 2 * ROWS_AT_ONCE;
#pragma unroll
        for (uint32_t j = 0; j < ROWS_AT_ONCE; ++j) {
            const toller_candidate candidate = candidates[mine + j < count ? mine + j : count - 1];
            // Ordinals below the first row's wrap around to beyond the last row.
            const uint32_t row = candidate.ordinal - args.first_ordinal;
            wanted[j] = mine + j < count && row < args.row_count && !(candidate.lower == candidate.upper);
            // No branch below: a row that is not wanted becomes the first row, and its score is not written.
            const char *at = static_cast<const char *>(args.rows) + (wanted[j] ? uint64_t{row} * args.stride : 0);
            rows[j] = global_array(reinterpret_cast<const Value *>(at), args.dim);
        }
        const uint32_t whole = args.dim / (PARTIAL_SUMS * STEPS_AT_ONCE) * (PARTIAL_SUMS * STEPS_AT_ONCE);
        for (uint32_t i = lane; i < whole; i += PARTIAL_SUMS * STEPS_AT_ONCE) {
            add_products<Stored, STEPS_AT_ONCE>(sums, query, rows, i);
        }
        for (uint32_t i = whole + lane; i < args.dim; i += PARTIAL_SUMS) add_products<Stored, 1>(sums, query, rows, i);
#pragma unroll
        for (uint32_t j = 0; j < ROWS_AT_ONCE; ++j) {
            const double sum = folded(sums[j]);
            if (wanted[j] && lane == 0) {
                const float score = __double2float_rn(sum);
                candidates[mine + j].lower = score;
                candidates[mine + j].upper = score;
                ++scored;
            }
        }
    }
    if (scored > 0) atomicAdd(&global_array(args.nominated, args.query_count)[query_number], scored);
}
