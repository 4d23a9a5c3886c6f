// Conversions that the host's C++ does not have.
#include "device.h"

namespace {

constexpr int F16_BITS = 10, F32_BITS = 23, REBIAS = 127 - 15;

} // namespace

float f16_to_f32(uint16_t x) {
    const uint32_t sign = static_cast<uint32_t>(x >> 15) << 31, exponent = x >> F16_BITS & 31, fraction = x & 1023;
    if (exponent == 31) return __uint_as_float(sign | 0x7f800000u | fraction << (F32_BITS - F16_BITS));
    if (exponent == 0) {
        const float size = std::ldexp(static_cast<float>(fraction), -24);
        return sign != 0 ? -size : size;
    }
    return __uint_as_float(sign | (exponent + REBIAS) << F32_BITS | fraction << (F32_BITS - F16_BITS));
}

uint16_t f32_to_f16(float x) {
    const uint16_t sign = static_cast<uint16_t>(__float_as_uint(x) >> 31 << 15);
    const double size = std::fabs(static_cast<double>(x));
    if (size != size) return sign | 0x7fff;
    // Infinite from halfway between the largest number and the next, since the largest has an odd last bit.
    if (size >= 65520) return sign | 0x7c00;
    // Below 2^-14 numbers are multiples of 2^-24; rint rounds ties to even.
    if (size < std::ldexp(1.0, -14)) return sign | static_cast<uint16_t>(std::rint(std::ldexp(size, 24)));
    const int exponent = std::ilogb(size);
    const auto units = static_cast<uint32_t>(std::rint(std::ldexp(size, F16_BITS - exponent)));
    // A carry out of the fraction correctly goes into the exponent.
    return static_cast<uint16_t>(sign | ((static_cast<uint32_t>(exponent + 15 - 1) << F16_BITS) + units));
}

uint32_t f32_to_f16x2(float low, float high) {
    return f32_to_f16(low) | static_cast<uint32_t>(f32_to_f16(high)) << 16;
}

uint32_t f32_to_bf16x2(float low, float high) {
    const auto rounded = [](float x) -> uint32_t {
        const uint32_t bits = __float_as_uint(x);
        if (x != x) return 0x7fff;
        return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    };
    return rounded(low) | rounded(high) << 16;
}

uint32_t f32_to_tf32(float x) {
    const uint32_t bits = __float_as_uint(x);
    // Infinity and NaN stay.
    return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000) & 0xffffe000u;
}

float __double2float_ru(double x) {
    const auto nearest = static_cast<float>(x);
    return nearest < x ? std::nextafter(nearest, HUGE_VALF) : nearest;
}

float __double2float_rd(double x) {
    const auto nearest = static_cast<float>(x);
    return nearest > x ? std::nextafter(nearest, -HUGE_VALF) : nearest;
}
