// Between chunks: raises the thresholds to the k-th best lower bounds, drops what cannot reach them, guesses
// from samples what the k best will reach, and writes what the scan compares with.
#pragma once

#include "bounds.cuh"
#include "radix_select.cuh"

__device__ inline void start_queries(const toller_start_args &args) {
    const uint32_t query = blockIdx.x * blockDim.x + threadIdx.x;
    if (query >= args.query_count) return;
    global_array(args.thresholds, args.query_count)[query] = -INFINITE;
    global_array(args.guesses, args.query_count)[query] = -INFINITE;
    global_array(args.counts, args.query_count)[query] = 0;
    global_array(args.bounded, args.query_count)[query] = 0;
    global_array(args.nominated, args.query_count)[query] = 0;
}

// Once a chunk, since it takes f64 and two dependent loads, for which a tile of the scan has no time.
__device__ inline void write_cutoffs(const toller_cutoffs_args &args) {
    const auto facts = global_array(args.facts, args.query_count);
    const auto thresholds = global_array(args.thresholds, args.query_count);
    const auto guesses = global_array(args.guesses, args.query_count);
    const auto counts = global_array(args.counts, args.query_count);
    const auto pairs = global_array(args.pairs, args.pair_count);
    for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < pairs.len; i += uint64_t{gridDim.x} * blockDim.x) {
        toller_query_pair pair;
        for (uint32_t j = 0; j < 2; ++j) {
            const uint64_t query = 2 * i + j;
            const bool searched = query < args.query_count && counts[query] <= args.capacity;
            // No finite sum reaches a query that is not searched.
            pair.slope[j] = searched ? facts[query].slope : 0.0f;
            pair.cutoff[j] = searched ? cutoff_of(facts[query], fmaxf(thresholds[query], guesses[query])) : INFINITE;
        }
        pairs[i] = pair;
    }
}

// Keeps those of the first `count` candidates that may reach the threshold, in order; returns how many. As
// many candidates as there are threads are read before any of them is overwritten, since candidates only
// move to the front.
__device__ inline uint32_t prune(SelectMemory memory, Global<toller_candidate> candidates, uint32_t count, float threshold) {
    uint32_t kept = 0;
    for (uint32_t first = 0; first < count; first += blockDim.x) {
        const bool present = threadIdx.x < count - first;
        toller_candidate candidate = {0, 0.0f, 0.0f};
        if (present) candidate = candidates[first + threadIdx.x];
        // NaN stays.
        const bool keep = present && !(candidate.upper < threshold);
        uint32_t total;
        const uint32_t before = count_before(memory, keep, total);
        if (keep) candidates[kept + before] = candidate;
        kept += total;
        __syncthreads();
    }
    return kept;
}

// What the `depth`-th best of a sample's candidates is believed to score. Candidates of earlier slabs, whose
// scores are known, are not part of the sample.
__device__ inline float guessed(SelectMemory memory, Global<toller_candidate> candidates, uint32_t count, uint32_t depth) {
    if (count < depth) return -INFINITE;
    // Number 0 is not the key of a finite score. It also stands for rows without bounds.
    const auto key_at = [&](uint32_t i) {
        const toller_candidate candidate = candidates[i];
        const float middle = middle_of(candidate);
        return candidate.lower < candidate.upper && fabsf(middle) < INFINITE ? ordered_bits(middle) : 0u;
    };
    const uint32_t key = kth_largest<uint32_t>(memory, count, depth, key_at);
    return key == 0 ? -INFINITE : from_ordered_bits(key);
}

// The k-th best middle of bounds, which the scores of the k best are near; minus infinity if there are fewer.
__device__ inline float aimed(SelectMemory memory, Global<toller_candidate> candidates, uint32_t count, uint32_t k) {
    if (count < k) return -INFINITE;
    // NaN of either sign comes first or last in the order of bits. First is right: it is scored.
    const auto key_at = [&](uint32_t i) {
        const float middle = middle_of(candidates[i]);
        return ordered_bits(fabsf(middle) <= INFINITE ? middle : INFINITE);
    };
    return from_ordered_bits(kth_largest<uint32_t>(memory, count, k, key_at));
}

__device__ inline void select_candidates(const toller_select_args &args) {
    const uint32_t query = blockIdx.x;
    const auto counts = global_array(args.counts, args.query_count);
    const auto bounded_counts = global_array(args.bounded, args.query_count);
    const auto thresholds = global_array(args.thresholds, args.query_count);
    const auto guesses = global_array(args.guesses, args.query_count);
    const auto candidates = global_array(args.candidates + static_cast<uint64_t>(query) * args.capacity, args.capacity);
    const toller_query_facts facts = global_array(args.facts, args.query_count)[query];
    const SelectMemory memory = SelectMemory::at(0);
    const bool is_first = threadIdx.x == 0;
    if (args.undo == 0 && counts[query] > args.capacity) {
        // Any thread may read the old count or the new one. The next chunk adds to it.
        if (is_first) counts[query] = TOLLER_INCOMPLETE;
        return;
    }
    const uint32_t count = min(counts[query], args.capacity), before = bounded_counts[query];
    for (uint32_t i = before + threadIdx.x; i < count; i += blockDim.x) {
        const toller_candidate found = candidates[i];
        candidates[i] = bounded(facts, found.ordinal, found.lower, found.upper);
    }
    float threshold = thresholds[query];
    // All bounds are written, and all threads have read what is written below.
    __syncthreads();
    if (count >= args.k) {
        // At least k vectors score the k-th best lower bound or more.
        const auto lower = [&](uint32_t i) { return ordered_bits(candidates[i].lower); };
        threshold = fmaxf(threshold, from_ordered_bits(kth_largest<uint32_t>(memory, count, args.k, lower)));
    }
    const uint32_t kept = prune(memory, candidates, args.undo != 0 ? before : count, threshold);
    // At depth k, the threshold is the better guess: it is proved.
    const bool guesses_now = args.depth > 0 && args.depth < args.k;
    // The highest guess so far, since vectors were dropped below it. They may be among the k best, unless k
    // vectors reach this guess.
    const float guess = fmaxf(guesses[query], guesses_now ? guessed(memory, candidates, kept, args.depth) : -INFINITE);
    const bool is_wrong = args.verify != 0 && threshold < guess;
    const float aim = args.aims != nullptr ? aimed(memory, candidates, kept, args.k) : -INFINITE;
    if (is_first) {
        if (args.aims != nullptr) global_array(args.aims, args.query_count)[query] = aim;
        counts[query] = is_wrong ? TOLLER_INCOMPLETE : kept;
        bounded_counts[query] = kept;
        thresholds[query] = threshold;
        guesses[query] = args.verify != 0 ? -INFINITE : guess;
    }
}
