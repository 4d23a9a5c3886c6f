// The types that the scan multiplies. All are moved as bytes; they differ in the instruction, in the meaning
// of a sum and in the facts of a row.
#pragma once

#include "../common/memory.cuh"
#include "../common/products.cuh"
#include "bounds.cuh"

// What the scan needs of a row besides its numbers.
struct RowFacts {
    float spread;
    float scale;
};

// Rows whose sums are the scaled scores, within the bound.
template <int KEPT_BITS>
struct FloatRows {
    static_assert(KEPT_BITS >= BOUNDED_BITS, "tensor cores keep too few bits of these products for the bound");

    static __device__ RowFacts row(const toller_scan_args &args, uint32_t row, float) {
        return {global_array(args.row_norms, args.row_count)[row], 1.0f};
    }

    static __device__ float scaled(float sum, RowFacts) { return sum; }
};

struct F16 : FloatRows<F16_BITS>, ProductsF16 {};
struct Bf16 : FloatRows<BF16_BITS>, ProductsBf16 {};

// Stored f32, read as it is. The tensor core ignores the 13 bits that tf32 does not have, but mma.sync does
// not promise that, so they are cut before. (For wgmma they are not: rounding is within the bound too.)
struct Tf32 : FloatRows<TF32_BITS> {
    using Sum = float;

    static __device__ void multiply(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        constexpr uint32_t KEPT = 0xffffe000u;
        const uint32_t cut[4] = {a[0] & KEPT, a[1] & KEPT, a[2] & KEPT, a[3] & KEPT};
        mma_tf32(c, cut, b);
    }

    template <class Sums>
    static __device__ void multiply_group(Sums &c, uint64_t a, uint64_t b) {
        wgmma_tf32(c, a, b);
    }
};

struct Int8 {
    using Sum = int32_t;

    static __device__ RowFacts row(const toller_scan_args &args, uint32_t row, float ratio) {
        const float norm = global_array(args.row_norms, args.row_count)[row];
        const float residual = global_array(args.row_residual_norms, args.row_count)[row];
        return {__fmaf_ru(ratio, norm, residual), global_array(args.row_scales, args.row_count)[row]};
    }

    static __device__ float scaled(int32_t sum, RowFacts facts) { return facts.scale * static_cast<float>(sum); }

    static __device__ void multiply(int32_t (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        mma_int8(c, a, b);
    }

    template <class Sums>
    static __device__ void multiply_group(Sums &c, uint64_t a, uint64_t b) {
        wgmma_int8(c, a, b);
    }
};
