// Queries in the form that the scan multiplies, and what their rounding costs: a warp per query.
#pragma once

#include "../common/memory.cuh"
#include "bounds.cuh"

// How the type of a scan rounds a query's numbers: `rounded` is what is multiplied, `value` its bits.
struct QueryF16 {
    using Value = uint16_t;
    static constexpr int KEPT_BITS = F16_BITS;
    static constexpr int LARGEST_EXPONENT = 15;
    static constexpr double CUT = 0;
    static __device__ Value value(float x) { return f32_to_f16(x); }
    static __device__ double rounded(Value x) { return f16_to_f32(x); }
};

struct QueryBf16 {
    using Value = uint16_t;
    static constexpr int KEPT_BITS = BF16_BITS;
    static constexpr int LARGEST_EXPONENT = 1;
    static constexpr double CUT = 0;
    static __device__ Value value(float x) { return __float_as_uint(round_off_bits<16>(x)) >> 16; }
    static __device__ double rounded(Value x) { return bf16_to_f32(x); }
};

struct QueryTf32 {
    using Value = float;
    static constexpr int KEPT_BITS = TF32_BITS;
    static constexpr int LARGEST_EXPONENT = 1;
    // Rows are cut to tf32 as they are multiplied.
    static constexpr double CUT = 1.0 / 1024;
    static __device__ Value value(float x) { return round_off_bits<13>(x); }
    static __device__ double rounded(Value x) { return x; }
};

struct QueryInt8 {
    using Value = int8_t;
    static __device__ Value value(double x) { return static_cast<int8_t>(rint(fmin(fmax(x, -127.0), 127.0))); }
    static __device__ double rounded(Value x) { return x; }
};

// The largest magnitude of a query, in every lane.
__device__ inline float largest_of(Global<const float> query, uint32_t dim, uint32_t lane) {
    float largest = 0;
    for (uint32_t i = lane; i < dim; i += 32) largest = fmaxf(largest, fabsf(query[i]));
    return warp_max(largest);
}

// A factor for a query whose largest magnitude is `largest`: the power of two that brings it to
// [2^(LARGEST_EXPONENT - 1), 2^LARGEST_EXPONENT).
template <class Type>
__device__ inline double scale_for(float largest) {
    int exponent;
    frexp(static_cast<double>(largest), &exponent);
    return largest > 0 ? ldexp(1.0, Type::LARGEST_EXPONENT - exponent) : 1.0;
}

template <>
__device__ inline double scale_for<QueryInt8>(float largest) {
    return largest > 0 ? 127.0 / largest : 1.0;
}

// The lengths of what is multiplied and of what was rounded away, both in units of the scaled query.
struct Lengths {
    double rounded;
    double residual;
};

// Writes a whole prepared row. Returns the same in every lane.
template <class Type>
__device__ inline Lengths write_prepared(Global<const float> query, Global<typename Type::Value> prepared, uint32_t dim,
                                         double scale, uint32_t lane) {
    double squares = 0, residual_squares = 0;
    for (uint32_t i = lane; i < prepared.len; i += 32) {
        const double x = i < dim ? query[i] * scale : 0.0;
        const auto value = Type::value(x);
        const double rounded = Type::rounded(value), residual = x - rounded;
        prepared[i] = value;
        squares += rounded * rounded;
        residual_squares += residual * residual;
    }
    return {sqrt(warp_sum(squares)), sqrt(warp_sum(residual_squares))};
}

// The facts for the bounds. Only codes need the group's largest ratio.
template <class Type>
__device__ inline toller_query_facts facts_of(double scale, Lengths lengths, uint32_t dim, float *) {
    return float_facts<Type::KEPT_BITS>(scale, lengths.rounded, lengths.residual, Type::CUT, dim);
}

template <>
__device__ inline toller_query_facts facts_of<QueryInt8>(double scale, Lengths lengths, uint32_t, float *ratio) {
    const double residual = lengths.residual / scale * F64_ROUNDINGS;
    const double length = lengths.rounded / scale * F64_ROUNDINGS + residual;
    // Numbers that are not negative are ordered as their bits are.
    atomicMax(reinterpret_cast<int32_t *>(ratio), __float_as_int(residual_ratio(length, residual)));
    return code_facts(scale, length);
}

template <class Type>
__device__ inline void prepare_queries(const toller_prepare_queries_args &args) {
    using Value = typename Type::Value;
    const auto facts = global_array(args.facts, args.query_count);
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    for (uint64_t at = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; at < args.query_count; at += warps) {
        const auto query = global_array(args.queries + at * args.dim, args.dim);
        auto *first = reinterpret_cast<Value *>(static_cast<char *>(args.prepared) + at * args.stride);
        const auto prepared = global_array(first, args.stride / sizeof(Value));
        const double scale = scale_for<Type>(largest_of(query, args.dim, lane));
        const Lengths lengths = write_prepared<Type>(query, prepared, args.dim, scale, lane);
        if (lane == 0) facts[at] = facts_of<Type>(scale, lengths, args.dim, args.residual_ratio);
    }
}
