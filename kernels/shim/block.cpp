#include "block.h"

#include <algorithm>
#include <cstring>
#include <exception>

namespace toller_shim {
namespace {

std::vector<Team> teams_of(uint32_t threads, uint32_t size) {
    std::vector<Team> teams((threads + size - 1) / size);
    for (uint32_t i = 0; i < teams.size(); ++i) {
        teams[i].first_thread = i * size;
        teams[i].threads = size;
    }
    return teams;
}

// Registers of a multiprocessor, which are divided among the threads of a block that fills it.
constexpr uint32_t REGISTERS = 64 << 10, MOST_REGISTERS = 255;

} // namespace

Thread *running_thread = nullptr;

const char *const Block::BARRIER = "__syncthreads";
const char *const Block::MBARRIER = "mbarrier.try_wait";

void fail(const std::string &what) { throw Failure{what}; }

Block::Block(uint32_t count, uint32_t shared_bytes) : warps(teams_of(count, 32)), warpgroups(teams_of(count, GROUP_THREADS)) {
    for (uint32_t number = 0; number < count; ++number) {
        threads.push_back(std::make_unique<Thread>());
        Thread &thread = *threads.back();
        thread.block = this;
        thread.number = number;
        thread.index = {number, 0, 0};
    }
    shared.reset(shared_bytes);
}

std::string Block::run(const std::function<void()> &function, Index index, Index grid) {
    kernel = &function;
    of_block = index, of_grid = grid;
    for (auto &thread : threads) {
        thread->is_done = false;
        thread->waits_for = nullptr;
        thread->waits_at = nullptr;
        thread->copies.clear(), thread->groups.clear();
        thread->products.clear(), thread->product_groups.clear();
        thread->fences = 0, thread->mbarrier_fences = 0;
        thread->time = 1, thread->known.clear();
        thread->has_fenced_sums = false;
        thread->fiber.prepare(begin, thread.get());
    }
    for (auto *teams : {&warps, &warpgroups}) {
        for (Team &team : *teams) team.arrived = 0, team.epoch = 0;
    }
    barriers = 0;
    failure.clear();
    shared.reset(shared.bytes());
    mbarriers.reset();
    registers.assign(warpgroups.size(), std::min(MOST_REGISTERS, REGISTERS / thread_count()) / 8 * 8);
    bool all_done = false;
    while (failure.empty() && !all_done) {
        if (!run_those_that_can() && failure.empty() && !mbarriers.bring()) pass_barrier();
        all_done = true;
        for (const auto &thread : threads) all_done = all_done && thread->is_done;
    }
    if (failure.empty()) failure = unfinished();
    return failure;
}

// What is wrong although all threads have ended.
std::string Block::unfinished() const {
    uint32_t taken = 0;
    for (const uint32_t count : registers) taken += count * GROUP_THREADS;
    // The warpgroup that asks last would wait for ever.
    if (taken > REGISTERS) return "the warpgroups take " + std::to_string(taken) + " registers, of " + std::to_string(REGISTERS);
    return mbarriers.unfinished();
}

// Runs every thread until it waits, warp by warp. Returns whether any thread ran. Blocks of odd numbers begin
// with the last warp, so that no kernel can rely on one order.
bool Block::run_those_that_can() {
    bool any = false;
    for (uint32_t i = 0; i < warps.size(); ++i) {
        const uint32_t warp = of_block.x % 2 == 0 ? i : static_cast<uint32_t>(warps.size()) - 1 - i;
        for (bool again = true; again;) {
            again = false;
            for (uint32_t number = warp * 32; number < warp * 32 + 32 && number < threads.size(); ++number) {
                Thread &thread = *threads[number];
                if (thread.is_done || thread.waits_for != nullptr) continue;
                running_thread = &thread;
                scheduler.switch_to(thread.fiber);
                if (!failure.empty()) return true;
                again = any = true;
            }
        }
    }
    return any;
}

// No thread can run: all wait for the barrier, or something is wrong.
void Block::pass_barrier() {
    const Thread *waiting = nullptr;
    for (const auto &thread : threads) {
        if (!thread->is_done) waiting = thread.get();
    }
    if (waiting == nullptr) return;
    for (const auto &thread : threads) {
        if (!thread->is_done && thread->waits_at != nullptr) {
            failure = describe(*thread, "waits for ever at " + thread->waits_at->describe());
            return;
        }
    }
    for (const auto &thread : threads) {
        if (thread->is_done) {
            failure = describe(*waiting, std::string("waits for ever in ") + waiting->waits_for + ": thread " +
                                             std::to_string(thread->number) + " has ended");
            return;
        }
        if (thread->waits_for != BARRIER) {
            failure = describe(*thread, std::string("waits for ever in ") + thread->waits_for +
                                            ": others of its team wait elsewhere");
            return;
        }
    }
    ++barriers;
    share_clocks(0, thread_count());
    for (const auto &thread : threads) thread->waits_for = nullptr;
}

// After a barrier of these threads, each knows what all know and did.
void Block::share_clocks(uint32_t first_thread, uint32_t count) {
    if (!mbarriers.is_any()) return;
    Clock all = threads[first_thread]->known;
    for (uint32_t i = first_thread; i < first_thread + count; ++i) {
        join(all, threads[i]->known);
        all[i] = threads[i]->time++;
    }
    for (uint32_t i = first_thread; i < first_thread + count; ++i) threads[i]->known = all;
}

Clock Block::begin_clocks() {
    const Clock nothing(warps.size() * 32 + Mbarriers::MOST, 0);
    if (!mbarriers.is_any()) {
        for (const auto &thread : threads) thread->known = nothing;
    }
    return nothing;
}

uint32_t Block::clock_of(const Mbarrier &barrier) const {
    return static_cast<uint32_t>(warps.size()) * 32 + barrier.number;
}

void Block::begin(void *of) {
    Thread &thread = *static_cast<Thread *>(of);
    Block &own = *thread.block;
    try {
        (*own.kernel)();
        if (!thread.copies.empty() || !thread.groups.empty()) fail("ends while its copies are under way");
        if (!thread.products.empty() || !thread.product_groups.empty()) fail("ends while its products are under way");
    } catch (const Failure &wrong) {
        own.failure = own.describe(thread, wrong.what);
    } catch (const std::exception &wrong) {
        own.failure = own.describe(thread, wrong.what());
    }
    thread.is_done = true;
    thread.fiber.switch_to(own.scheduler);
}

void Block::wait(Thread &thread, const char *what) {
    thread.waits_for = what;
    thread.fiber.switch_to(scheduler);
    running_thread = &thread;
}

void Block::wait_for_all() { wait(running(), BARRIER); }

void Block::wait_for_warp() {
    Team &warp = running().warp();
    together(warp, "__syncwarp", nullptr, [&](void *const *) {
        ++warp.epoch;
        share_clocks(warp.first_thread, warp.threads);
    });
}

void Block::wait_at(const Mbarrier &barrier) {
    running().waits_at = &barrier;
    wait(running(), MBARRIER);
}

bool Block::wake(const Mbarrier &barrier) {
    bool any = false;
    for (const auto &thread : threads) {
        if (thread->waits_at != &barrier) continue;
        thread->waits_for = nullptr, thread->waits_at = nullptr;
        any = true;
    }
    return any;
}

bool Block::is_awaited(const Mbarrier &barrier) const {
    return std::any_of(threads.begin(), threads.end(), [&](const auto &thread) { return thread->waits_at == &barrier; });
}

void Block::together(Team &team, const char *operation, void *brought,
                     const std::function<void(void *const *)> &act) {
    Thread &thread = running();
    if (team.first_thread + team.threads > threads.size()) {
        fail(std::string(operation) + " in a team that is not whole");
    }
    if (team.arrived == 0) team.operation = operation;
    if (team.operation != operation && std::strcmp(team.operation, operation) != 0) {
        fail(std::string("comes to ") + operation + " while others of its team wait in " + team.operation);
    }
    team.brought[thread.number - team.first_thread] = brought;
    if (++team.arrived < team.threads) {
        wait(thread, operation);
        return;
    }
    team.arrived = 0;
    const auto all = team.brought;
    act(all.data());
    for (uint32_t i = 0; i < team.threads; ++i) threads[team.first_thread + i]->waits_for = nullptr;
}

std::string Block::describe(const Thread &thread, const std::string &what) const {
    return "block (" + std::to_string(of_block.x) + ", " + std::to_string(of_block.y) + "), thread " +
           std::to_string(thread.number) + ": " + what;
}

} // namespace toller_shim
