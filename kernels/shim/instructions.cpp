// The instructions of a warp, with the fragment layouts of the PTX ISA.
#include <algorithm>

#include "device.h"
#include "tensor_core.h"

using namespace toller_shim;

namespace {

constexpr uint32_t LANES = 32;

// All lanes do `operation`; the last to arrive runs `act` on what they brought.
template <class Act>
void in_warp(const char *operation, void *brought, Act act) {
    block().together(running().warp(), operation, brought, act);
}

void check_mask(uint32_t mask) {
    if (mask != 0xffffffffu) fail("only a whole warp's mask is modelled");
}

// What a lane brings to an exchange and takes from it.
struct Exchange {
    uint64_t value;
    uint32_t source;
    uint64_t result;
};

// Exchanges every lane's value, then computes every lane's result from all values.
template <class Result>
uint32_t from_all(const char *operation, uint32_t mask, uint32_t value, Result result) {
    check_mask(mask);
    Exchange own{value, 0, 0};
    in_warp(operation, &own, [&](void *const *lanes) {
        for (uint32_t i = 0; i < LANES; ++i) {
            auto &lane = *static_cast<Exchange *>(lanes[i]);
            lane.result = 0;
            for (uint32_t j = 0; j < LANES; ++j) {
                result(lane, static_cast<uint32_t>(static_cast<const Exchange *>(lanes[j])->value), j);
            }
        }
    });
    return static_cast<uint32_t>(own.result);
}

uint32_t offset_of(uint32_t address) {
    if (address < SHARED_START) fail("uses an address below the shared memory");
    return address - SHARED_START;
}

const unsigned char *row_of_16_bytes(uint32_t address) {
    if (address % 16 != 0) fail("reads a matrix row that is not aligned to 16 bytes");
    return block().shared.touch(offset_of(address), 16, Access::Read);
}

// Lane i gets two neighbours of row i / 4 of each matrix, or of column i / 4 if it is transposed.
template <int MATRICES, bool TRANSPOSED = false>
void load_matrices(const char *operation, uint32_t (&to)[MATRICES], uint32_t row) {
    struct Lane {
        uint32_t (&to)[MATRICES];
        const unsigned char *row;
    };
    // Addresses of the other lanes are not read.
    Lane own{to, running().lane() < 8 * MATRICES ? row_of_16_bytes(row) : nullptr};
    in_warp(operation, &own, [](void *const *lanes) {
        for (uint32_t i = 0; i < LANES; ++i) {
            for (uint32_t matrix = 0; matrix < MATRICES; ++matrix) {
                auto *word = reinterpret_cast<unsigned char *>(&static_cast<Lane *>(lanes[i])->to[matrix]);
                for (uint32_t half = 0; half < 2; ++half) {
                    const uint32_t across = i / 4, along = i % 4 * 2 + half;
                    const uint32_t in_row = TRANSPOSED ? along : across, number = TRANSPOSED ? across : along;
                    std::memcpy(word + 2 * half, static_cast<Lane *>(lanes[8 * matrix + in_row])->row + 2 * number, 2);
                }
            }
        }
    });
}

// What a lane brings to mma.sync.
template <class Sum>
struct Fragments {
    Sum (&c)[4];
    const uint32_t (&a)[4];
    const uint32_t (&b)[2];
};

// Lane 4 g + t holds, in words of four bytes: of A (16 x 8 words) [g][t], [g + 8][t], [g][t + 4], [g + 8][t +
// 4]; of B (8 columns of 8 words) t and t + 4 of column g; of C (16 x 8) [g][2 t], [g][2 t + 1] and the same
// of row g + 8.
//
// `read` converts a row of 32 bytes for `multiply`.
template <class Sum, class Read, class Multiply>
void multiply_fragments(const char *operation, Sum (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], Read read,
                        Multiply multiply) {
    using Row = decltype(read(nullptr));
    Fragments<Sum> own{c, a, b};
    in_warp(operation, &own, [&](void *const *lanes) {
        uint32_t words[24][8];
        for (uint32_t i = 0; i < LANES; ++i) {
            const auto &lane = *static_cast<Fragments<Sum> *>(lanes[i]);
            const uint32_t g = i / 4, t = i % 4;
            words[g][t] = lane.a[0], words[g + 8][t] = lane.a[1];
            words[g][t + 4] = lane.a[2], words[g + 8][t + 4] = lane.a[3];
            words[16 + g][t] = lane.b[0], words[16 + g][t + 4] = lane.b[1];
        }
        Row rows[24];
        for (uint32_t i = 0; i < 24; ++i) rows[i] = read(reinterpret_cast<const unsigned char *>(words[i]));
        for (uint32_t i = 0; i < LANES; ++i) {
            auto &lane = *static_cast<Fragments<Sum> *>(lanes[i]);
            for (uint32_t j = 0; j < 4; ++j) {
                lane.c[j] = multiply(rows[i / 4 + j / 2 * 8], rows[16 + i % 4 * 2 + j % 2], lane.c[j]);
            }
        }
    });
}

void multiply_floats(const char *operation, Number number, float (&c)[4], const uint32_t (&a)[4],
                     const uint32_t (&b)[2]) {
    const auto read = [number](const unsigned char *row) { return numbers_of(number, row); };
    multiply_fragments(operation, c, a, b, read,
                       [](const Numbers &row, const Numbers &column, float sum) { return multiplied(row, column, sum); });
}

void bring(const std::vector<Copy> &copies) {
    for (const Copy &copy : copies) {
        unsigned char *to = block().shared.arrive(offset_of(copy.to), 16);
        if (copy.present) {
            std::memcpy(to, copy.from, 16);
        } else {
            std::memset(to, 0, 16);
        }
    }
}

} // namespace

void __syncthreads() { block().wait_for_all(); }

void __syncwarp() { block().wait_for_warp(); }

uint64_t toller_shim::exchange(const char *operation, uint32_t mask, uint64_t value, uint32_t source) {
    check_mask(mask);
    if (source >= LANES) fail(std::string(operation) + " from a lane that there is not");
    Exchange own{value, source, 0};
    in_warp(operation, &own, [](void *const *lanes) {
        for (uint32_t i = 0; i < LANES; ++i) {
            auto &lane = *static_cast<Exchange *>(lanes[i]);
            lane.result = static_cast<const Exchange *>(lanes[lane.source])->value;
        }
    });
    return own.result;
}

uint32_t __ballot_sync(uint32_t mask, bool flag) {
    return from_all("__ballot_sync", mask, flag,
                    [](Exchange &lane, uint32_t other, uint32_t j) { lane.result |= static_cast<uint64_t>(other) << j; });
}

uint32_t __reduce_or_sync(uint32_t mask, uint32_t value) {
    return from_all("__reduce_or_sync", mask, value,
                    [](Exchange &lane, uint32_t other, uint32_t) { lane.result |= other; });
}

uint32_t __match_any_sync(uint32_t mask, uint32_t value) {
    return from_all("__match_any_sync", mask, value, [](Exchange &lane, uint32_t other, uint32_t j) {
        if (other == static_cast<uint32_t>(lane.value)) lane.result |= uint64_t{1} << j;
    });
}

void cp_async_16(uint32_t to, const void *from, bool present) {
    if (to % 16 != 0 || reinterpret_cast<uintptr_t>(from) % 16 != 0) fail("copies 16 bytes that are not aligned");
    if (present) check_global(from, 16);
    block().shared.await(offset_of(to), 16);
    running().copies.push_back({to, from, present});
}

void cp_async_commit() { running().groups.push_back(std::exchange(running().copies, {})); }

void toller_shim::wait_for_copies(size_t pending) {
    auto &groups = running().groups;
    while (groups.size() > pending) {
        bring(groups.front());
        groups.erase(groups.begin());
    }
}

void ldmatrix_x4(uint32_t (&to)[4], uint32_t row) { load_matrices("ldmatrix.x4", to, row); }
void ldmatrix_x2(uint32_t (&to)[2], uint32_t row) { load_matrices("ldmatrix.x2", to, row); }

void ldmatrix_x4_transposed(uint32_t (&to)[4], uint32_t row) {
    load_matrices<4, true>("ldmatrix.x4.trans", to, row);
}

void mma_f16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    multiply_floats("mma.f16", Number::F16, c, a, b);
}

void mma_bf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    multiply_floats("mma.bf16", Number::Bf16, c, a, b);
}

void mma_tf32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    multiply_floats("mma.tf32", Number::Tf32, c, a, b);
}

void mma_int8(int32_t (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    using Row = const unsigned char *;
    multiply_fragments("mma.int8", c, a, b, [](Row row) { return row; },
                       [](Row row, Row column, int32_t sum) { return multiplied(row, column, sum); });
}
