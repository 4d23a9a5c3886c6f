// From fragments of sums to rows of eight neighbours.
#pragma once

#include "states.cuh"

// A warp's fragments on their way to rows: sixteen rows of up to 64 numbers, so that a lane gets eight
// neighbours. Rows are 32 bytes longer than their numbers: lanes then use different banks.
template <int FRAGMENTS>
struct Patch {
    static constexpr uint32_t WIDTH = FRAGMENTS * 8, PITCH = WIDTH + 8, BYTES = 16 * PITCH * sizeof(float);

    uint32_t start;

    __device__ void put(const float (*sums)[4]) const {
        struct alignas(8) Two {
            float values[2];
        };
        const auto pairs = shared_array<Two>(start, BYTES / sizeof(Two));
        const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
        for (int n = 0; n < FRAGMENTS; ++n) {
            pairs[(g * PITCH + n * 8 + t * 2) / 2] = Two{sums[n][0], sums[n][1]};
            pairs[((g + 8) * PITCH + n * 8 + t * 2) / 2] = Two{sums[n][2], sums[n][3]};
        }
    }

    // Every second four lanes read their second half first: all banks are then used at once.
    __device__ void get(float (&to)[UNIT], uint32_t row, uint32_t unit) const {
        const auto fours = shared_array<Floats4>(start, BYTES / sizeof(Floats4));
        const uint32_t at = (row * PITCH + unit * UNIT) / 4, swaps = threadIdx.x / 4 % 2;
        const Floats4 one = fours[at + swaps], other = fours[at + (swaps ^ 1)];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            to[i] = swaps != 0 ? other.values[i] : one.values[i];
            to[4 + i] = swaps != 0 ? one.values[i] : other.values[i];
        }
    }
};
