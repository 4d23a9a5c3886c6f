// The lengths of the rows: a warp per row, once, when the rows are uploaded.
#pragma once

#include "../common/memory.cuh"
#include "bounds.cuh"

struct StoredCode {
    using Value = int8_t;
    static __device__ double widened(Value x) { return x; }
};

template <class Stored>
__device__ inline void write_row_norms(const toller_row_norms_args &args) {
    using Value = typename Stored::Value;
    const auto norms = global_array(args.norms, args.row_count);
    const auto scales = global_array(args.scales, args.row_count);
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    for (uint64_t row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; row < args.row_count; row += warps) {
        const auto *first = reinterpret_cast<const Value *>(static_cast<const char *>(args.rows) + row * args.stride);
        const auto values = global_array(first, args.dim);
        double squares = 0;
        for (uint32_t i = lane; i < args.dim; i += 32) {
            const double x = Stored::widened(values[i]);
            squares += x * x;
        }
        squares = warp_sum(squares);
        if (lane == 0) {
            const double scale = args.scales == nullptr ? 1.0 : static_cast<double>(scales[row]);
            norms[row] = row_norm(scale * scale * squares);
        }
    }
}
