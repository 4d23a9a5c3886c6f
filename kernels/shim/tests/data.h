// Vectors and queries that are hard in one way or another.
#pragma once

#include "search.h"

enum class Data {
    Random,
    AllEqual,
    Duplicates,
    // Neighbours in the last bit of one number: closer together than the error of the scan.
    OneBit,
    // One number in fifty is a thousand times larger.
    Outliers,
    // Every vector beats all before it.
    Ascending,
    AntiCorrelated,
    Zeros,
    SignedZeros,
    // Subnormal in f32, zero in f16.
    Tiny,
    // 1e30: scores overflow; or 3e38, so that the scan's sums do too, some to NaN.
    Huge,
    // From 1e-20 to 1e20.
    Magnitudes,
    // Queries that no rounding changes, and sums that only grow: all of the error comes from adding up.
    Growing,
};

constexpr Data DATA[] = {Data::Random,         Data::AllEqual, Data::Duplicates,  Data::OneBit, Data::Outliers,
                         Data::Ascending,      Data::AntiCorrelated, Data::Zeros, Data::SignedZeros, Data::Tiny,
                         Data::Huge,           Data::Magnitudes, Data::Growing};

// Fills in the numbers of a problem whose sizes are there.
void fill(Problem &problem, Data data, uint64_t seed);
