// A ring of stages in shared memory, which one thread fills with bulk copies and the warps of others empty.
#pragma once

#include "bulk.cuh"

template <uint32_t STAGES>
struct Ring {
    // Two mbarriers a stage: one at which its copies arrive, and one for the warps that are done with it.
    static constexpr uint32_t BARRIERS_BYTES = 2 * STAGES * 8;

    uint32_t barriers, stage, parity;

    // The ring whose barriers begin at an address, before its first stage.
    static __device__ Ring at(uint32_t barriers) { return {barriers, 0, 0}; }

    // By one thread.
    __device__ void make(uint32_t warps) const {
        for (uint32_t i = 0; i < STAGES; ++i) {
            barrier_make(barriers + i * 8, 1);
            barrier_make(barriers + (STAGES + i) * 8, warps);
        }
    }

    __device__ void next() {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    }

    // Waits until the stage is empty, and announces `bytes` bytes, which are then copied with `barrier`.
    __device__ void begin_to_fill(uint32_t bytes) const {
        barrier_wait(barriers + (STAGES + stage) * 8, parity ^ 1);
        barrier_arrive_expecting(barrier(), bytes);
    }
    __device__ uint32_t barrier() const { return barriers + stage * 8; }

    __device__ void wait() const { barrier_wait(barrier(), parity); }
    // By each warp, when its products of the stage are computed. One lane arrives for all.
    __device__ void release() const {
        __syncwarp();
        if (threadIdx.x % 32 == 0) barrier_arrive(barriers + (STAGES + stage) * 8);
    }
};
