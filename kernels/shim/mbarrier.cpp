#include "mbarrier.h"

#include <cstring>

#include "device.h"
#include "shim.h"
#include "tensor_map.h"

namespace toller_shim {

std::string Mbarrier::describe() const {
    return "the mbarrier at byte " + std::to_string(offset) + ", whose phase " + std::to_string(phase) + " misses " +
           std::to_string(left) + " arrivals and " + std::to_string(bytes) + " bytes";
}

void Mbarriers::make(uint32_t offset, uint32_t arrivals) {
    if (offset % 8 != 0) fail("makes an mbarrier that is not aligned to 8 bytes");
    if (arrivals == 0 || arrivals >= 1u << 20) fail("makes an mbarrier for " + std::to_string(arrivals) + " arrivals");
    if (made.count(offset) != 0) fail("makes an mbarrier where there is one");
    if (made.size() == MOST) fail("makes more mbarriers than are modelled");
    block().shared.take(offset, 8);
    const Clock nothing = block().begin_clocks();
    Mbarrier barrier{};
    barrier.number = static_cast<uint32_t>(made.size()), barrier.offset = offset;
    barrier.arrivals = barrier.left = arrivals;
    barrier.made = Mark::now(), barrier.fences = running().mbarrier_fences;
    barrier.arriving = barrier.arrived = nothing;
    made.emplace(offset, barrier);
}

Mbarrier &Mbarriers::at(uint32_t offset) {
    const auto found = made.find(offset);
    if (found == made.end()) fail("uses an mbarrier at byte " + std::to_string(offset) + ", where none was made");
    if (!found->second.made.is_before_now()) fail("races: uses an mbarrier that another thread makes between the same barriers");
    return found->second;
}

void Mbarriers::arrive(Mbarrier &barrier, uint32_t bytes) {
    if (barrier.left == 0) fail("arrives too often at " + barrier.describe());
    Thread &thread = running();
    join(barrier.arriving, thread.known);
    barrier.arriving[thread.number] = thread.time++;
    barrier.bytes += bytes;
    --barrier.left;
    end_phase(barrier);
}

void Mbarriers::wait(Mbarrier &barrier, uint32_t parity) {
    if (parity > 1) fail("waits for the parity " + std::to_string(parity));
    while (barrier.phase % 2 == parity) block().wait_at(barrier);
    join(running().known, barrier.arrived);
}

void Mbarriers::copy(Mbarrier &barrier, std::vector<Copy> copies) {
    if (block().thread(barrier.made.thread).mbarrier_fences == barrier.fences) {
        fail("a bulk copy arrives at an mbarrier that was made without a fence");
    }
    for (const Copy &one : copies) {
        if (one.present) check_global(one.from, 16);
        block().shared.await(one.to, 16);
    }
    barrier.copies.insert(barrier.copies.end(), copies.begin(), copies.end());
}

// Goes on to the next phase, and wakes those that wait for it, if this phase has all that it needs.
bool Mbarriers::end_phase(Mbarrier &barrier) {
    if (barrier.left != 0 || barrier.bytes != 0 || !barrier.copies.empty()) return false;
    ++barrier.phase;
    barrier.left = barrier.arrivals;
    barrier.arriving[block().clock_of(barrier)] = barrier.phase;
    barrier.arrived = barrier.arriving;
    return block().wake(barrier);
}

bool Mbarriers::bring() {
    bool any = false;
    for (auto &[offset, barrier] : made) {
        if (barrier.copies.empty() || !block().is_awaited(barrier)) continue;
        for (const Copy &copy : barrier.copies) {
            const Mark mark{block().clock_of(barrier), Mark::NO_EPOCH, 0, barrier.phase + 1};
            unsigned char *to = block().shared.arrive_by_proxy(copy.to, 16, mark);
            if (copy.present) {
                std::memcpy(to, copy.from, 16);
            } else {
                std::memset(to, 0, 16);
            }
            barrier.bytes -= 16;
        }
        barrier.copies.clear();
        any = end_phase(barrier) || any;
    }
    return any;
}

std::string Mbarriers::unfinished() const {
    for (const auto &[offset, barrier] : made) {
        if (!barrier.copies.empty() || barrier.bytes != 0) return "ends before what arrives at " + barrier.describe();
    }
    return {};
}

namespace {

// What the shim's tensor maps hold.
struct Matrix {
    static constexpr uint64_t MAGIC = 0x70616d20726f736e;
    // Bytes of a row of a box: what the swizzle permutes.
    static constexpr uint32_t BOX_BYTES = 128;

    uint64_t magic;
    const unsigned char *start;
    uint64_t row_bytes, rows, stride;
    uint32_t box_rows;
};
static_assert(sizeof(Matrix) <= sizeof(toller_tensor_map), "fits");

uint32_t offset_of(uint32_t address) {
    if (address < SHARED_START) fail("uses an address below the shared memory");
    return address - SHARED_START;
}

Mbarriers &mbarriers() { return block().mbarriers; }

// A warpgroup's new share of the registers.
void set_registers(const char *operation, uint32_t count, bool more) {
    const uint32_t group = running().number / Block::GROUP_THREADS;
    block().together(block().warpgroup(group), operation, nullptr, [&](void *const *) {
        uint32_t &own = block().registers[group];
        if (more ? count < own : count > own) {
            fail(std::string(operation) + " to " + std::to_string(count) + " registers from " + std::to_string(own));
        }
        own = count;
    });
}

} // namespace
} // namespace toller_shim

using namespace toller_shim;

int toller_shim_tensor_map(void *map, const void *matrix, uint64_t row_bytes, uint64_t rows, uint64_t stride, uint32_t box_rows) {
    const bool is_aligned = reinterpret_cast<uintptr_t>(matrix) % 16 == 0 && stride % 16 == 0;
    const bool is_sized = row_bytes > 0 && row_bytes <= stride && rows > 0 && rows <= uint64_t{1} << 32;
    if (!is_aligned || !is_sized || stride >= uint64_t{1} << 40 || box_rows == 0 || box_rows > 256) return 1;
    const Matrix described{Matrix::MAGIC, static_cast<const unsigned char *>(matrix), row_bytes, rows, stride, box_rows};
    std::memset(map, 0, sizeof(toller_tensor_map));
    std::memcpy(map, &described, sizeof(described));
    return 0;
}

void barrier_make(uint32_t barrier, uint32_t arrivals) { mbarriers().make(offset_of(barrier), arrivals); }

void barrier_make_fence() { ++running().mbarrier_fences; }

void barrier_arrive(uint32_t barrier) { mbarriers().arrive(mbarriers().at(offset_of(barrier)), 0); }

void barrier_arrive_expecting(uint32_t barrier, uint32_t bytes) {
    mbarriers().arrive(mbarriers().at(offset_of(barrier)), bytes);
}

void barrier_wait(uint32_t barrier, uint32_t parity) { mbarriers().wait(mbarriers().at(offset_of(barrier)), parity); }

void copy_bulk(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier) {
    if (to % 16 != 0 || reinterpret_cast<uintptr_t>(from) % 16 != 0 || bytes % 16 != 0) {
        fail("copies in bulk what is not aligned to 16 bytes");
    }
    std::vector<Copy> copies;
    for (uint32_t byte = 0; byte < bytes; byte += 16) {
        copies.push_back({offset_of(to + byte), static_cast<const unsigned char *>(from) + byte, true});
    }
    mbarriers().copy(mbarriers().at(offset_of(barrier)), std::move(copies));
}

void copy_box(uint32_t to, const toller_tensor_map *map, uint32_t byte, uint32_t row, uint32_t barrier) {
    Matrix matrix;
    std::memcpy(&matrix, map, sizeof(matrix));
    if (matrix.magic != Matrix::MAGIC) fail("copies a box by what is no tensor map");
    if (to % 128 != 0) fail("copies a box to where it is not aligned to 128 bytes");
    if (byte % 16 != 0) fail("copies a box from where it is not aligned to 16 bytes");
    std::vector<Copy> copies;
    for (uint32_t i = 0; i < matrix.box_rows; ++i) {
        for (uint32_t along = 0; along < Matrix::BOX_BYTES; along += 16) {
            const uint64_t from_row = uint64_t{row} + i, from_byte = uint64_t{byte} + along;
            const bool present = from_row < matrix.rows && from_byte < matrix.row_bytes;
            // Rows of a box follow each other; bits 7 to 9 of an address permute bits 4 to 6.
            const uint32_t address = to + i * Matrix::BOX_BYTES + along;
            copies.push_back({offset_of(address ^ (address >> 7 & 7) << 4),
                              present ? matrix.start + from_row * matrix.stride + from_byte : nullptr, present});
        }
    }
    mbarriers().copy(mbarriers().at(offset_of(barrier)), std::move(copies));
}

void toller_shim::keep_registers_of_group(uint32_t count) { set_registers("setmaxnreg.dec", count, false); }
void toller_shim::take_registers_for_group(uint32_t count) { set_registers("setmaxnreg.inc", count, true); }
