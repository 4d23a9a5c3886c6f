// Between chunks: raises the thresholds to the k-th best lower bounds, drops what cannot reach them, and
// writes what the scan compares with.
#pragma once

#include "bounds.cuh"
#include "radix_select.cuh"

// Once a chunk, since it takes f64 and two dependent loads, for which a tile of the scan has no time.
__device__ inline void write_cutoffs(const toller_cutoffs_args &args) {
    const auto facts = global_array(args.facts, args.query_count);
    const auto thresholds = global_array(args.thresholds, args.query_count);
    const auto pairs = global_array(args.pairs, args.pair_count);
    for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < pairs.len; i += uint64_t{gridDim.x} * blockDim.x) {
        toller_query_pair pair;
        for (uint32_t j = 0; j < 2; ++j) {
            const uint64_t query = 2 * i + j;
            const bool present = query < args.query_count;
            // No finite sum reaches a query that is not there.
            pair.slope[j] = present ? facts[query].slope : 0.0f;
            pair.cutoff[j] = present ? cutoff_of(facts[query], thresholds[query]) : INFINITE;
        }
        pairs[i] = pair;
    }
}

// A block's query and its candidates.
struct OfQuery {
    Global<toller_candidate> candidates;
    uint32_t count;

    static __device__ OfQuery at(const toller_select_args &args, uint32_t query) {
        const auto counts = global_array(args.counts, args.query_count);
        auto *first = args.candidates + static_cast<uint64_t>(query) * args.capacity;
        return {global_array(first, args.capacity), min(counts[query], args.capacity)};
    }
};

// Makes bounds of what the scan has left. At least k vectors score the k-th best lower bound or more.
__device__ inline void raise_threshold(const toller_select_args &args) {
    const uint32_t query = blockIdx.x;
    const OfQuery of = OfQuery::at(args, query);
    const auto bounded_counts = global_array(args.bounded, args.query_count);
    const toller_query_facts facts = global_array(args.facts, args.query_count)[query];
    for (uint32_t i = bounded_counts[query] + threadIdx.x; i < of.count; i += blockDim.x) {
        const toller_candidate found = of.candidates[i];
        of.candidates[i] = bounded(facts, found.ordinal, found.lower, found.upper);
    }
    // All bounds are written, and all threads have read the count.
    __syncthreads();
    if (threadIdx.x == 0) bounded_counts[query] = of.count;
    if (args.k == 0 || of.count < args.k) return;
    const auto lower = [&](uint32_t i) { return ordered_bits(of.candidates[i].lower); };
    const float kth = from_ordered_bits(kth_largest<uint32_t>(SelectMemory::at(0), of.count, args.k, lower));
    const auto thresholds = global_array(args.thresholds, args.query_count);
    if (threadIdx.x == 0 && kth > thresholds[query]) thresholds[query] = kth;
}

// Keeps the candidates that may reach the threshold, in their order. As many candidates as there are threads
// are read before any of them is overwritten, since candidates only move to the front.
__device__ inline void prune_candidates(const toller_select_args &args) {
    const uint32_t query = blockIdx.x;
    const OfQuery of = OfQuery::at(args, query);
    const float threshold = global_array(args.thresholds, args.query_count)[query];
    const SelectMemory memory = SelectMemory::at(0);
    uint32_t kept = 0;
    for (uint32_t first = 0; first < of.count; first += blockDim.x) {
        const bool present = threadIdx.x < of.count - first;
        toller_candidate candidate = {0, 0.0f, 0.0f};
        if (present) candidate = of.candidates[first + threadIdx.x];
        // NaN stays.
        const bool keep = present && !(candidate.upper < threshold);
        uint32_t total;
        const uint32_t before = count_before(memory, keep, total);
        if (keep) of.candidates[kept + before] = candidate;
        kept += total;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        global_array(args.counts, args.query_count)[query] = kept;
        global_array(args.bounded, args.query_count)[query] = kept;
    }
}
