// Allocations, and the check of every access.
#include "global_memory.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "block.h"
#include "shim.h"

namespace toller_shim {
namespace {

constexpr size_t ALIGNMENT = 256;

// Allocations: the end of each by its start.
std::map<uintptr_t, uintptr_t> allocations;
std::mutex allocations_lock;

// Counts frees.
std::atomic<uint64_t> frees{0};

// The allocation of the thread's last access, if nothing was freed since: most accesses go there again.
thread_local uintptr_t last_start = 0, last_end = 0;
thread_local uint64_t last_frees = 0;

} // namespace

void check_global(const void *first, size_t bytes) {
    const auto start = reinterpret_cast<uintptr_t>(first);
    const bool is_current = last_frees == frees.load(std::memory_order_relaxed);
    if (is_current && start >= last_start && start < last_end && bytes <= last_end - start) return;
    const std::lock_guard<std::mutex> locked(allocations_lock);
    auto next = allocations.upper_bound(start);
    if (next == allocations.begin()) fail("touches global memory that is not allocated");
    --next;
    if (start >= next->second) fail("touches global memory that is not allocated");
    if (bytes > next->second - start) fail("touches global memory beyond the end of an allocation");
    last_start = next->first, last_end = next->second, last_frees = frees.load(std::memory_order_relaxed);
}

} // namespace toller_shim

using namespace toller_shim;

void *toller_shim_allocate(size_t bytes) {
    const size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *memory = std::aligned_alloc(ALIGNMENT, rounded == 0 ? ALIGNMENT : rounded);
    if (memory == nullptr) return nullptr;
    std::memset(memory, 0xff, bytes);
    const auto start = reinterpret_cast<uintptr_t>(memory);
    const std::lock_guard<std::mutex> locked(allocations_lock);
    allocations[start] = start + bytes;
    return memory;
}

void toller_shim_free(void *memory) {
    if (memory == nullptr) return;
    const std::lock_guard<std::mutex> locked(allocations_lock);
    allocations.erase(reinterpret_cast<uintptr_t>(memory));
    ++frees;
    std::free(memory);
}
