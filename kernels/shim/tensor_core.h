// What a tensor core computes: exact products, added as the least exact one that was measured adds them.
#pragma once

#include <cstdint>

namespace toller_shim {

enum class Number { F16, Bf16, Tf32, Int8 };

// Bytes of a row of A or B that one instruction multiplies, for every type.
constexpr uint32_t DEPTH_BYTES = 32;

// c += <a, b> for rows of DEPTH_BYTES bytes.
//
// Four products and the accumulator are aligned to the largest of them and cut to 24 bits, added exactly, and the sum is
// cut to 24 bits (Fasi, Higham, Mikaitis, Pranesh 2021, for the V100; later ones keep more bits and add more at once).
float multiplied(Number number, const unsigned char *a, const unsigned char *b, float c);
int32_t multiplied(const unsigned char *a, const unsigned char *b, int32_t c);

} // namespace toller_shim
