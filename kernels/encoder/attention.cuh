// Attention without its matrix of scores (Dao et al. 2022; Milakov and Gimelshein 2018): a block takes 64 or 128
// queries of a head, and meets the keys of their sequence 64 at a time.
//
// Tiles of keys begin at multiples of 64 of the sequence: a query's sums have one order, whatever else is in the
// batch, and however many queries a block has. Each warp has sixteen queries, or twice as many, which share what it
// reads of keys and values. Scores, weights and sums stay in registers: the fragment of scores that a lane has is, for
// the product with the values, a fragment of weights.
#pragma once

#include "patch.cuh"

constexpr uint32_t KEYS = TOLLER_ATTENTION_KEYS;
constexpr int KEY_FRAGMENTS = KEYS / 8;

// A warp's scores, and then weights, of sixteen queries by a tile of keys.
using Scores = float[KEY_FRAGMENTS][4];

// The layout of rows of `BYTES` bytes in shared memory: chunks are exchanged so that neither eight rows of
// one chunk nor eight chunks of a row share a bank.
template <uint32_t BYTES>
__device__ inline uint32_t swizzled_row(uint32_t row, uint32_t chunk) {
    constexpr uint32_t ROWS_A_LINE = BYTES < 128 ? 128 / BYTES : 1, CHUNKS = BYTES / 16 < 8 ? BYTES / 16 : 8;
    return row * BYTES + ((chunk ^ (row / ROWS_A_LINE % CHUNKS)) * 16);
}

// Starts to copy `ROWS` rows of a head, the first at `from`; zeros after `present` rows.
template <uint32_t BYTES, uint32_t ROWS>
__device__ inline void load_head_rows(uint32_t to, const char *from, uint32_t stride, uint32_t present) {
    constexpr uint32_t CHUNKS = BYTES / 16, ROWS_AT_ONCE = TOLLER_ATTENTION_THREADS / CHUNKS;
    const uint32_t first = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
    from += static_cast<uint64_t>(first) * stride + chunk * 16;
#pragma unroll
    for (uint32_t row = 0; row < ROWS; row += ROWS_AT_ONCE) {
        cp_async_16(to + swizzled_row<BYTES>(first + row, chunk), from, first + row < present);
        from += static_cast<uint64_t>(ROWS_AT_ONCE) * stride;
    }
}

// scores += Q K^T for the warp's queries, the first of which is `first` of the tile. In f32, sums of four products are
// added from zero: tensor cores cut each sum.
template <class States, uint32_t SIZE, int GROUPS>
__device__ inline void multiply_keys(Scores (&scores)[GROUPS], uint32_t first, uint32_t queries, uint32_t keys) {
    constexpr uint32_t BYTES = SIZE * States::BYTES;
    const uint32_t lane = threadIdx.x % 32;
    const auto multiply = [&](Scores(&to)[GROUPS], uint32_t step) {
        uint32_t a[GROUPS][4];
#pragma unroll
        for (int group = 0; group < GROUPS; ++group) {
            ldmatrix_x4(a[group], queries + swizzled_row<BYTES>(first + group * 16 + lane % 16, step * 2 + lane / 16));
        }
#pragma unroll
        for (uint32_t n = 0; n < KEY_FRAGMENTS; n += 2) {
            uint32_t both[4];
            ldmatrix_x4(both, keys + swizzled_row<BYTES>(n * 8 + lane / 16 * 8 + lane % 8, step * 2 + lane / 8 % 2));
            const uint32_t low[2] = {both[0], both[1]}, high[2] = {both[2], both[3]};
#pragma unroll
            for (int group = 0; group < GROUPS; ++group) {
                States::multiply(to[group][n], a[group], low);
                States::multiply(to[group][n + 1], a[group], high);
            }
        }
    };
    if constexpr (States::BYTES < 4) {
#pragma unroll
        for (uint32_t step = 0; step < BYTES / 32; ++step) multiply(scores, step);
    } else {
#pragma unroll
        for (uint32_t line = 0; line < BYTES / 32; line += 4) {
            Scores parts[GROUPS] = {};
#pragma unroll
            for (uint32_t step = line; step < line + 4; ++step) multiply(parts, step);
#pragma unroll
            for (int i = 0; i < GROUPS * KEY_FRAGMENTS * 4; ++i) {
                const int group = i / (KEY_FRAGMENTS * 4), n = i / 4 % KEY_FRAGMENTS;
                scores[group][n][i % 4] += parts[group][n][i % 4];
            }
        }
    }
}

// sums += weights V, for values of two bytes.
template <class States, uint32_t SIZE>
struct Values {
    using Sums = float[SIZE / 8][4];
    // As fragments of sixteen queries by sixteen keys.
    using Weights = uint32_t[KEYS / 16][4];

    static __device__ void keep(Weights &to, const Scores &weights) {
#pragma unroll
        for (uint32_t k = 0; k < KEYS / 16; ++k) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const auto &four = weights[2 * k + i / 2];
                to[k][i] = States::of(four[i % 2 * 2], four[i % 2 * 2 + 1]);
            }
        }
    }

    template <int GROUPS>
    static __device__ void multiply(Sums (&sums)[GROUPS], const Weights (&weights)[GROUPS], uint32_t values) {
        constexpr uint32_t BYTES = SIZE * States::BYTES;
        const uint32_t lane = threadIdx.x % 32;
#pragma unroll
        for (uint32_t k = 0; k < KEYS / 16; ++k) {
#pragma unroll
            for (uint32_t n = 0; n < SIZE / 8; n += 2) {
                uint32_t both[4];
                ldmatrix_x4_transposed(both, shared_address(values) + swizzled_row<BYTES>(k * 16 + lane % 16, n + lane / 16));
                const uint32_t left[2] = {both[0], both[1]}, right[2] = {both[2], both[3]};
#pragma unroll
                for (int group = 0; group < GROUPS; ++group) {
                    States::multiply(sums[group][n], weights[group][k], left);
                    States::multiply(sums[group][n + 1], weights[group][k], right);
                }
            }
        }
    }
};

// The same in f32, whose fragments are eight keys deep. A lane has the weights of keys 2 t and 2 t + 1, and
// the instruction wants those of t and t + 4: any order of keys will do, if the values have the same.
template <uint32_t SIZE>
struct Values<StatesF32, SIZE> {
    using Sums = float[SIZE / 8][4];

    using Weights = Scores;

    static __device__ void keep(Weights &to, const Scores &weights) {
#pragma unroll
        for (int i = 0; i < KEY_FRAGMENTS * 4; ++i) to[i / 4][i % 4] = weights[i / 4][i % 4];
    }

    static __device__ void multiply(Sums (&all)[1], const Weights (&of_all)[1], uint32_t values) {
        Sums &sums = all[0];
        const Weights &weights = of_all[0];
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
    __device__ void weigh(Scores &scores, float unit, float (&scale)[2]) {
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
__device__ inline void drop_absent(Scores &scores, uint32_t key, uint32_t tokens) {
    const uint32_t first = key + threadIdx.x % 4 * 2;
#pragma unroll
    for (int n = 0; n < KEY_FRAGMENTS; ++n) {
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i) {
            if (first + n * 8 + i % 2 >= tokens) scores[n][i] = -HUGE_VALF;
        }
    }
}

// Scales the scores of queries from `first_query` on and of a tile whose first key is `key`, adds the biases, and
// drops keys that a query does not see. Scores are then in units of log2.
__device__ inline void mask(const toller_attention_args &args, uint32_t tokens, Shared<float> bias, Scores &scores, uint32_t first_query,
                            uint32_t key) {
    const float scale = args.scale * LOG2_E;
    const int reach = static_cast<int>(args.reach);
    const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, query = first_query + g;
#pragma unroll
    for (int n = 0; n < KEY_FRAGMENTS; ++n) {
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i) {
            const uint32_t q = query + i / 2 * 8, k = key + n * 8 + t * 2 + i % 2;
            const int distance = static_cast<int>(k) - static_cast<int>(q);
            float score = scores[n][i] * scale;
            if (args.bias != nullptr) score = __fmaf_rn(bias[max(-reach, min(distance, reach)) + reach], LOG2_E, score);
            const bool is_seen = k < tokens && (distance < 0 ? static_cast<uint32_t>(-distance) <= args.before
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

// Writes the contexts of sixteen queries of a warp, of which `query` is the first. A patch takes the place of the
// block's queries and keys.
template <class States, uint32_t SIZE>
__device__ inline void write_contexts(const toller_attention_args &args, const toller_query_tile &tile, uint32_t query,
                                      const float (&sums)[SIZE / 8][4]) {
    constexpr int FRAGMENTS = States::BYTES == 4 || SIZE == 32 ? 4 : 8;
    static_assert(TOLLER_ATTENTION_THREADS / 32 * PATCH_BYTES <= TOLLER_ATTENTION_SHARED(SIZE * States::BYTES, TOLLER_ATTENTION_QUERIES),
                  "room for the patches");
    const Patch<States, FRAGMENTS> patch{threadIdx.x / 32 * PATCH_BYTES, threadIdx.x % 32};
    const uint32_t head = blockIdx.x % args.heads, first = head * args.head_size;
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

// Each warp has `GROUPS` times sixteen queries.
template <class States, uint32_t SIZE, int GROUPS = 1>
__device__ inline void attend(const toller_attention_args &args) {
    constexpr uint32_t BYTES = SIZE * States::BYTES, TILE_BYTES = KEYS * BYTES;
    constexpr uint32_t OF_WARP = GROUPS * 16, QUERIES = TOLLER_ATTENTION_THREADS / 32 * OF_WARP;
    static_assert(QUERIES == TOLLER_ATTENTION_QUERIES || QUERIES == TOLLER_ATTENTION_QUERIES_LONG, "as encoder.h says");
    static_assert(QUERIES * BYTES + 4 * TILE_BYTES == TOLLER_ATTENTION_SHARED(BYTES, QUERIES), "as encoder.h says");
    using OfHead = Values<States, SIZE>;
    const toller_query_tile tile = global_array(args.tiles, args.tile_count)[blockIdx.x / args.heads];
    const uint32_t head = blockIdx.x % args.heads, key_head = head / (args.heads / args.key_heads);
    // Shared memory: queries, then keys and values of two stages, then the head's bias.
    const auto keys_at = [](uint32_t stage) { return QUERIES * BYTES + stage * 2 * TILE_BYTES; };
    const auto bias = shared_array<float>(keys_at(2), 2 * args.reach + 1);
    const char *sequence = static_cast<const char *>(args.qkv) + static_cast<uint64_t>(tile.first_token) * args.qkv_stride;
    const auto load_keys = [&](uint32_t key, uint32_t stage) {
        const char *from = sequence + static_cast<uint64_t>(key) * args.qkv_stride + (args.heads + key_head) * BYTES;
        load_head_rows<BYTES, KEYS>(shared_address(keys_at(stage)), from, args.qkv_stride, tile.tokens - key);
        load_head_rows<BYTES, KEYS>(shared_address(keys_at(stage) + TILE_BYTES), from + args.key_heads * BYTES, args.qkv_stride,
                                    tile.tokens - key);
    };
    // The tiles of keys that any of the queries sees.
    const uint32_t last_query = min(tile.first_query + QUERIES, tile.tokens) - 1;
    const uint32_t first_key = tile.first_query > args.before ? (tile.first_query - args.before) / KEYS * KEYS : 0;
    const uint32_t end_key = args.after < tile.tokens - last_query ? last_query + args.after + 1 : tile.tokens;
    load_head_rows<BYTES, QUERIES>(shared_address(0), sequence + static_cast<uint64_t>(tile.first_query) * args.qkv_stride + head * BYTES,
                                   args.qkv_stride, tile.tokens - tile.first_query);
    load_keys(first_key, 0);
    cp_async_commit();
    if (args.bias != nullptr) {
        const auto of_heads = global_array(args.bias, static_cast<uint64_t>(args.heads) * (2 * args.reach + 1));
        for (uint32_t i = threadIdx.x; i < 2 * args.reach + 1; i += TOLLER_ATTENTION_THREADS) {
            bias[i] = of_heads[static_cast<uint64_t>(head) * (2 * args.reach + 1) + i];
        }
    }
    const uint32_t of_warp = threadIdx.x / 32 * OF_WARP, first_query = tile.first_query + of_warp;
    // A warp without queries only copies.
    const bool has_queries = first_query < tile.tokens;
    Softmax softmax[GROUPS];
    typename OfHead::Sums sums[GROUPS] = {};
    uint32_t stage = 0;
#pragma unroll 1
    for (uint32_t key = first_key; key < end_key; key += KEYS) {
        if (key + KEYS < end_key) load_keys(key + KEYS, stage ^ 1);
        cp_async_commit();
        cp_async_wait<1>();
        __syncthreads();
        if (has_queries) {
            Scores scores[GROUPS] = {};
            typename OfHead::Weights weights[GROUPS];
            multiply_keys<States, SIZE>(scores, of_warp, shared_address(0), shared_address(keys_at(stage)));
            // Nearly all tiles of most models are whole. The choice depends only on the sequence.
            const bool sees_all = args.bias == nullptr && (last_query <= key || last_query - key <= args.before) &&
                                  (key + KEYS <= tile.first_query || key + KEYS - 1 - tile.first_query <= args.after);
#pragma unroll
            for (int group = 0; group < GROUPS; ++group) {
                float scale[2];
                if (!sees_all) {
                    mask(args, tile.tokens, bias, scores[group], first_query + group * 16, key);
                } else if (key + KEYS > tile.tokens) {
                    drop_absent(scores[group], key, tile.tokens);
                }
                softmax[group].weigh(scores[group], sees_all ? args.scale * LOG2_E : 1.0f, scale);
                OfHead::keep(weights[group], scores[group]);
#pragma unroll
                for (uint32_t n = 0; n < SIZE / 8; ++n) {
#pragma unroll
                    for (int i = 0; i < 4; ++i) sums[group][n][i] *= scale[i / 2];
                }
            }
            OfHead::multiply(sums, weights, keys_at(stage) + TILE_BYTES);
        }
        stage ^= 1;
        // The next round loads into the stage that was just read.
        __syncthreads();
    }
    cp_async_wait<0>();
#pragma unroll
    for (int group = 0; group < GROUPS; ++group) {
#pragma unroll
        for (int row = 0; row < 2; ++row) {
            const float inverse = 1.0f / softmax[group].sum(row);
#pragma unroll
            for (uint32_t n = 0; n < SIZE / 8; ++n) sums[group][n][2 * row] *= inverse, sums[group][n][2 * row + 1] *= inverse;
        }
        write_contexts<States, SIZE>(args, tile, first_query + group * 16, sums[group]);
    }
}
