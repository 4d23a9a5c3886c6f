// Products of a warpgroup (common/wgmma.cuh): issued by all four warps, computed when they are waited for.
//
// So it finds operands that are overwritten too early or never fenced; sums that are read too early miss the
// products.
#include "device.h"
#include "tensor_core.h"

using namespace toller_shim;

namespace {

constexpr uint32_t GROUP_THREADS = Block::GROUP_THREADS;

// A matrix in shared memory, from its descriptor (PTX ISA, "Matrix descriptor format").
class Matrix {
  public:
    explicit Matrix(uint64_t descriptor)
        : start((descriptor & 0x3fff) * 16), eight_rows((descriptor >> 32 & 0x3fff) * 16) {
        if (descriptor >> 62 != 1) fail("wgmma: only the swizzle of 128 bytes is modelled");
        if ((descriptor >> 49 & 7) != 0) fail("wgmma: the base offset must be zero for matrices aligned to 1,024");
    }

    // The 32 bytes of a row that one product takes.
    void row(uint32_t row, unsigned char (&to)[DEPTH_BYTES]) const {
        const uint32_t first = start + row / 8 * eight_rows + row % 8 * 128;
        for (uint32_t byte = 0; byte < DEPTH_BYTES; byte += 16) {
            // Bits 7 to 9 of the address permute bits 4 to 6.
            const uint32_t address = (first + byte) ^ ((first + byte) >> 7 & 7) << 4;
            if (address < SHARED_START) fail("wgmma: a matrix below the shared memory");
            std::memcpy(to + byte, block().shared.touch_by_proxy(address - SHARED_START, 16), 16);
        }
    }

  private:
    uint32_t start, eight_rows;
};

// The running thread's share of a product: rows g and g + 8 of its warp's sixteen, all columns 8 n + 2 t and
// 8 n + 2 t + 1. `read` converts a row of 32 bytes for `multiply`.
template <int COLUMNS, class Sum, class Read, class Multiply>
void multiply_share(Sum (*c)[4], uint64_t a, uint64_t b, Read read, Multiply multiply) {
    const Matrix rows(a), columns(b);
    const uint32_t warp = running().number % GROUP_THREADS / 32, lane = running().lane();
    unsigned char bytes[3][DEPTH_BYTES];
    rows.row(warp * 16 + lane / 4, bytes[0]);
    rows.row(warp * 16 + lane / 4 + 8, bytes[1]);
    const auto low = read(bytes[0]), high = read(bytes[1]);
    for (uint32_t n = 0; n < COLUMNS; ++n) {
        for (uint32_t j = 0; j < 2; ++j) {
            columns.row(n * 8 + lane % 4 * 2 + j, bytes[2]);
            const auto column = read(bytes[2]);
            c[n][j] = multiply(low, column, c[n][j]);
            c[n][2 + j] = multiply(high, column, c[n][2 + j]);
        }
    }
}

Team &own_warpgroup() { return block().warpgroup(running().number / GROUP_THREADS); }

// What a thread brings to a product; all threads must bring the same.
struct Descriptors {
    uint64_t a, b;
};

template <int COLUMNS, class Sum, class Read, class Multiply>
void ask(const char *operation, Sum (&c)[COLUMNS][4], uint64_t a, uint64_t b, Read read, Multiply multiply) {
    if (!running().has_fenced_sums) fail(std::string(operation) + " without wgmma.fence before it");
    Descriptors own{a, b};
    block().together(own_warpgroup(), operation, &own, [&](void *const *threads) {
        for (uint32_t i = 0; i < GROUP_THREADS; ++i) {
            const auto &other = *static_cast<const Descriptors *>(threads[i]);
            if (other.a != a || other.b != b) fail("the threads of a warpgroup describe different matrices");
        }
    });
    Sum(*sums)[4] = c;
    running().products.push_back([=] { multiply_share<COLUMNS>(sums, a, b, read, multiply); });
}

template <int COLUMNS>
void ask_floats(const char *operation, Number number, float (&c)[COLUMNS][4], uint64_t a, uint64_t b) {
    ask(operation, c, a, b, [number](const unsigned char *row) { return numbers_of(number, row); },
        [](const Numbers &row, const Numbers &column, float sum) { return multiplied(row, column, sum); });
}

template <int COLUMNS>
void ask_int8(int32_t (&c)[COLUMNS][4], uint64_t a, uint64_t b) {
    using Row = const unsigned char *;
    ask("wgmma.int8", c, a, b, [](Row row) { return row; },
        [](Row row, Row column, int32_t sum) { return multiplied(row, column, sum); });
}

} // namespace

void fence_proxy_async() { ++running().fences; }

void wgmma_fence() { running().has_fenced_sums = true; }

void wgmma_commit() {
    running().product_groups.push_back(std::exchange(running().products, {}));
    running().has_fenced_sums = false;
}

void toller_shim::wait_for_products(size_t pending) {
    auto &groups = running().product_groups;
    while (groups.size() > pending) {
        for (const auto &product : groups.front()) product();
        groups.erase(groups.begin());
    }
}

#define OF_WIDTH(COLUMNS)                                                                                              \
    void wgmma_f16(float (&c)[COLUMNS][4], uint64_t a, uint64_t b) { ask_floats("wgmma.f16", Number::F16, c, a, b); }  \
    void wgmma_bf16(float (&c)[COLUMNS][4], uint64_t a, uint64_t b) {                                                  \
        ask_floats("wgmma.bf16", Number::Bf16, c, a, b);                                                               \
    }                                                                                                                  \
    void wgmma_tf32(float (&c)[COLUMNS][4], uint64_t a, uint64_t b) {                                                  \
        ask_floats("wgmma.tf32", Number::Tf32, c, a, b);                                                               \
    }                                                                                                                  \
    void wgmma_int8(int32_t (&c)[COLUMNS][4], uint64_t a, uint64_t b) { ask_int8(c, a, b); }
OF_WIDTH(24)
