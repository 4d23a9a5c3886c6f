// The shim itself: instructions against the definitions of the PTX ISA, and mistakes that it must find.
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#define TOLLER_SHIM 1
#include "../device.h"
#include "../shim.h"
#include "common/wgmma.cuh"
#include "in_block.h"

namespace {

// A 16 x 8 product as the PTX ISA defines it (section "Matrix fragments for mma"), element by element:
// element `i` of a lane's fragments of A and B, by type, and element `i` of C.
struct Place {
    uint32_t row, column;
};

Place place_of_a(uint32_t elements_a_register, uint32_t lane, uint32_t i) {
    const uint32_t of_register = i % elements_a_register, part = i / elements_a_register;
    return {lane / 4 + part % 2 * 8, lane % 4 * elements_a_register + of_register + part / 2 * 4 * elements_a_register};
}

Place place_of_b(uint32_t elements_a_register, uint32_t lane, uint32_t i) {
    const uint32_t of_register = i % elements_a_register, part = i / elements_a_register;
    return {lane % 4 * elements_a_register + of_register + part * 4 * elements_a_register, lane / 4};
}

Place place_of_c(uint32_t lane, uint32_t i) { return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2}; }

// `encode` writes small whole numbers as the type's elements of `bytes` bytes.
template <class Sum, class Encode, class Multiply>
void check_product(uint32_t bytes, Encode encode, Multiply multiply) {
    const uint32_t of_register = 4 / bytes, depth = 32 / bytes;
    Random random(bytes);
    std::vector<int> a(16 * depth), b(depth * 8), c(16 * 8);
    for (auto *matrix : {&a, &b, &c}) {
        for (int &x : *matrix) x = static_cast<int>(random.below(15)) - 7;
    }
    std::vector<int> got(16 * 8, 0);
    check_runs(32, 0, [&] {
        const uint32_t lane = threadIdx.x;
        unsigned char of_a[16], of_b[8];
        for (uint32_t i = 0; i < 4 * of_register; ++i) {
            const Place place = place_of_a(of_register, lane, i);
            encode(a[place.row * depth + place.column], of_a + i * bytes);
        }
        for (uint32_t i = 0; i < 2 * of_register; ++i) {
            const Place place = place_of_b(of_register, lane, i);
            encode(b[place.row * 8 + place.column], of_b + i * bytes);
        }
        uint32_t a_registers[4], b_registers[2];
        std::memcpy(a_registers, of_a, 16), std::memcpy(b_registers, of_b, 8);
        Sum sums[4];
        for (uint32_t i = 0; i < 4; ++i) {
            const Place place = place_of_c(lane, i);
            sums[i] = static_cast<Sum>(c[place.row * 8 + place.column]);
        }
        multiply(sums, a_registers, b_registers);
        for (uint32_t i = 0; i < 4; ++i) {
            const Place place = place_of_c(lane, i);
            got[place.row * 8 + place.column] = static_cast<int>(sums[i]);
        }
    });
    for (uint32_t row = 0; row < 16; ++row) {
        for (uint32_t column = 0; column < 8; ++column) {
            int expected = c[row * 8 + column];
            for (uint32_t i = 0; i < depth; ++i) expected += a[row * depth + i] * b[i * 8 + column];
            CHECK(got[row * 8 + column] == expected, "%u bytes, row %u, column %u: %d, not %d", bytes, row, column,
                  got[row * 8 + column], expected);
        }
    }
}

void encode_f16(int x, unsigned char *to) {
    const uint16_t bits = f32_to_f16(static_cast<float>(x));
    std::memcpy(to, &bits, 2);
}

void encode_bf16(int x, unsigned char *to) {
    const auto bits = static_cast<uint16_t>(__float_as_uint(static_cast<float>(x)) >> 16);
    std::memcpy(to, &bits, 2);
}

void encode_f32(int x, unsigned char *to) {
    const auto value = static_cast<float>(x);
    std::memcpy(to, &value, 4);
}

void encode_int8(int x, unsigned char *to) { *to = static_cast<unsigned char>(x); }

void products_are_those_of_the_definition() {
    check_product<float>(2, encode_f16, mma_f16);
    check_product<float>(2, encode_bf16, mma_bf16);
    check_product<float>(4, encode_f32, mma_tf32);
    check_product<int32_t>(1, encode_int8, mma_int8);
}

// The bits below tf32 are ignored, and sums lose terms far below the largest.
void sums_are_no_better_than_the_hardware() {
    check_runs(32, 0, [] {
        float sums[4] = {1, 1, 1, 1};
        const uint32_t small = __float_as_uint(std::ldexp(1.0f, -13)), one = __float_as_uint(1.0f);
        const uint32_t a[4] = {small, small, small, small}, b[2] = {small, small};
        mma_tf32(sums, a, b);
        // Eight products of 2^-26, each cut off next to 1.
        CHECK(sums[0] == 1, "%.9g", sums[0]);
        float none[4] = {};
        const uint32_t more[4] = {one | 0x1fff, one | 0x1fff, one | 0x1fff, one | 0x1fff}, ones[2] = {one, one};
        mma_tf32(none, more, ones);
        CHECK(none[3] == 8, "%.9g", none[3]);
    });
}

void matrices_are_loaded_as_the_definition_says() {
    check_runs(32, 4 * 128, [] {
        const uint32_t lane = threadIdx.x;
        const auto words = shared_array<uint32_t>(0, 128);
        for (uint32_t i = lane; i < 128; i += 32) words[i] = 1000 + i;
        __syncthreads();
        uint32_t four[4], two[2] = {};
        // Row r of matrix m lies at (r * 4 + m) * 16 bytes.
        const auto row = [](uint32_t i) { return shared_address((i % 8 * 4 + i / 8) * 16); };
        ldmatrix_x4(four, row(lane));
        ldmatrix_x2(two, row(lane % 16));
        for (uint32_t m = 0; m < 4; ++m) {
            const uint32_t expected = 1000 + (lane / 4 * 4 + m) * 4 + lane % 4;
            CHECK(four[m] == expected, "%u", four[m]);
            if (m < 2) CHECK(two[m] == expected, "%u", two[m]);
        }
    });
}

// Lane i of a transposed matrix has numbers 2 (i % 4) and the next of column i / 4.
void matrices_are_transposed_as_the_definition_says() {
    check_runs(32, 512, [] {
        const uint32_t lane = threadIdx.x;
        const auto words = shared_array<uint32_t>(0, 128);
        // Number c of row r of matrix m is (m * 8 + r) * 8 + c; two numbers a word.
        for (uint32_t i = lane; i < 128; i += 32) words[i] = 2 * i | (2 * i + 1) << 16;
        __syncthreads();
        uint32_t four[4];
        ldmatrix_x4_transposed(four, shared_address(lane * 16));
        for (uint32_t m = 0; m < 4; ++m) {
            const uint32_t first = (m * 8 + lane % 4 * 2) * 8 + lane / 4;
            CHECK(four[m] == (first | (first + 8) << 16), "%x", four[m]);
        }
    });
}

void lanes_exchange_what_they_hold() {
    check_runs(64, 0, [] {
        const uint32_t lane = threadIdx.x % 32, all = 0xffffffffu;
        CHECK(__shfl_sync(all, lane * 10, 7) == 70, "shfl");
        CHECK(__shfl_xor_sync(all, lane, 5) == (lane ^ 5), "xor");
        CHECK(__shfl_up_sync(all, lane, 4) == (lane < 4 ? lane : lane - 4), "up");
        CHECK(__shfl_down_sync(all, 1.5 * lane, 8, 16) == 1.5 * (lane % 16 < 8 ? lane + 8 : lane), "down");
        CHECK(__ballot_sync(all, lane % 3 == 0) == 0x49249249u, "ballot");
        CHECK(__reduce_or_sync(all, 1u << lane) == all, "or");
        CHECK(__match_any_sync(all, lane % 4) == 0x11111111u << lane % 4, "match");
    });
}

void conversions_round_trip() {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        const float x = f16_to_f32(static_cast<uint16_t>(bits));
        if (x != x) continue;
        CHECK(f32_to_f16(x) == bits, "%04x", bits);
        const float next = f16_to_f32(static_cast<uint16_t>(bits + 1));
        if ((bits & 0x7fff) >= 0x7bff) continue;
        // Halfway rounds to the even neighbour, a little more rounds up.
        const double halfway = (static_cast<double>(x) + next) / 2;
        CHECK(f32_to_f16(static_cast<float>(halfway)) == (bits % 2 == 0 ? bits : bits + 1), "%04x", bits);
        const float more = std::nextafter(static_cast<float>(halfway), next);
        CHECK(f32_to_f16(more) == bits + 1, "%04x", bits);
    }
    CHECK(f32_to_f16x2(1.5f, -0.25f) == 0xb4003e00u, "pairs of f16");
    // Ties go to the even number: 1 + 2^-8 is between 1 and 1 + 2^-7.
    CHECK(f32_to_bf16x2(1.00390625f, -3.0f) == 0xc0403f80u, "%08x", f32_to_bf16x2(1.00390625f, -3.0f));
    CHECK(f32_to_bf16x2(1.01171875f, NAN) == 0x7fff3f82u, "%08x", f32_to_bf16x2(1.01171875f, NAN));
    // Ties go away from zero: 1 + 2^-11 is between 1 and 1 + 2^-10.
    CHECK(f32_to_tf32(1.00048828125f) == 0x3f802000u && f32_to_tf32(-1.0f) == 0xbf800000u, "tf32");
    CHECK(f32_to_tf32(HUGE_VALF) == 0x7f800000u, "infinity");
    CHECK(f32_to_f16(65519.99f) == 0x7bff && f32_to_f16(65520.0f) == 0x7c00 && f32_to_f16(-1e30f) == 0xfc00, "large");
    CHECK(__double2float_ru(1 + 1e-12) > 1 && __double2float_rd(1 + 1e-12) == 1 && __double2float_ru(-1e-60) == 0, "to");
    CHECK(__fmaf_ru(1.0f, 1.0f, 1e-20f) > 1 && __fmaf_ru(1.0f, 1.0f, 0.0f) >= 1, "fma");
}

void mistakes_with_barriers_are_found() {
    const uint32_t all = 0xffffffffu;
    check_runs(64, 0, [] { __syncthreads(); });
    check_fails("has ended", 64, 0, [] {
        if (threadIdx.x != 5) __syncthreads();
    });
    check_fails("waits for ever in __shfl_sync", 64, 0, [&] {
        if (threadIdx.x == 40) return;
        __shfl_sync(all, 1, 0);
    });
    check_fails("while others of its team wait in __ballot_sync", 32, 0, [&] {
        if (threadIdx.x < 31) __ballot_sync(all, true);
        else __match_any_sync(all, 1);
    });
    check_fails("waits for ever in __shfl_sync", 64, 0, [&] {
        if (threadIdx.x % 2 == 0) __shfl_sync(all, 1, 0);
        else __syncthreads();
    });
    check_fails("whole warp", 32, 0, [] { __ballot_sync(0xffff, true); });
}

void races_are_found() {
    const auto neighbours = [](bool barrier) {
        return [barrier] {
            const auto values = shared_array<uint32_t>(0, 64);
            values[threadIdx.x] = threadIdx.x;
            if (barrier) __syncthreads();
            const uint32_t other = values[(threadIdx.x + 32) % 64];
            CHECK(other == (threadIdx.x + 32) % 64, "%u", other);
        };
    };
    check_runs(64, 256, neighbours(true));
    check_fails("nobody has written", 64, 256, neighbours(false));
    check_fails("races", 64, 256, [] {
        const auto values = shared_array<uint32_t>(0, 64);
        values[threadIdx.x] = 0;
        __syncthreads();
        if (threadIdx.x == 40) values[7] = 1;
        const uint32_t read = values[7];
        (void)read;
    });
    check_fails("races", 64, 256, [] {
        const auto values = shared_array<uint32_t>(0, 64);
        values[threadIdx.x] = threadIdx.x;
        __syncthreads();
        const uint32_t read = values[(threadIdx.x + 32) % 64];
        // Written before other threads have read it.
        values[threadIdx.x] = read;
    });
    // Within a warp, __syncwarp is enough, and no barrier is not.
    const auto in_warp = [](bool barrier) {
        return [barrier] {
            const auto values = shared_array<uint32_t>(0, 32);
            values[threadIdx.x] = 1;
            __syncthreads();
            if (threadIdx.x == 3) values[9] = 2;
            if (barrier) __syncwarp();
            const uint32_t read = values[9];
            (void)read;
        };
    };
    check_runs(32, 128, in_warp(true));
    check_fails("races", 32, 128, in_warp(false));
    // Atomics do not race with each other, but with plain reads.
    check_runs(64, 4, [] {
        const auto sum = shared_array<uint32_t>(0, 1);
        if (threadIdx.x == 0) sum[0] = 0;
        __syncthreads();
        sum.add(0, 2);
        __syncthreads();
        CHECK(sum[0] == 128u, "%u", static_cast<uint32_t>(sum[0]));
    });
    check_fails("races", 64, 4, [] {
        const auto sum = shared_array<uint32_t>(0, 1);
        if (threadIdx.x == 0) sum[0] = 0;
        __syncthreads();
        sum.add(0, 2);
        const uint32_t read = sum[0];
        (void)read;
    });
}

void accesses_out_of_bounds_are_found() {
    auto *memory = static_cast<uint32_t *>(toller_shim_allocate(32));
    CHECK(memory[0] == 0xffffffffu, "fresh memory is poisoned");
    const Global<uint32_t> whole{memory, 8}, longer{memory, 9};
    check_runs(32, 0, [&] { whole[threadIdx.x % 8] = 1; });
    check_fails("element 8 of a global array of 8", 32, 0, [&] { whole[threadIdx.x % 9] = 1; });
    check_fails("not allocated", 32, 0, [&] { longer[threadIdx.x % 9] = 1; });
    const Global<uint64_t> across{reinterpret_cast<uint64_t *>(memory + 7), 1};
    check_fails("beyond the end of an allocation", 32, 0, [&] { across[0] = 1; });
    uint32_t own[4] = {};
    check_fails("not allocated", 32, 0, [&] { Global<uint32_t>{own, 4}[0] = 1; });
    toller_shim_free(memory);
    check_fails("not allocated", 32, 0, [&] { whole[0] = 1; });

    check_fails("of a shared array of 4", 32, 64, [] { shared_array<uint32_t>(0, 4)[4] = 1; });
    check_fails("of shared memory, which has 64", 32, 64, [] { shared_array<uint32_t>(60, 4)[1] = 1; });
    check_fails("part of a word", 32, 64, [] { shared_array<uint32_t>(2, 4)[0] = 1; });
}

// Every thread copies 16 bytes and reads those of the next thread.
void mistakes_with_copies_are_found() {
    auto *memory = static_cast<unsigned char *>(toller_shim_allocate(32 * 16));
    for (int i = 0; i < 32 * 16; ++i) memory[i] = static_cast<unsigned char>(i / 16);
    const auto copy = [memory](bool wait, bool barrier, uint32_t past, bool present) {
        return [=] {
            const uint32_t thread = threadIdx.x, other = (thread + 1) % 32;
            cp_async_16(shared_address(thread * 16), memory + (thread + past) * 16, present);
            cp_async_commit();
            if (wait) cp_async_wait<0>();
            if (barrier) __syncthreads();
            const uint32_t got = shared_array<uint32_t>(0, 128)[other * 4 + 3];
            CHECK(got == (present ? other * 0x01010101u : 0), "%u", got);
            cp_async_wait<0>();
        };
    };
    check_runs(32, 512, copy(true, true, 0, true));
    check_runs(32, 512, copy(true, true, 1000, false));
    check_fails("has not brought yet", 32, 512, copy(false, true, 0, true));
    check_fails("nobody has written", 32, 512, copy(true, false, 0, true));
    check_fails("not allocated", 32, 512, copy(true, true, 1, true));
    check_fails("while its copies are under way", 32, 512, [&] {
        cp_async_16(shared_address(threadIdx.x * 16), memory, true);
        cp_async_commit();
    });
    check_fails("not aligned", 32, 512, [&] { cp_async_16(shared_address(8), memory, true); });
    // A copy over words that other threads still read.
    check_fails("races", 32, 512, [&] {
        const auto words = shared_array<uint32_t>(0, 128);
        for (uint32_t i = threadIdx.x; i < 128; i += 32) words[i] = 1;
        __syncthreads();
        const uint32_t read = words[threadIdx.x];
        (void)read;
        cp_async_16(shared_address(threadIdx.x * 16), memory, true);
        cp_async_commit();
        cp_async_wait<0>();
    });
    toller_shim_free(memory);
}

constexpr uint32_t WGMMA_BYTES = (64 + 192) * 128 + 1024;

// Byte `byte` of row `row` of a matrix whose rows of 128 bytes are swizzled by 128 bytes.
uint32_t swizzled_byte(uint32_t row, uint32_t byte) { return row * 128 + ((byte / 16 ^ row % 8) * 16) + byte % 16; }

// 64 rows times 192 columns of small whole numbers in int8, the second 32 bytes of each row.
std::function<void()> warpgroup_product(bool fence, bool wait, bool sums_fence, bool &right) {
    return [=, &right] {
        const uint32_t start = 1024 - shared_address(0) % 1024, depth = 32, first_byte = 32;
        const auto value = [](uint32_t row, uint32_t i) { return static_cast<int>((row * 7 + i * 3) % 11) - 5; };
        for (uint32_t word = threadIdx.x; word < 256 * 32; word += 128) {
            const uint32_t row = word / 32, byte = word % 32 * 4;
            uint32_t four = 0;
            for (uint32_t j = 0; j < 4; ++j) four |= (value(row, byte + j) & 0xffu) << 8 * j;
            shared_array<uint32_t>(start + swizzled_byte(row, byte), 1)[0] = four;
        }
        if (fence) fence_proxy_async();
        __syncthreads();
        const uint64_t a = matrix_descriptor(shared_address(start)), b = matrix_descriptor(shared_address(start + 64 * 128));
        int32_t sums[24][4] = {};
        if (sums_fence) wgmma_fence();
        wgmma_int8(sums, a + first_byte / 16, b + first_byte / 16);
        wgmma_commit();
        if (wait) wgmma_wait<0>();
        for (uint32_t n = 0; n < 24; ++n) {
            for (uint32_t i = 0; i < 4; ++i) {
                const Place place = place_of_c(threadIdx.x % 32, i);
                const uint32_t row = threadIdx.x / 32 * 16 + place.row, column = n * 8 + place.column;
                int expected = 0;
                for (uint32_t j = first_byte; j < first_byte + depth; ++j) expected += value(row, j) * value(64 + column, j);
                right = right && sums[n][i] == expected;
            }
        }
        wgmma_wait<0>();
    };
}

void products_of_warpgroups_are_those_of_the_definition() {
    bool right = true;
    check_runs(128, WGMMA_BYTES, warpgroup_product(true, true, true, right));
    CHECK(right, "wgmma");
    check_runs(128, WGMMA_BYTES, warpgroup_product(true, false, true, right));
    CHECK(!right, "sums are not there before they are waited for");
    check_fails("without a fence", 128, WGMMA_BYTES, warpgroup_product(false, true, true, right));
    check_fails("without wgmma.fence", 128, WGMMA_BYTES, warpgroup_product(true, true, false, right));
    check_fails("team that is not whole", 96, WGMMA_BYTES, warpgroup_product(true, true, true, right));
    check_fails("different matrices", 128, WGMMA_BYTES, [] {
        int32_t sums[24][4] = {};
        wgmma_fence();
        wgmma_int8(sums, matrix_descriptor(1024 * threadIdx.x), matrix_descriptor(0));
    });
}

void wrong_launches_are_refused() {
    char error[16] = "";
    CHECK(toller_shim_launch("nothing", nullptr, 0, 1, 1, 32, 0, error, sizeof(error)) == 1, "unknown");
    CHECK(contains(error, "nothing: there ") && std::strlen(error) == 15, "%s", error);
    char longer[200] = "";
    CHECK(toller_shim_launch("toller_ip_topk_select", nullptr, 3, 1, 1, 32, 0, longer, sizeof(longer)) == 1, "args");
    CHECK(contains(longer, "bytes, not 3"), "%s", longer);
}

} // namespace

int main() {
    products_are_those_of_the_definition();
    sums_are_no_better_than_the_hardware();
    matrices_are_loaded_as_the_definition_says();
    matrices_are_transposed_as_the_definition_says();
    lanes_exchange_what_they_hold();
    conversions_round_trip();
    mistakes_with_barriers_are_found();
    races_are_found();
    accesses_out_of_bounds_are_found();
    mistakes_with_copies_are_found();
    products_of_warpgroups_are_those_of_the_definition();
    wrong_launches_are_refused();
    std::puts("the shim does what it says");
}
