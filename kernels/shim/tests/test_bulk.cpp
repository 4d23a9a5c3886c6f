// The shim's mbarriers and bulk copies: what they do, and mistakes with them that it must find.
#include <cstring>
#include <vector>

#define TOLLER_SHIM 1
#include "../shim.h"
#include "common/bulk.cuh"
#include "common/tile.cuh"
#include "common/wgmma.cuh"
#include "in_block.h"

namespace {

// Two warps; the first copies.
constexpr uint32_t THREADS = 64, SHARED_BYTES = 8 << 10;
constexpr uint32_t FULL = 4096, EMPTY = FULL + 8, OTHER = FULL + 16;

uint32_t full() { return shared_address(FULL); }
uint32_t empty() { return shared_address(EMPTY); }
uint32_t other() { return shared_address(OTHER); }

// Makes `full` and `other` for one arrival, and `empty` for two.
void make_barriers(bool fence = true) {
    if (threadIdx.x == 0) {
        barrier_make(full(), 1);
        barrier_make(empty(), 2);
        barrier_make(other(), 1);
        if (fence) barrier_make_fence();
    }
    __syncthreads();
}

// 4,096 bytes that kernels may copy: byte i is i % 251.
class Bytes {
  public:
    static constexpr uint32_t COUNT = 4096;

    Bytes() : start(static_cast<unsigned char *>(toller_shim_allocate(COUNT))) {
        for (uint32_t i = 0; i < COUNT; ++i) start[i] = of(i);
    }
    ~Bytes() { toller_shim_free(start); }
    Bytes(const Bytes &) = delete;
    Bytes &operator=(const Bytes &) = delete;

    static unsigned char of(uint32_t i) { return static_cast<unsigned char>(i % 251); }

    unsigned char *const start;
};

uint32_t word_of(uint32_t byte) {
    return Bytes::of(byte) | Bytes::of(byte + 1) << 8 | Bytes::of(byte + 2) << 16 | static_cast<uint32_t>(Bytes::of(byte + 3)) << 24;
}

uint32_t read(uint32_t offset) { return shared_array<uint32_t>(offset, 1)[0]; }

// Writes of one warp are visible to the other after an arrival and a wait, and not without one of them.
void arrivals_order_what_was_before() {
    const auto passed = [](bool together, bool wait) {
        return [=] {
            make_barriers();
            const uint32_t lane = threadIdx.x % 32;
            if (threadIdx.x < 32) {
                shared_array<uint32_t>(0, 32)[lane] = lane;
                if (together) __syncwarp();
                if (lane == 0) barrier_arrive(full());
            } else {
                if (wait) barrier_wait(full(), 0);
                CHECK(read(lane * 4) == lane, "%u", lane);
            }
        };
    };
    check_runs(THREADS, SHARED_BYTES, passed(true, true));
    check_fails("races: reads a word", THREADS, SHARED_BYTES, passed(true, false));
    // One lane arrives for all, whose writes it does not know of.
    check_fails("races: reads a word", THREADS, SHARED_BYTES, passed(false, true));
    // What is known is passed on: from warp 0 by one mbarrier to warp 1, and by another to warp 2.
    check_runs(96, SHARED_BYTES, [] {
        make_barriers();
        const uint32_t warp = threadIdx.x / 32;
        if (threadIdx.x == 0) shared_array<uint32_t>(0, 1)[0] = 7, barrier_arrive(full());
        if (warp == 1) {
            barrier_wait(full(), 0);
            if (threadIdx.x % 32 < 2) barrier_arrive(empty());
        }
        if (warp == 2) {
            barrier_wait(empty(), 0);
            CHECK(read(0) == 7, "passed on");
        }
    });
    // So does a barrier of the block.
    check_runs(THREADS, SHARED_BYTES, [] {
        make_barriers();
        if (threadIdx.x == 0) shared_array<uint32_t>(0, 1)[0] = 7;
        __syncthreads();
        CHECK(read(0) == 7, "after a barrier");
    });
}

// A ring of one stage: what is there is read before it is written again, phase after phase.
void phases_follow_each_other() {
    const auto ring = [](bool each_arrives) {
        return [=] {
            make_barriers();
            for (uint32_t round = 0; round < 5; ++round) {
                if (threadIdx.x == 0) {
                    // The parity of the phase before the first is 1.
                    barrier_wait(empty(), round % 2 ^ 1);
                    shared_array<uint32_t>(0, 1)[0] = round;
                    barrier_arrive(full());
                } else if (threadIdx.x == 40 || threadIdx.x == 41) {
                    barrier_wait(full(), round % 2);
                    CHECK(read(0) == round, "%u", round);
                    if (each_arrives || threadIdx.x == 40) barrier_arrive(empty());
                    if (!each_arrives && threadIdx.x == 40) barrier_arrive(empty());
                }
            }
        };
    };
    check_runs(THREADS, SHARED_BYTES, ring(true));
    check_fails("races: writes a word", THREADS, SHARED_BYTES, ring(false));
}

void mistakes_with_mbarriers_are_found() {
    check_fails("misses 1 arrivals", THREADS, SHARED_BYTES, [] {
        make_barriers();
        if (threadIdx.x == 3) barrier_arrive(empty());
        barrier_wait(empty(), 0);
    });
    check_fails("waits for ever at the mbarrier at byte 4096, whose phase 1 misses 1 arrivals", THREADS, SHARED_BYTES, [] {
        make_barriers();
        if (threadIdx.x == 3) barrier_arrive(full());
        barrier_wait(full(), 0);
        // The next phase never ends.
        if (threadIdx.x == 40) barrier_wait(full(), 1);
    });
    check_fails("arrives too often", THREADS, SHARED_BYTES, [] {
        make_barriers();
        if (threadIdx.x == 0) barrier_arrive_expecting(full(), 16);
        __syncthreads();
        if (threadIdx.x == 40) barrier_arrive(full());
    });
    check_fails("where none was made", THREADS, SHARED_BYTES, [] { barrier_arrive(shared_address(16)); });
    check_fails("where there is one", THREADS, SHARED_BYTES, [] { barrier_make(full(), 1); });
    check_fails("another thread makes", THREADS, SHARED_BYTES, [] {
        if (threadIdx.x == 0) barrier_make(full(), THREADS);
        barrier_arrive(full());
    });
    check_fails("not aligned to 8", THREADS, SHARED_BYTES, [] { barrier_make(shared_address(4), 1); });
    check_fails("for 0 arrivals", THREADS, SHARED_BYTES, [] { barrier_make(full(), 0); });
    check_fails("waits for the parity 2", THREADS, SHARED_BYTES, [] {
        make_barriers();
        barrier_wait(full(), 2);
    });
    check_fails("touches an mbarrier", THREADS, SHARED_BYTES, [] {
        make_barriers();
        if (threadIdx.x == 0) shared_array<uint32_t>(FULL, 1)[0] = 0;
    });
}

enum class Waits { For, ForAnother, Not };

// Both warps read 256 bytes that lane 0 copies. Another copy brings 16 bytes that nobody reads.
std::function<void()> bulk_copy(const Bytes &bytes, uint32_t expected, bool fence, Waits first, Waits second) {
    return [&bytes, expected, fence, first, second] {
        make_barriers(fence);
        if (threadIdx.x == 0) {
            barrier_arrive_expecting(full(), expected);
            copy_bulk(shared_address(128), bytes.start + 32, 256, full());
            barrier_arrive_expecting(other(), 16);
            copy_bulk(shared_address(0), bytes.start, 16, other());
        }
        const Waits waits = threadIdx.x < 32 ? first : second;
        if (waits == Waits::For) barrier_wait(full(), 0);
        if (waits != Waits::Not) barrier_wait(other(), 0);
        const uint32_t got = read(128 + threadIdx.x * 4);
        CHECK(got == word_of(32 + threadIdx.x * 4), "%08x", got);
    };
}

void bulk_copies_arrive_when_they_are_waited_for() {
    const Bytes bytes;
    const auto copy = [&](uint32_t expected, bool fence, Waits first, Waits second) {
        return bulk_copy(bytes, expected, fence, first, second);
    };
    constexpr Waits FOR = Waits::For;
    check_runs(THREADS, SHARED_BYTES, copy(256, true, FOR, FOR));
    check_fails("has not brought yet", THREADS, SHARED_BYTES, copy(256, true, Waits::Not, FOR));
    // The data are there, since another warp waits for them; this one does not know.
    check_fails("that a bulk copy writes", THREADS, SHARED_BYTES, copy(256, true, FOR, Waits::ForAnother));
    check_fails("made without a fence", THREADS, SHARED_BYTES, copy(256, false, FOR, FOR));
    check_fails("misses 0 arrivals and 16 bytes", THREADS, SHARED_BYTES, copy(272, true, FOR, FOR));
    check_fails("misses 0 arrivals and -16 bytes", THREADS, SHARED_BYTES, copy(240, true, FOR, FOR));
    const auto alone = [&](uint32_t to, uint32_t from, uint32_t count) {
        return [&bytes, to, from, count] {
            make_barriers();
            if (threadIdx.x == 0) barrier_arrive_expecting(full(), count), copy_bulk(shared_address(to), bytes.start + from, count, full());
        };
    };
    check_fails("ends before what arrives", THREADS, SHARED_BYTES, alone(0, 0, 64));
    check_fails("not aligned to 16", THREADS, SHARED_BYTES, alone(8, 0, 64));
    check_fails("not aligned to 16", THREADS, SHARED_BYTES, alone(0, 4, 64));
    check_fails("not aligned to 16", THREADS, SHARED_BYTES, alone(0, 0, 72));
    check_fails("global memory that is not allocated", THREADS, SHARED_BYTES, alone(0, Bytes::COUNT - 32, 64));
    check_fails("of shared memory, which has", THREADS, SHARED_BYTES, alone(SHARED_BYTES - 32, 0, 64));
    check_fails("touches an mbarrier", THREADS, SHARED_BYTES, alone(FULL - 32, 0, 64));
    // Over words that others may still read.
    const auto over = [&](bool waits) {
        return [&bytes, waits] {
            make_barriers();
            shared_array<uint32_t>(0, THREADS)[threadIdx.x] = 5;
            __syncthreads();
            const uint32_t got = read(threadIdx.x * 4);
            CHECK(got == 5, "%u", got);
            __syncwarp();
            if (threadIdx.x % 32 == 0) barrier_arrive(empty());
            // The second warp runs after the first, which has read.
            if (threadIdx.x != 32) return;
            if (waits) barrier_wait(empty(), 0);
            barrier_arrive_expecting(full(), 256);
            copy_bulk(shared_address(0), bytes.start, 256, full());
            barrier_wait(full(), 0);
        };
    };
    check_runs(THREADS, SHARED_BYTES, over(true));
    check_fails("races: writes a word", THREADS, SHARED_BYTES, over(false));
}

// A box of 8 rows of 128 bytes, from row 5 and byte 32 on, of 10 rows of 112 bytes, 144 apart: swizzled, with
// zeros beyond the matrix.
void boxes_are_swizzled_and_padded() {
    constexpr uint32_t ROWS = 10, ROW_BYTES = 112, STRIDE = 144, FIRST_ROW = 5, FIRST_BYTE = 32, BOX_ROWS = 8;
    constexpr uint32_t BOX_BYTES = BOX_ROWS * 128, START = 1024 - SHARED_START;
    const Bytes bytes;
    toller_tensor_map map;
    CHECK(toller_shim_tensor_map(&map, bytes.start, ROW_BYTES, ROWS, STRIDE, BOX_ROWS) == 0, "a map");
    const auto copied = [&](const toller_tensor_map &map, uint32_t to, uint32_t byte) {
        return [&map, to, byte] {
            make_barriers();
            if (threadIdx.x == 0) {
                barrier_arrive_expecting(full(), BOX_BYTES);
                copy_box(shared_address(to), &map, byte, FIRST_ROW, full());
            }
            barrier_wait(full(), 0);
            for (uint32_t i = threadIdx.x; i < BOX_BYTES / 4; i += THREADS) {
                const uint32_t row = i / 32, along = i % 32 * 4;
                const bool present = FIRST_ROW + row < ROWS && FIRST_BYTE + along < ROW_BYTES;
                const uint32_t got = read(START + swizzled(row, along / 16) + along % 16);
                const uint32_t expected = present ? word_of((FIRST_ROW + row) * STRIDE + FIRST_BYTE + along) : 0;
                CHECK(got == expected, "row %u, byte %u: %08x", row, along, got);
            }
        };
    };
    check_runs(THREADS, SHARED_BYTES, copied(map, START, FIRST_BYTE));
    check_fails("not aligned to 128", THREADS, SHARED_BYTES, copied(map, START + 64, FIRST_BYTE));
    check_fails("not aligned to 16", THREADS, SHARED_BYTES, copied(map, START, FIRST_BYTE + 8));
    check_fails("what is no tensor map", THREADS, SHARED_BYTES, copied(toller_tensor_map{}, START, FIRST_BYTE));
    // What the hardware cannot describe.
    CHECK(toller_shim_tensor_map(&map, bytes.start + 8, ROW_BYTES, ROWS, STRIDE, BOX_ROWS) == 1, "a start");
    CHECK(toller_shim_tensor_map(&map, bytes.start, ROW_BYTES, ROWS, STRIDE + 8, BOX_ROWS) == 1, "a stride");
    CHECK(toller_shim_tensor_map(&map, bytes.start, ROW_BYTES, ROWS, STRIDE, 257) == 1, "a box");
    CHECK(toller_shim_tensor_map(&map, bytes.start, ROW_BYTES, 0, STRIDE, BOX_ROWS) == 1, "no rows");
    // A matrix that is larger than its memory.
    CHECK(toller_shim_tensor_map(&map, bytes.start + Bytes::COUNT - 16 * FIRST_ROW, 16, 100, 16, BOX_ROWS) == 0, "too long");
    check_fails("global memory", THREADS, SHARED_BYTES, copied(map, START, 0));
}

// wgmma reads what a bulk copy brought without a proxy fence, and not what a thread wrote.
void products_read_bulk_copies_without_a_fence() {
    constexpr uint32_t OPERANDS = (64 + 192) * 128, BARRIER = OPERANDS + 1024;
    auto *memory = static_cast<unsigned char *>(toller_shim_allocate(OPERANDS));
    const auto value = [](uint32_t row, uint32_t i) { return static_cast<int>((row * 7 + i * 3) % 11) - 5; };
    for (uint32_t i = 0; i < OPERANDS; ++i) memory[i] = static_cast<unsigned char>(value(i / 128, i % 128));
    toller_tensor_map map;
    CHECK(toller_shim_tensor_map(&map, memory, 128, 256, 128, 256) == 0, "a map");
    bool right = true;
    const auto product = [&](bool writes) {
        return [&, writes] {
            const uint32_t start = 1024 - SHARED_START, barrier = shared_address(BARRIER);
            if (threadIdx.x == 0) barrier_make(barrier, 1), barrier_make_fence();
            __syncthreads();
            if (threadIdx.x == 0) barrier_arrive_expecting(barrier, OPERANDS), copy_box(shared_address(start), &map, 0, 0, barrier);
            barrier_wait(barrier, 0);
            if (writes && threadIdx.x == 0) shared_array<uint32_t>(start, 1)[0] = 0;
            __syncthreads();
            int32_t sums[24][4] = {};
            const uint64_t a = matrix_descriptor(shared_address(start)), b = matrix_descriptor(shared_address(start + 64 * 128));
            wgmma_fence();
            wgmma_int8(sums, a, b);
            wgmma_commit();
            wgmma_wait<0>();
            for (uint32_t n = 0; n < 24; ++n) {
                for (uint32_t i = 0; i < 4; ++i) {
                    const uint32_t row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 * 8;
                    const uint32_t column = n * 8 + threadIdx.x % 4 * 2 + i % 2;
                    int expected = 0;
                    for (uint32_t j = 0; j < 32; ++j) expected += value(row, j) * value(64 + column, j);
                    right = right && sums[n][i] == expected;
                }
            }
        };
    };
    check_runs(128, BARRIER + 8, product(false));
    CHECK(right, "64 rows x 192 columns");
    check_fails("without a fence", 128, BARRIER + 8, product(true));
    toller_shim_free(memory);
}

void registers_are_shared() {
    // 512 threads begin with 128 each.
    const auto shared = [](bool keeps) {
        return [keeps] {
            if (threadIdx.x >= 128) take_registers<160>();
            else if (keeps) keep_registers<32>();
        };
    };
    check_runs(512, 0, shared(true));
    check_fails("registers, of 65536", 512, 0, shared(false));
    check_fails("setmaxnreg.dec to 136 registers from 128", 512, 0, [] { keep_registers<136>(); });
    check_fails("setmaxnreg.inc to 120 registers from 128", 512, 0, [] { take_registers<120>(); });
    check_fails("waits for ever in setmaxnreg.dec", 512, 0, [] {
        if (threadIdx.x % 32 != 0) keep_registers<32>();
    });
}

} // namespace

int main() {
    arrivals_order_what_was_before();
    phases_follow_each_other();
    mistakes_with_mbarriers_are_found();
    bulk_copies_arrive_when_they_are_waited_for();
    boxes_are_swizzled_and_padded();
    products_read_bulk_copies_without_a_fence();
    registers_are_shared();
    std::puts("mbarriers and bulk copies do what the shim says");
}
