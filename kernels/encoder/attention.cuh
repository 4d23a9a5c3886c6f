// Attention without its matrix of scores (Dao et al. 2022; Milakov and Gimelshein 2018): a block takes 64
// queries of a head, and meets the keys of their sequence 64 at a time.
//
// Tiles of queries and of keys begin at multiples of 64 of the sequence: a query's sums have one order,
// whatever else is in the batch. Each warp has sixteen queries. Scores, weights and sums stay in registers:
// the fragment of scores that a lane has is, for the product with the values, a fragment of weights.
#pragma once

#include "patch.cuh"

constexpr uint32_t QUERIES = TOLLER_ATTENTION_QUERIES, KEYS = TOLLER_ATTENTION_KEYS;
constexpr int KEY_FRAGMENTS = KEYS / 8;

// The layout of rows of `BYTES` bytes in shared memory: chunks are exchanged so that neither eight rows of
// one chunk nor eight chunks of a row share a bank.
template <uint32_t BYTES>
__device__ inline uint32_t swizzled_row(uint32_t row, uint32_t chunk) {
    constexpr uint32_t ROWS_A_LINE = BYTES < 128 ? 128 / BYTES : 1, CHUNKS = BYTES / 16 < 8 ? BYTES / 16 : 8;
    return row * BYTES + ((chunk ^ (row / ROWS_A_LINE % CHUNKS)) * 16);
}

// Starts to copy 64 rows of a head, the first at `from`; zeros after `present` rows.
template <uint32_t BYTES>
__device__ inline void load_head_rows(uint32_t to, const char *from, uint32_t stride, uint32_t present) {
    constexpr uint32_t CHUNKS = BYTES / 16, ROWS_AT_ONCE = TOLLER_ATTENTION_THREADS / CHUNKS;
    const uint32_t first = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
    from += static_cast<uint64_t>(first) * stride + chunk * 16;
#pragma unroll
    for (uint32_t row = 0; row < 64; row += ROWS_AT_ONCE) {
        cp_async_16(to + swizzled_row<BYTES>(first + row, chunk), from, first + row < present);
        from += static_cast<uint64_t>(ROWS_AT_ONCE) * stride;
    }
}

// scores += Q K^T for the warp's sixteen queries. In f32, sums of four products are added from zero: tensor
// cores cut each sum.
template <class States, uint32_t SIZE>
__device__ inline void multiply_keys(float (&scores)[KEY_FRAGMENTS][4], uint32_t queries, uint32_t keys) {
    constexpr uint32_t BYTES = SIZE * States::BYTES;
    const uint32_t lane = threadIdx.x % 32, first = threadIdx.x / 32 * 16;
    const auto multiply = [&](float (&to)[KEY_FRAGMENTS][4], uint32_t step) {
        uint32_t a[4];
        ldmatrix_x4(a, queries + swizzled_row<BYTES>(first + lane % 16, step * 2 + lane / 16));
#pragma unroll
        for (uint32_t n = 0; n < KEY_FRAGMENTS; n += 2) {
            uint32_t both[4];
            ldmatrix_x4(both, keys + swizzled_row<BYTES>(n * 8 + lane / 16 * 8 + lane % 8, step * 2 + lane / 8 % 2));
            const uint32_t low[2] = {both[0], both[1]}, high[2] = {both[2], both[3]};
            States::multiply(to[n], a, low);
            States::multiply(to[n + 1], a, high);
        }
    };
    if constexpr (States::BYTES < 4) {
#pragma unroll
        for (uint32_t step = 0; step < BYTES / 32; ++step) multiply(scores, step);
    } else {
#pragma unroll
        for (uint32_t line = 0; line < BYTES / 32; line += 4) {
            float parts[KEY_FRAGMENTS][4] = {};
#pragma unroll
            for (uint32_t step = line; step < line + 4; ++step) multiply(parts, step);
#pragma unroll
            for (int n = 0; n < KEY_FRAGMENTS; ++n) {
#pragma unroll
                for (int i = 0; i < 4; ++i) scores[n][i] += parts[n][i];
            }
        }
    }
}

// sums += weights V, for values of two bytes.
template <class States, uint32_t SIZE>
struct Values {
    static __device__ void multiply(float (&sums)[SIZE / 8][4], const float (&weights)[KEY_FRAGMENTS][4], uint32_t values) {
        constexpr uint32_t BYTES = SIZE * States::BYTES;
        const uint32_t lane = threadIdx.x % 32;
#pragma unroll
        for (uint32_t k = 0; k < KEYS / 16; ++k) {
            const auto &low = weights[2 * k], &high = weights[2 * k + 1];
            const uint32_t a[4] = {States::of(low[0], low[1]), States::of(low[2], low[3]), States::of(high[0], high[1]),
                                   States::of(high[2], high[3])};
#pragma unroll
            for (uint32_t n = 0; n < SIZE / 8; n += 2) {
                uint32_t both[4];
                ldmatrix_x4_transposed(both, shared_address(values) + swizzled_row<BYTES>(k * 16 + lane % 16, n + lane / 16));
                const uint32_t left[2] = {both[0], both[1]}, right[2] = {both[2], both[3]};
                States::multiply(sums[n], a, left);
                States::multiply(sums[n + 1], a, right);
            }
        }
    }
};

// The same in f32, whose fragments are eight keys deep. A lane has the weights of keys 2 t and 2 t + 1, and
// the instruction wants those of t and t + 4: any order of keys will do, if the values have the same.
template <uint32_t SIZE>
struct Values<StatesF32, SIZE> {
    static __device__ void multiply(float (&sums)[SIZE / 8][4], const float (&weights)[KEY_FRAGMENTS][4], uint32_t values) {
        constexpr uint32_t BYTES = SIZE * 4;
        const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
        const auto numbers = shared_array<uint32_t>(values, KEYS * SIZE);
#pragma unroll
        for (uint32_t n = 0; n < SIZE / 8; ++n) {
#pragma unroll
            for (uint32_t first = 0; first < KEY_FRAGMENTS; first += 4) {
                float part[4] = {};
#pragma unroll
                for (uint32_t k = first; k < first + 4; ++k) {
                    const uint32_t a[4] = {__float_as_uint(weights[k][0]), __float_as_uint(weights[k][2]), __float_as_uint(weights[k][1]),
                                           __float_as_uint(weights[k][3])};
                    uint32_t b[2];
#pragma unroll
                    for (uint32_t i = 0; i < 2; ++i) {
                        b[i] = numbers[(swizzled_row<BYTES>(k * 8 + t * 2 + i, n * 2 + g / 4) + g % 4 * 4) / 4];
                    }
                    StatesF32::multiply(part, a, b);
                }
#pragma unroll
                for (int i = 0; i < 4; ++i) sums[n][i] += part[i];
            }
        }
    }
};

// The softmax of two queries of a lane, rows g and g + 8 of the warp's sixteen, as keys come.
struct Softmax {
    // In units of log2, and of weights.
    float largest[2], total[2];

    __device__ Softmax() : largest{-HUGE_VALF, -HUGE_VALF}, total{0, 0} {}

    // Makes weights of scores, which times `unit` are in units of log2; returns by what the sums so far are to be
    // scaled.
    __device__ void weigh(float (&scores)[KEY_FRAGMENTS][4], float unit, float (&scale)[2]) {
#pragma unroll
        for (int row = 0; row < 2; ++row) {
            float most = -HUGE_VALF;
#pragma unroll
            for (int n = 0; n < KEY_FRAGMENTS; ++n) most = fmaxf(most, fmaxf(scores[n][2 * row], scores[n][2 * row + 1]));
            // The four lanes of a row.
            most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
            most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
            most = fmaxf(largest[row], most * unit);
            // A row that has seen no key yet.
            const float base = most == -HUGE_VALF ? 0.0f : most;
            scale[row] = exp2_approximate(largest[row] - base);
            largest[row] = most;
            float sum = 0;
#pragma unroll
            for (int n = 0; n < KEY_FRAGMENTS; ++n) {
#pragma unroll
                for (int i = 2 * row; i < 2 * row + 2; ++i) {
                    scores[n][i] = exp2_approximate(__fmaf_rn(scores[n][i], unit, -base));
                    sum += scores[n][i];
                }
            }
            total[row] = __fmaf_rn(total[row], scale[row], sum);
        }
    }

    // The whole sum of a row's weights.
    __device__ float sum(int row) const {
        float sum = total[row];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        return sum + __shfl_xor_sync(0xffffffffu, sum, 2);
    }
};

constexpr float LOG2_E = 1.44269504f;

// Drops keys of a tile beyond the sequence, where `key` is the tile's first.
__device__ inline void drop_absent(float (&scores)[KEY_FRAGMENTS][4], uint32_t key, uint32_t tokens) {
    const uint32_t first = key + threadIdx.x % 4 * 2;
#pragma unroll
    for (int n = 0; n < KEY_FRAGMENTS; ++n) {
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i) {
            if (first + n * 8 + i % 2 >= tokens) scores[n][i] = -HUGE_VALF;
        }
    }
}

// Scales the scores of a tile whose first key is `key`, adds the biases, and drops keys that a query does
// not see. Scores are then in units of log2.
__device__ inline void mask(const toller_attention_args &args, const toller_query_tile &tile, Shared<float> bias,
                            float (&scores)[KEY_FRAGMENTS][4], uint32_t key) {
    const float scale = args.scale * LOG2_E;
    const int reach = static_cast<int>(args.reach);
    const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, query = tile.first_query + threadIdx.x / 32 * 16 + g;
#pragma unroll
    for (int n = 0; n < KEY_FRAGMENTS; ++n) {
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i) {
            const uint32_t q = query + i / 2 * 8, k = key + n * 8 + t * 2 + i % 2;
            const int distance = static_cast<int>(k) - static_cast<int>(q);
            float score = scores[n][i] * scale;
            if (args.bias != nullptr) score = __fmaf_rn(bias[max(-reach, min(distance, reach)) + reach], LOG2_E, score);
            const bool is_seen = k < tile.tokens && (distance < 0 ? static_cast<uint32_t>(-distance) <= args.before
                                                                   : static_cast<uint32_t>(distance) <= args.after);
            scores[n][i] = is_seen ? score : -HUGE_VALF;
        }
    }
}

// Writes the contexts of heads that do not begin at whole units, number by number.
template <class States, uint32_t SIZE>
__device__ inline void write_numbers(const toller_attention_args &args, const float (&sums)[SIZE / 8][4], uint64_t first_row, uint64_t rows) {
    const uint32_t head = blockIdx.x % args.heads, lane = threadIdx.x % 32;
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half) {
        const uint64_t row = first_row + lane / 4 + half * 8;
        if (row >= rows) continue;
        void *out = row_of(args.out, row, args.stride);
#pragma unroll
        for (uint32_t n = 0; n < SIZE / 8; ++n) {
#pragma unroll
            for (uint32_t i = 0; i < 2; ++i) {
                const uint32_t column = n * 8 + lane % 4 * 2 + i;
                if (column < args.head_size) States::put(out, args.stride, head * args.head_size + column, sums[n][half * 2 + i]);
            }
        }
        if (head + 1 < args.heads) continue;
        // The padding after the last head.
        for (uint32_t i = args.heads * args.head_size + lane % 4; i < args.stride / States::BYTES; i += 4) States::put(out, args.stride, i, 0);
    }
}

// Writes the contexts of the warp's queries. A patch takes the place of queries and keys.
template <class States, uint32_t SIZE>
__device__ inline void write_contexts(const toller_attention_args &args, const toller_query_tile &tile, const float (&sums)[SIZE / 8][4]) {
    constexpr int FRAGMENTS = States::BYTES == 4 || SIZE == 32 ? 4 : 8;
    static_assert(TOLLER_ATTENTION_THREADS / 32 * PATCH_BYTES <= TOLLER_ATTENTION_SHARED(SIZE * States::BYTES), "room for the patches");
    const Patch<States, FRAGMENTS> patch{threadIdx.x / 32 * PATCH_BYTES, threadIdx.x % 32};
    const uint32_t head = blockIdx.x % args.heads, first = head * args.head_size;
    const uint32_t query = tile.first_query + threadIdx.x / 32 * 16;
    const uint64_t row = static_cast<uint64_t>(tile.first_token) + query, rows = static_cast<uint64_t>(tile.first_token) + tile.tokens;
    if (args.head_size % UNIT != 0) return write_numbers<States, SIZE>(args, sums, row, rows);
#pragma unroll
    for (int n = 0; n < static_cast<int>(SIZE / 8); n += FRAGMENTS) {
        __syncwarp();
#pragma unroll
        for (int i = 0; i < FRAGMENTS; ++i) patch.put(i, sums[n + i]);
        __syncwarp();
        patch.store_rows(args.out, args.stride, row, rows, first + n * 8, first + args.head_size);
    }
}

template <class States, uint32_t SIZE>
__device__ inline void attend(const toller_attention_args &args) {
    constexpr uint32_t BYTES = SIZE * States::BYTES, TILE_BYTES = KEYS * BYTES;
    static_assert(QUERIES * BYTES + 4 * TILE_BYTES == TOLLER_ATTENTION_SHARED(BYTES), "as encoder.h says");
    const toller_query_tile tile = global_array(args.tiles, args.tile_count)[blockIdx.x / args.heads];
    const uint32_t head = blockIdx.x % args.heads, key_head = head / (args.heads / args.key_heads);
    // Shared memory: queries, then keys and values of two stages, then the head's bias.
    const auto keys_at = [](uint32_t stage) { return QUERIES * BYTES + stage * 2 * TILE_BYTES; };
    const auto bias = shared_array<float>(keys_at(2), 2 * args.reach + 1);
    const char *sequence = static_cast<const char *>(args.qkv) + static_cast<uint64_t>(tile.first_token) * args.qkv_stride;
    const auto load_keys = [&](uint32_t key, uint32_t stage) {
        const char *from = sequence + static_cast<uint64_t>(key) * args.qkv_stride + (args.heads + key_head) * BYTES;
        load_head_rows<BYTES>(shared_address(keys_at(stage)), from, args.qkv_stride, tile.tokens - key);
        load_head_rows<BYTES>(shared_address(keys_at(stage) + TILE_BYTES), from + args.key_heads * BYTES, args.qkv_stride,
                              tile.tokens - key);
    };
    // The tiles of keys that any of the queries sees.
    const uint32_t last_query = min(tile.first_query + QUERIES, tile.tokens) - 1;
    const uint32_t first_key = tile.first_query > args.before ? (tile.first_query - args.before) / KEYS * KEYS : 0;
    const uint32_t end_key = args.after < tile.tokens - last_query ? last_query + args.after + 1 : tile.tokens;
    load_head_rows<BYTES>(shared_address(0), sequence + static_cast<uint64_t>(tile.first_query) * args.qkv_stride + head * BYTES,
                          args.qkv_stride, tile.tokens - tile.first_query);
    load_keys(first_key, 0);
    cp_async_commit();
    if (args.bias != nullptr) {
        const auto of_heads = global_array(args.bias, static_cast<uint64_t>(args.heads) * (2 * args.reach + 1));
        for (uint32_t i = threadIdx.x; i < 2 * args.reach + 1; i += TOLLER_ATTENTION_THREADS) {
            bias[i] = of_heads[static_cast<uint64_t>(head) * (2 * args.reach + 1) + i];
        }
    }
    Softmax softmax;
    float sums[SIZE / 8][4] = {};
    uint32_t stage = 0;
#pragma unroll 1
    for (uint32_t key = first_key; key < end_key; key += KEYS) {
        if (key + KEYS < end_key) load_keys(key + KEYS, stage ^ 1);
        cp_async_commit();
        cp_async_wait<1>();
        __syncthreads();
        float scores[KEY_FRAGMENTS][4] = {}, scale[2];
        multiply_keys<States, SIZE>(scores, shared_address(0), shared_address(keys_at(stage)));
        // Nearly all tiles of most models are whole. The choice depends only on the sequence.
        const bool sees_all = args.bias == nullptr && (last_query <= key || last_query - key <= args.before) &&
                              (key + KEYS <= tile.first_query || key + KEYS - 1 - tile.first_query <= args.after);
        if (!sees_all) {
            mask(args, tile, bias, scores, key);
        } else if (key + KEYS > tile.tokens) {
            drop_absent(scores, key, tile.tokens);
        }
        softmax.weigh(scores, sees_all ? args.scale * LOG2_E : 1.0f, scale);
#pragma unroll
        for (uint32_t n = 0; n < SIZE / 8; ++n) {
#pragma unroll
            for (int i = 0; i < 4; ++i) sums[n][i] *= scale[i / 2];
        }
        Values<States, SIZE>::multiply(sums, scores, keys_at(stage) + TILE_BYTES);
        stage ^= 1;
        // The next round loads into the stage that was just read.
        __syncthreads();
    }
    cp_async_wait<0>();
#pragma unroll
    for (int row = 0; row < 2; ++row) {
        const float inverse = 1.0f / softmax.sum(row);
#pragma unroll
        for (uint32_t n = 0; n < SIZE / 8; ++n) sums[n][2 * row] *= inverse, sums[n][2 * row + 1] *= inverse;
    }
    write_contexts<States, SIZE>(args, tile, sums);
}
