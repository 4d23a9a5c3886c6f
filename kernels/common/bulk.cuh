// Instructions of sm_90 for warps that only copy: barriers in shared memory, copies that arrive at them, and
// registers that a warpgroup leaves to others. The host shim models each of them.
#pragma once

#include <stdint.h>

#include "../tensor_map.h"

#ifdef TOLLER_SHIM
#include "../shim/device.h"
#else

// ---- Barriers in shared memory (mbarrier), by address. ----
//
// Phases follow each other. A phase ends when all its arrivals have come, and all bytes that they announced.
// What a thread did before it arrived is visible to those that have waited for the phase.

// Makes a barrier of 8 bytes, whose phases have this many arrivals.
__device__ inline void barrier_make(uint32_t barrier, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Lets bulk copies use, after a barrier of the block, the barriers that this thread has made.
__device__ inline void barrier_make_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ inline void barrier_arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives, and announces bytes that copies will bring.
__device__ inline void barrier_arrive_expecting(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Waits until the phase of this parity has ended. The first phase has parity 0; the phase before it, which has
// ended, has 1.
__device__ inline void barrier_wait(uint32_t barrier, uint32_t parity) {
    uint32_t done = 0;
    while (done == 0) {
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    }
}

// ---- Copies by one thread, whose bytes arrive at a barrier. ----

// `bytes` bytes from global to shared memory; all a multiple of 16.
__device__ inline void copy_bulk(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
                 : "memory");
}

// The map's box of bytes and rows, from byte `byte` of row `row` on; zeros beyond the matrix. The whole box's
// bytes arrive.
__device__ inline void copy_box(uint32_t to, const toller_tensor_map *map, uint32_t byte, uint32_t row, uint32_t barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(byte), "r"(row)
                 : "memory");
}

// ---- Registers of a warpgroup, all of whose threads call. ----

template <uint32_t COUNT>
__device__ inline void keep_registers() {
    static_assert(COUNT % 8 == 0 && COUNT >= 24 && COUNT <= 256, "registers of a thread");
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

// Waits until others keep few enough.
template <uint32_t COUNT>
__device__ inline void take_registers() {
    static_assert(COUNT % 8 == 0 && COUNT >= 24 && COUNT <= 256, "registers of a thread");
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

#endif
