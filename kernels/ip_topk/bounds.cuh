// How far the scan's sums may be from the scores that are returned, and what that means for a threshold.
//
// A query q is multiplied as q', which is S q rounded, for a factor S > 0 of the query; a row x is multiplied
// as x'. Let d be the numbers of a vector, L = |q'|, R = |S q - q'|. Both are computed in f64 from q and q'
// themselves, with 2^-30 to make up for the roundings (d 2^-52 < 2^-31 for d <= 2^20). N is an upper bound of
// |x|. The returned score is <q,x> summed in f64, so within d 2^-53 |q| |x| of it, then rounded to f32.
//
// Floating point. With x' = x for f16 and bf16, and x cut to 11 bits for tf32, 
// |x - x'| <= h |x| + sqrt(d) 2^-126, h = 0 or 2^-10. The last term stands for subnormals, which the tensor
// core may take as zeros. Then
//
//     |S <q,x> - <q',x'>| = |<S q - q', x> + <q', x - x'>| <= R N + L (h N + sqrt(d) 2^-126).
//
// The tensor core's products are exact; how it adds them is not documented. Measurements (Fasi, Higham,
// Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ CS 2021) say that it aligns n >= 4
// products and the accumulator to the largest of them, cuts each to no fewer than 24 bits, adds these as
// integers, and cuts the sum to 24 bits. Each of the n + 2 cuts takes less than 2^-23 of M, the sum of all
// |q'_i x'_i| so far with the errors so far; so n products cost (n + 2) 2^-23 M. We charge 2^-22 M for every
// product, which covers any n >= 2. (It also covers additions in f32 in any order, rounded or cut.) With
// g = d 2^-22 and M <= (1 + g) L |x'|, g <= 1/4,
//
//     |sum - <q',x'>| <= g (1 + 2 g) L N + 4 d 2^-126,
//
// where the last term stands for subnormals again. The epilogue's fma(slope, N, sum) is rounded once, by
// 2^-24 (|sum| + slope N), and |sum| <= 2 L N. In total, even as computed,
//
//     |S score - sum| <= slope N + offset,    offset = (sqrt(d) L + 5 d) 2^-126,
//     slope = (R + (h + g (1 + 2 g) + 2^-22) L + 2^-30 (L + R)) (1 + 2^-20).
//
// Nothing overflows: S is a power of two that brings the largest number of q' to [1, 2), for f16 to
// [2^14, 2^15) (so that few of its numbers are subnormal); L < 2^15 sqrt(d). Rows with N >= 2^100 have no
// bound: N is infinite. Queries with g > 1/4 have no bound either: the slope is infinite.
//
// Codes. x = s c + r, q = s_q c_q + r_q; S = 1 / s_q (in f64), the integer I = <c_q, c> is exact. With
// l >= |q|, p >= |r_q|, n >= |s c|, e >= |r|,
//
//     |<q,x> - s_q s I| = |<r_q, s c> + <q, r>| <= p n + l e.
//
// sum = fl(s fl(I)) and fma(slope, spread, sum) are three roundings of at most u = 2^-24 times
// |s I| <= (l + p) n / s_q, and one of u slope spread. With p' = p + 8 u (l + p), and
// ratio >= p' / l for every query of the group,
//
//     |S score - sum| <= slope spread + offset,  spread = ratio n + e rounded up,
//     slope = (l / s_q) (1 + 2^-20).
//
// A value that is not finite nominates: all comparisons are !(upper < cutoff), which is true for NaN.
//
// Thresholds. A score that rounds to t or more exceeds t's lower neighbour t-. So a row can reach t only if
// fma(slope, spread, sum) >= S t- - offset; `cutoff` is no more than that.
#pragma once

#include "../common/numbers.cuh"
#include "../ip_topk.h"

// Bits that every tensor core from sm_80 on keeps of the products of a type that it adds, and that the bound
// needs. For fp8, Hopper keeps 13: there the bound would be hundreds of times too narrow.
constexpr int F16_BITS = 24, BF16_BITS = 24, TF32_BITS = 24, FP8_BITS = 13;
constexpr int BOUNDED_BITS = 24;
// Rows at least as long have no bound.
constexpr double LONGEST_ROW = 1267650600228229401496703205376.0; // 2^100
// Makes up for the roundings of an f64 computation.
constexpr double F64_ROUNDINGS = 1.0 + 1.0 / (1 << 30);
// Makes up for the roundings of a bound in f32 where it is used.
constexpr double F32_ROUNDINGS = 1.0 + 1.0 / (1 << 20);
constexpr double TWO_TO_MINUS_22 = 1.0 / (1 << 22);
constexpr double TWO_TO_MINUS_126 = 1.1754943508222875e-38;
constexpr float INFINITE = __builtin_huge_valf();

// An upper bound of a row's length from the sum of its squares in f64.
__device__ inline float row_norm(double squares) {
    const double norm = sqrt(squares) * F64_ROUNDINGS;
    // Not `>=`: NaN has no bound either.
    return norm < LONGEST_ROW ? __double2float_ru(norm) : INFINITE;
}

// `length` is L, `residual` R, `cut` h.
template <int KEPT_BITS>
__device__ inline toller_query_facts float_facts(double scale, double length, double residual, double cut, uint32_t dim) {
    static_assert(KEPT_BITS >= BOUNDED_BITS, "tensor cores keep too few bits of these products for the bound");
    const double growth = dim * TWO_TO_MINUS_22;
    const double long_length = length * F64_ROUNDINGS, long_residual = residual * F64_ROUNDINGS;
    const double sums = (cut + growth * (1 + 2 * growth) + TWO_TO_MINUS_22) * long_length;
    const double scores = (long_length + long_residual) / (1 << 30);
    const double slope = (long_residual + sums + scores) * F32_ROUNDINGS;
    const double offset = (sqrt(static_cast<double>(dim)) * long_length + 5.0 * dim) * TWO_TO_MINUS_126;
    const bool bounded = growth <= 0.25;
    return {scale, bounded ? __double2float_ru(slope) : INFINITE, __double2float_ru(offset)};
}

// `length` is l. 2^-126 stands for the underflow of the two products, which each lose less than 2^-149.
__device__ inline toller_query_facts code_facts(double scale, double length) {
    return {scale, __double2float_ru(length * scale * F32_ROUNDINGS), static_cast<float>(TWO_TO_MINUS_126)};
}

// p' / l, rounded up: `length` is l, `residual` p. Zero for a query of zeros.
__device__ inline float residual_ratio(double length, double residual) {
    const double rounded = residual + (length + residual) / (1 << 21);
    return length > 0 ? __double2float_ru(rounded / length * F64_ROUNDINGS) : 0.0f;
}

// The cutoff of a query whose threshold is `threshold`.
__device__ inline float cutoff_of(const toller_query_facts &facts, float threshold) {
    const double reached = facts.scale * next_down(threshold);
    // 2^-50 makes up for the roundings in f64, of `scale` too.
    return __double2float_rd(reached - fabs(reached) / (1ull << 50) - facts.offset);
}

// The bounds of the rounded score of a row, from its sum.
__device__ inline toller_candidate bounded(const toller_query_facts &facts, uint32_t ordinal, float sum, float spread) {
    const double width = static_cast<double>(facts.slope) * spread + facts.offset;
    // `!(... < ...)`: NaN has no bounds.
    if (!(fabs(sum) + width < static_cast<double>(INFINITE))) return {ordinal, -INFINITE, INFINITE};
    // The same for all candidates of a query: a thread divides once.
    const double inverse = 1 / facts.scale;
    const double low = (sum - width) * inverse, high = (sum + width) * inverse;
    const double slack = (fabs(low) + fabs(high)) / (1ull << 50);
    // One step more than the rounding needs: only a known score has equal bounds.
    return {ordinal, next_down(__double2float_rd(low - slack)), next_up(__double2float_ru(high + slack))};
}

// What a candidate is believed to score. NaN if it has no bounds.
__device__ inline float middle_of(toller_candidate candidate) { return candidate.lower / 2 + candidate.upper / 2; }
