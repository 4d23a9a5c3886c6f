// Barriers in shared memory, and the bulk copies that arrive at them (common/bulk.cuh).
//
// A copy brings its data as late as the hardware may: when no thread can run without them. So a kernel that
// does not wait for a copy always meets what was there before.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "order.h"

namespace toller_shim {

// A copy of 16 bytes to shared memory that has not arrived yet; zeros where nothing is present.
struct Copy {
    uint32_t to;
    const void *from;
    bool present;
};

struct Mbarrier {
    // Its place among the block's mbarriers, its offset in shared memory, and the arrivals of a phase.
    uint32_t number, offset, arrivals;
    Mark made;
    // How often its maker had fenced before.
    uint32_t fences;
    // The phase that has not ended: its number, the arrivals and bytes to come, and the copies under way.
    uint32_t phase, left;
    int64_t bytes;
    std::vector<Copy> copies;
    // What those that arrived knew: in all phases, and in those that have ended.
    Clock arriving, arrived;

    std::string describe() const;
};

// The mbarriers of a block.
class Mbarriers {
  public:
    static constexpr uint32_t MOST = 64;

    void reset() { made.clear(); }
    bool is_any() const { return !made.empty(); }

    // Called by threads. An offset without an mbarrier is an error.
    void make(uint32_t offset, uint32_t arrivals);
    Mbarrier &at(uint32_t offset);
    void arrive(Mbarrier &barrier, uint32_t bytes);
    void wait(Mbarrier &barrier, uint32_t parity);
    void copy(Mbarrier &barrier, std::vector<Copy> copies);

    // Brings the copies that threads wait for. Returns whether a thread can go on.
    bool bring();
    // Copies that no thread has waited for, or an empty text.
    std::string unfinished() const;

  private:
    std::map<uint32_t, Mbarrier> made;

    static bool end_phase(Mbarrier &barrier);
};

} // namespace toller_shim
