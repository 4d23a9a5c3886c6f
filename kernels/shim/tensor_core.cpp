#include "tensor_core.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "device.h"

namespace toller_shim {
namespace {

constexpr int TERMS = 4, BITS = 24;

// `x` with its lowest bits cut off, so that at most BITS are left.
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
    // Infinity or NaN, or nothing to align.
    if (!(std::fabs(sum) < HUGE_VAL) || largest == 0) return static_cast<float>(sum);
    // Powers of two: the exponent of the largest term without its fraction. Both are normal in f64.
    const uint64_t power = toller_shim_bits<uint64_t>(largest) >> 52;
    const double unit = toller_shim_bits<double>((power - (BITS - 1)) << 52);
    const double inverse = 1 / unit;
    auto units = static_cast<int64_t>(c * inverse);
    for (int i = 0; i < TERMS; ++i) units += static_cast<int64_t>(products[i] * inverse);
    return static_cast<float>(static_cast<double>(cut(units)) * unit);
}

} // namespace

Numbers numbers_of(Number number, const unsigned char *row) {
    Numbers numbers{};
    numbers.count = number == Number::Tf32 ? 8 : 16;
    for (int i = 0; i < numbers.count; ++i) {
        uint32_t word = 0;
        std::memcpy(&word, row + DEPTH_BYTES / numbers.count * i, DEPTH_BYTES / numbers.count);
        // tf32 ignores thirteen bits.
        numbers.values[i] = number == Number::F16    ? f16_to_f32(static_cast<uint16_t>(word))
                            : number == Number::Bf16 ? __uint_as_float(word << 16)
                                                     : __uint_as_float(word & 0xffffe000u);
    }
    return numbers;
}

float multiplied(const Numbers &a, const Numbers &b, float c) {
    float products[16];
    for (int i = 0; i < a.count; ++i) products[i] = a.values[i] * b.values[i];
    for (int i = 0; i < a.count; i += TERMS) c = added(products + i, c);
    return c;
}

int32_t multiplied(const unsigned char *a, const unsigned char *b, int32_t c) {
    for (uint32_t i = 0; i < DEPTH_BYTES; ++i) c += static_cast<int8_t>(a[i]) * static_cast<int8_t>(b[i]);
    return c;
}

} // namespace toller_shim
