#include "tensor_core.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "device.h"

namespace toller_shim {
namespace {

constexpr int TERMS = 4, BITS = 24;

// The numbers of a row of 32 bytes, as f32; returns how many.
int numbers_of(Number number, const unsigned char *row, float (&to)[16]) {
    if (number == Number::Tf32) {
        for (int i = 0; i < 8; ++i) {
            uint32_t bits;
            std::memcpy(&bits, row + 4 * i, 4);
            // Thirteen bits are not looked at.
            to[i] = __uint_as_float(bits & 0xffffe000u);
        }
        return 8;
    }
    for (int i = 0; i < 16; ++i) {
        uint16_t bits;
        std::memcpy(&bits, row + 2 * i, 2);
        to[i] = number == Number::F16 ? f16_to_f32(bits) : __uint_as_float(static_cast<uint32_t>(bits) << 16);
    }
    return 16;
}

// The lowest bits of `x` cut off so that at most BITS are left.
int64_t cut(int64_t x) {
    const uint64_t size = x < 0 ? -x : x;
    int excess = 0;
    while (size >> excess >> BITS != 0) ++excess;
    const auto kept = static_cast<int64_t>(size >> excess << excess);
    return x < 0 ? -kept : kept;
}

float added(const float *products, float c) {
    double largest = std::fabs(c);
    double sum = c;
    for (int i = 0; i < TERMS; ++i) {
        largest = std::max(largest, std::fabs(static_cast<double>(products[i])));
        sum += products[i];
    }
    // Not finite, or nothing to align.
    if (!(std::fabs(sum) < HUGE_VAL) || largest == 0) return static_cast<float>(sum);
    const int exponent = std::ilogb(largest) - (BITS - 1);
    const double unit = std::ldexp(1.0, exponent), inverse = std::ldexp(1.0, -exponent);
    auto units = static_cast<int64_t>(c * inverse);
    for (int i = 0; i < TERMS; ++i) units += static_cast<int64_t>(products[i] * inverse);
    return static_cast<float>(static_cast<double>(cut(units)) * unit);
}

} // namespace

float multiplied(Number number, const unsigned char *a, const unsigned char *b, float c) {
    float x[16], y[16], products[16];
    const int count = numbers_of(number, a, x);
    numbers_of(number, b, y);
    for (int i = 0; i < count; ++i) products[i] = x[i] * y[i];
    for (int i = 0; i < count; i += TERMS) c = added(products + i, c);
    return c;
}

int32_t multiplied(const unsigned char *a, const unsigned char *b, int32_t c) {
    for (uint32_t i = 0; i < DEPTH_BYTES; ++i) c += static_cast<int8_t>(a[i]) * static_cast<int8_t>(b[i]);
    return c;
}

} // namespace toller_shim
