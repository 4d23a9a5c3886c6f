// The k best of a query's candidates, in the order of hits, by a block: select, gather, sort.
//
// A better candidate gets a larger key: the ordered bits of its score, then the complement of its ordinal.
// All keys differ, since all ordinals do, so that the k-th largest key separates the k best from the rest.
// Keys compare -0 as equal to 0, as hits do, but keep its sign.
#pragma once

#include "../common/numbers.cuh"
#include "radix_select.cuh"

__device__ inline uint64_t key_of(toller_candidate candidate) {
    return static_cast<uint64_t>(ordered_bits(candidate.lower)) << 32 | static_cast<uint32_t>(~candidate.ordinal);
}

__device__ inline toller_hit hit_of(uint64_t key) {
    return {~static_cast<uint32_t>(key), from_ordered_bits(static_cast<uint32_t>(key >> 32))};
}

// The key that is compared: with 0 for -0.
__device__ inline uint64_t compared(uint64_t key) {
    constexpr uint64_t MINUS_ZERO = 0x7fffffffull, ZERO = 0x80000000ull;
    return key >> 32 == MINUS_ZERO ? ZERO << 32 | (key & 0xffffffffull) : key;
}

// Sorts `keys`, largest first (bitonic). Their number is a power of two.
__device__ inline void sort_in_shared(Shared<uint64_t> keys) {
    for (uint32_t run = 2; run <= keys.len; run *= 2) {
        for (uint32_t distance = run / 2; distance > 0; distance /= 2) {
            __syncthreads();
            for (uint32_t pair = threadIdx.x; pair < keys.len / 2; pair += blockDim.x) {
                const uint32_t low = pair / distance * distance * 2 + pair % distance, high = low + distance;
                const uint64_t a = keys[low], b = keys[high];
                const bool descending = (low & run) == 0;
                if ((compared(a) < compared(b)) == descending) keys[low] = b, keys[high] = a;
            }
        }
    }
    __syncthreads();
}

// Sorts by one digit, largest first. Keys with the same digit keep their order.
struct DigitPass {
    SelectMemory memory;
    Shared<uint32_t> places; // [warps, DIGITS]

    // The digit's complement: ascending in it is descending in the key.
    static __device__ uint32_t digit(uint64_t key, int shift) {
        return DIGITS - 1 - static_cast<uint32_t>(compared(key) >> shift) % DIGITS;
    }

    // Counts the digits, and turns each counter into the place of the first key with its digit.
    __device__ void find_places(Global<const uint64_t> from, int shift) const {
        clear_counters(memory.counters);
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < from.len; i += blockDim.x) memory.counters.add(digit(from[i], shift), 1);
        __syncthreads();
        if (threadIdx.x == 0) {
            uint32_t sum = 0;
            for (uint32_t i = 0; i < DIGITS; ++i) {
                const uint32_t count = memory.counters[i];
                memory.counters[i] = sum;
                sum += count;
            }
        }
        __syncthreads();
    }

    // Moves a key per thread at a time, in the order of the lanes of a warp, then of the warps.
    __device__ void move(Global<const uint64_t> from, Global<uint64_t> to, int shift) const {
        const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
        for (uint32_t first = 0; first < from.len; first += blockDim.x) {
            clear_counters(places);
            __syncthreads();
            const bool present = threadIdx.x < from.len - first;
            const uint64_t key = present ? from[first + threadIdx.x] : 0;
            // Lanes without a key match only each other.
            const uint32_t own = present ? digit(key, shift) : DIGITS;
            const uint32_t same = __match_any_sync(ALL, own);
            const uint32_t before = __popc(same & ((1u << lane) - 1));
            if (present && before == 0) places[warp * DIGITS + own] = __popc(same);
            __syncthreads();
            if (threadIdx.x < DIGITS) {
                uint32_t next = memory.counters[threadIdx.x];
                for (uint32_t i = 0; i < warps; ++i) {
                    const uint32_t count = places[i * DIGITS + threadIdx.x];
                    places[i * DIGITS + threadIdx.x] = next;
                    next += count;
                }
                memory.counters[threadIdx.x] = next;
            }
            __syncthreads();
            if (present) to[places[warp * DIGITS + own] + before] = key;
            __syncthreads();
        }
    }
};

// Sorts `count` keys in the first half of `scratch`, which has room for twice as many. After an even number
// of passes the sorted keys are there again.
__device__ inline void sort_in_global(DigitPass pass, Global<uint64_t> scratch, uint32_t count) {
    Global<uint64_t> from = global_array(scratch.data, count), to = global_array(scratch.data + scratch.len / 2, count);
    for (int shift = 0; shift < 64; shift += 8) {
        const Global<const uint64_t> keys = {from.data, from.len};
        pass.find_places(keys, shift);
        pass.move(keys, to, shift);
        const Global<uint64_t> swapped = from;
        from = to, to = swapped;
    }
}

__device__ inline uint32_t power_of_two_from(uint32_t x) {
    uint32_t power = 2;
    while (power < x) power *= 2;
    return power;
}

__device__ inline void write_best(const toller_best_args &args) {
    const uint32_t query = blockIdx.x;
    const uint32_t count = global_array(args.counts, args.query_count)[query];
    const bool complete = count <= args.capacity;
    const uint32_t wanted = min(args.k, count);
    if (threadIdx.x == 0) global_array(args.hit_counts, args.query_count)[query] = complete ? wanted : TOLLER_INCOMPLETE;
    if (!complete || wanted == 0) return;
    const auto candidates =
        global_array(args.candidates + static_cast<uint64_t>(query) * args.capacity, args.capacity);
    const auto hits = global_array(args.hits + static_cast<uint64_t>(query) * args.k, args.k);
    const SelectMemory memory = SelectMemory::at(TOLLER_BEST_IN_SHARED * 8);

    uint64_t least = 0;
    if (wanted < count) {
        const auto key_at = [&](uint32_t i) { return compared(key_of(candidates[i])); };
        least = kth_largest<uint64_t>(memory, count, wanted, key_at);
    }
    // Calls `put` with each of the k best and a place for it, in any order.
    const auto gather = [&](auto put) {
        __syncthreads();
        if (threadIdx.x == 0) memory.warps[TOLD] = 0;
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
            const uint64_t key = key_of(candidates[i]);
            if (compared(key) >= least) put(memory.warps.add(TOLD, 1), key);
        }
        __syncthreads();
    };
    if (wanted <= TOLLER_BEST_IN_SHARED) {
        const auto keys = shared_array<uint64_t>(0, power_of_two_from(wanted));
        for (uint32_t i = wanted + threadIdx.x; i < keys.len; i += blockDim.x) keys[i] = 0;
        gather([&](uint32_t place, uint64_t key) { keys[place] = key; });
        sort_in_shared(keys);
        for (uint32_t i = threadIdx.x; i < wanted; i += blockDim.x) hits[i] = hit_of(keys[i]);
    } else {
        const uint64_t keys = static_cast<uint64_t>(args.k) * 2;
        const auto scratch = global_array(args.scratch + query * keys, keys);
        gather([&](uint32_t place, uint64_t key) { scratch[place] = key; });
        const auto places = shared_array<uint32_t>(0, blockDim.x / 32 * DIGITS);
        sort_in_global({memory, places}, scratch, wanted);
        for (uint32_t i = threadIdx.x; i < wanted; i += blockDim.x) hits[i] = hit_of(scratch[i]);
    }
}
