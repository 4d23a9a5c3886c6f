// The k-th largest of many keys, by a block: eight bits at a time from the highest, counting the keys that
// have the bits found so far.
#pragma once

#include "../common/memory.cuh"
#include "../ip_topk.h"

constexpr uint32_t DIGITS = 256;
constexpr uint32_t ALL = 0xffffffffu;

// Shared memory that the functions below use.
struct SelectMemory {
    Shared<uint32_t> counters; // [DIGITS]
    Shared<uint32_t> warps;    // [64]: sums of warps, and what one thread passes to all

    static __device__ SelectMemory at(uint32_t offset) {
        return {shared_array<uint32_t>(offset, DIGITS), shared_array<uint32_t>(offset + DIGITS * 4, 64)};
    }
};

// The place of what one thread passes to all.
constexpr uint32_t TOLD = 62;

__device__ inline void clear_counters(Shared<uint32_t> counters) {
    for (uint32_t i = threadIdx.x; i < counters.len; i += blockDim.x) counters[i] = 0;
}

// The digit of the `wanted`-th largest key, and how many keys have larger digits; the first warp finds both.
__device__ inline void find_digit(SelectMemory memory, uint32_t wanted) {
    const uint32_t lane = threadIdx.x;
    if (lane >= 32) return;
    // Lane 0 has the eight largest digits.
    const uint32_t top = DIGITS - 1 - lane * 8;
    uint32_t own = 0;
    for (uint32_t j = 0; j < 8; ++j) own += memory.counters[top - j];
    uint32_t larger = own;
    for (uint32_t lanes = 1; lanes < 32; lanes *= 2) {
        const uint32_t before = __shfl_up_sync(ALL, larger, lanes);
        if (lane >= lanes) larger += before;
    }
    larger -= own;
    if (larger < wanted && wanted <= larger + own) {
        uint32_t digit = top;
        while (larger + memory.counters[digit] < wanted) larger += memory.counters[digit--];
        memory.warps[TOLD] = digit;
        memory.warps[TOLD + 1] = larger;
    }
}

// The `wanted`-th largest of `key_at(0)` to `key_at(count - 1)`, in every thread; 1 <= wanted <= count.
template <class Key, class KeyAt>
__device__ inline Key kth_largest(SelectMemory memory, uint32_t count, uint32_t wanted, KeyAt key_at) {
    Key found = 0, known = 0;
    for (int shift = sizeof(Key) * 8 - 8; shift >= 0; shift -= 8) {
        // All threads have read the digit of the previous round.
        __syncthreads();
        clear_counters(memory.counters);
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
            const Key key = key_at(i);
            if ((key & known) == found) memory.counters.add(static_cast<uint32_t>(key >> shift) % DIGITS, 1);
        }
        __syncthreads();
        find_digit(memory, wanted);
        __syncthreads();
        found |= static_cast<Key>(memory.warps[TOLD]) << shift;
        known |= static_cast<Key>(DIGITS - 1) << shift;
        wanted -= memory.warps[TOLD + 1];
    }
    return found;
}

// The number of threads before this one whose `flag` is set; `total` counts all threads. All threads take
// part, and there is a barrier before the next call.
__device__ inline uint32_t count_before(SelectMemory memory, bool flag, uint32_t &total) {
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t mine = __ballot_sync(ALL, flag);
    if (lane == 0) memory.warps[warp] = __popc(mine);
    __syncthreads();
    uint32_t before = 0;
    total = 0;
    for (uint32_t i = 0; i < blockDim.x / 32; ++i) {
        const uint32_t of_warp = memory.warps[i];
        if (i < warp) before += of_warp;
        total += of_warp;
    }
    return before + __popc(mine & ((1u << lane) - 1));
}
