// What happened before what, for the detection of races.
//
// Barriers of the block and of a warp count epochs. A block with mbarriers also has vector clocks, since its
// threads order their accesses pairwise: what a thread did up to its time t happened before the running
// thread if that knows the time t of the first.
#pragma once

#include <cstdint>
#include <vector>

namespace toller_shim {

// Of every thread, then of every mbarrier (which bulk copies write for), a time; 0 is before the first.
using Clock = std::vector<uint32_t>;

// `to` knows what `from` knows.
void join(Clock &to, const Clock &from);

// An access: by which thread, and when.
struct Mark {
    static constexpr uint32_t NOBODY = UINT32_MAX;
    // Of a bulk copy, which no barrier of the block waits for.
    static constexpr uint32_t NO_EPOCH = UINT32_MAX;

    uint32_t thread = NOBODY;
    uint32_t block_epoch = 0, warp_epoch = 0;
    uint32_t time = 0;

    // Of the running thread, now.
    static Mark now();
    // Whether the access precedes what the running thread does now.
    bool is_before_now() const;
};

} // namespace toller_shim
