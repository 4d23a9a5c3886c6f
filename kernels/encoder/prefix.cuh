// Keys and values in front of texts: the first tokens of each sequence get those of a table (Liu et al. 2022: deep
// prompts). A warp for each token.
#pragma once

#include "states.cuh"

template <class States>
__device__ inline void put_prefix(const toller_prefix_args &args) {
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    const auto positions = global_array(args.positions, args.tokens);
    const auto table = global_array(args.table, static_cast<uint64_t>(args.table_rows) * args.table_width);
    for (uint64_t token = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; token < args.tokens; token += warps) {
        const uint64_t position = positions[token];
        if (position >= args.table_rows) continue;
        void *row = row_of(args.qkv, token, args.stride);
        const uint64_t from = position * args.table_width + args.table_first;
        for (uint32_t i = lane; i < args.columns; i += 32) States::put(row, args.stride, args.first + i, table[from + i]);
    }
}
