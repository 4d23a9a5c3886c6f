#include "block.h"

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

} // namespace

Thread *running_thread = nullptr;

const char *const Block::BARRIER = "__syncthreads";

void fail(const std::string &what) { throw Failure{what}; }

Block::Block(uint32_t count, uint32_t shared_bytes) : warps(teams_of(count, 32)), warpgroups(teams_of(count, 128)) {
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
        thread->copies.clear(), thread->groups.clear();
        thread->products.clear(), thread->product_groups.clear();
        thread->fences = 0;
        thread->has_fenced_sums = false;
        thread->fiber.prepare(begin, thread.get());
    }
    for (auto *teams : {&warps, &warpgroups}) {
        for (Team &team : *teams) team.arrived = 0, team.epoch = 0;
    }
    barriers = 0;
    failure.clear();
    shared.reset(shared.bytes());
    bool all_done = false;
    while (failure.empty() && !all_done) {
        if (!run_those_that_can() && failure.empty()) pass_barrier();
        all_done = true;
        for (const auto &thread : threads) all_done = all_done && thread->is_done;
    }
    return failure;
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
    for (const auto &thread : threads) thread->waits_for = nullptr;
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
