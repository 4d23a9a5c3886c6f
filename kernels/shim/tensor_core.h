// What a tensor core computes: exact products, added as by the least exact tensor core that was measured.
#pragma once

#include <cstdint>

namespace toller_shim {

enum class Number { F16, Bf16, Tf32 };

// Bytes of a row of A or B that one instruction multiplies, whatever the type.
constexpr uint32_t DEPTH_BYTES = 32;

// The numbers of a row as f32, and how many there are.
struct Numbers {
    float values[16];
    int count;
};
Numbers numbers_of(Number number, const unsigned char *row);

// c += <a, b>.
//
// Four products and the accumulator are aligned to the largest of them and cut to 24 bits, added exactly, and
// the sum is cut to 24 bits (Fasi, Higham, Mikaitis, Pranesh 2021, for the V100; later GPUs keep more bits
// and add more products at once).
float multiplied(const Numbers &a, const Numbers &b, float c);
// The same for rows of int8, exactly.
int32_t multiplied(const unsigned char *a, const unsigned char *b, int32_t c);

} // namespace toller_shim
