// A block of threads in execution: every thread is a fiber that runs in turn until it waits for others.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fiber.h"
#include "mbarrier.h"
#include "shared_memory.h"

namespace toller_shim {

// A kernel's mistake; thrown and caught on the thread's own stack.
struct Failure {
    std::string what;
};

[[noreturn]] void fail(const std::string &what);

struct Index {
    uint32_t x, y, z;
};

class Block;

// Threads that act together: the lanes of a warp, or the four warps of a warpgroup.
struct Team {
    static constexpr uint32_t MOST = 128;

    uint32_t first_thread = 0, threads = 0;
    // The operation that the arrived threads wait for, and what each of them brought.
    const char *operation = nullptr;
    uint32_t arrived = 0;
    std::array<void *, MOST> brought{};
    // Counts calls of __syncwarp.
    uint32_t epoch = 0;
};

struct Thread {
    Fiber fiber;
    Block *block = nullptr;
    uint32_t number = 0;
    Index index{};
    // What the thread waits for; null when it can run.
    const char *waits_for = nullptr;
    // The mbarrier for whose next phase it waits.
    const Mbarrier *waits_at = nullptr;
    bool is_done = false;
    // Copies since the last commit, then the groups, oldest first.
    std::vector<Copy> copies;
    std::vector<std::vector<Copy>> groups;
    // How often the thread has fenced between proxies, and what it made of mbarriers.
    uint32_t fences = 0, mbarrier_fences = 0;
    // With mbarriers: a count of what the thread let others know, and what it knows of others.
    uint32_t time = 1;
    Clock known;
    // Whether wgmma.fence came since the last group of products.
    bool has_fenced_sums = false;
    // Products that its warpgroup has issued and not waited for: since the last commit, then the groups.
    std::vector<std::function<void()>> products;
    std::vector<std::vector<std::function<void()>>> product_groups;

    uint32_t lane() const { return number % 32; }
    Team &warp() const;
};

class Block {
  public:
    static constexpr uint32_t GROUP_THREADS = 128;

    Block(uint32_t threads, uint32_t shared_bytes);

    // Runs `kernel` in every thread; returns the first mistake, or an empty text.
    std::string run(const std::function<void()> &kernel, Index index, Index grid);

    // Called by threads.
    void wait_for_all();
    void wait_for_warp();
    void wait_at(const Mbarrier &barrier);
    // Waits until the whole team has come with the same `operation`; the last runs `act` on what all brought.
    void together(Team &team, const char *operation, void *brought,
                  const std::function<void(void *const *)> &act);

    Thread &thread(uint32_t number) { return *threads[number]; }
    Team &warp(uint32_t number) { return warps[number]; }
    Team &warpgroup(uint32_t number) { return warpgroups[number]; }
    uint32_t thread_count() const { return static_cast<uint32_t>(threads.size()); }
    // Counts barriers of the block.
    uint32_t epoch() const { return barriers; }
    Index index() const { return of_block; }
    Index grid() const { return of_grid; }

    // Lets the threads go on that wait at an mbarrier. Returns whether there are any.
    bool wake(const Mbarrier &barrier);
    bool is_awaited(const Mbarrier &barrier) const;
    // The place of an mbarrier in clocks.
    uint32_t clock_of(const Mbarrier &barrier) const;
    // From the first mbarrier on, threads have clocks. Returns one that knows nothing.
    Clock begin_clocks();

    SharedMemory shared;
    Mbarriers mbarriers;
    // Registers of a thread of each warpgroup.
    std::vector<uint32_t> registers;

  private:
    static const char *const BARRIER;
    static const char *const MBARRIER;

    std::vector<std::unique_ptr<Thread>> threads;
    std::vector<Team> warps, warpgroups;
    Fiber scheduler;
    const std::function<void()> *kernel = nullptr;
    Index of_block{}, of_grid{};
    uint32_t barriers = 0;
    std::string failure;

    static void begin(void *thread);
    void wait(Thread &thread, const char *what);
    bool run_those_that_can();
    void pass_barrier();
    void share_clocks(uint32_t first_thread, uint32_t count);
    std::string unfinished() const;
    std::string describe(const Thread &thread, const std::string &what) const;
};

inline Team &Thread::warp() const { return block->warp(number / 32); }

// The thread that runs now, and its block.
extern Thread *running_thread;
inline Thread &running() { return *running_thread; }
inline Block &block() { return *running_thread->block; }

} // namespace toller_shim
