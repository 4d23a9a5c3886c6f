// Kinds of vectors and queries, each difficult in its own way.
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
    // Every vector scores more than all before it.
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
    // Queries that rounding does not change, and sums that only grow: all error comes from the additions.
    Growing,
    // One large product, and others just too small for the last bit that is kept of it: all are cut to
    // nothing.
    Cut,
    // Rows as far from their codes as can be, all in the direction of the queries.
    BetweenCodes,
};

constexpr Data DATA[] = {Data::Random,         Data::AllEqual, Data::Duplicates,  Data::OneBit, Data::Outliers,
                         Data::Ascending,      Data::AntiCorrelated, Data::Zeros, Data::SignedZeros, Data::Tiny,
                         Data::Huge,           Data::Magnitudes, Data::Growing,        Data::Cut,
                         Data::BetweenCodes};

// Fills in the numbers of a problem that has its sizes.
void fill(Problem &problem, Data data, uint64_t seed);
