/* The steps of a transformer on a GPU: the kernels' names, arguments and launches.
 *
 * Plain C, so that the driver (Rust, `repr(C)`), the device code and the host shim read one definition. Every
 * kernel takes its one struct by value, as those of ip_topk.h do. Pointers are device pointers, aligned to 16
 * bytes. No kernel allocates. Counts of rows are at least 1.
 *
 * A matrix has rows of `stride` bytes. A row's numbers are padded to a multiple of eight, and the padding is
 * zero: in states, which each kernel writes whole rows of, and in parameters. Vectors of parameters (biases,
 * norms) are f32 and padded alike. Kernels exist for states of f16, bf16 and f32; sums, norms, softmax and
 * poolings are f32.
 *
 * The bits of a row depend on its own sequence alone: sums have one order, whatever the batch.
 */
#ifndef TOLLER_ENCODER_H
#define TOLLER_ENCODER_H

#include <stdint.h>

#include "tensor_map.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TOLLER_ENCODER_TABLES 4
#define TOLLER_ENCODER_POOLINGS 8

/* Functions that follow a product. */
#define TOLLER_ACTIVATION_IDENTITY 0
#define TOLLER_ACTIVATION_GELU 1
#define TOLLER_ACTIVATION_GELU_TANH 2
#define TOLLER_ACTIVATION_RELU 3
#define TOLLER_ACTIVATION_SILU 4
#define TOLLER_ACTIVATION_TANH 5
#define TOLLER_ACTIVATION_SIGMOID 6

/* Ways from token states to a vector. */
#define TOLLER_POOLING_CLS 0
#define TOLLER_POOLING_MEAN 1
#define TOLLER_POOLING_MAX 2
#define TOLLER_POOLING_MEAN_SQRT_LEN 3
#define TOLLER_POOLING_WEIGHTED_MEAN 4
#define TOLLER_POOLING_LAST_TOKEN 5

/* A norm of rows: x is centered if `centers`, divided by sqrt(variance + epsilon), scaled and shifted. */
typedef struct {
    const float *weight; /* [width], padded */
    const float *bias;   /* [width], padded */
    float epsilon;
    uint32_t centers;
} toller_norm;

/* embed_*: the sum of the tokens' rows of all tables, in their order, normalised if the norm has a weight.
 * Grid: any (warps take tokens in turn). Block: up to TOLLER_NORM_THREADS, whole warps. Shared memory: none for rows of
 * up to TOLLER_NORM_IN_REGISTERS numbers; for wider ones, 4 bytes for each number of each warp's padded row. */
typedef struct {
    const float *tables[TOLLER_ENCODER_TABLES];  /* rows of `width` numbers, padded */
    const uint32_t *rows[TOLLER_ENCODER_TABLES]; /* [tokens]: the row of each token */
    toller_norm norm;
    void *out; /* [tokens] rows of `stride` bytes */
    uint32_t table_count;
    uint32_t tokens;
    uint32_t width;
    uint32_t stride;
} toller_embed_args;

/* norm_*: rows normalised, plus a residual; `out` and `wide` may be `x`. norm_wide_bf16: of f32, to bf16, and without
 * a residual. Launched as embed_*. */
typedef struct {
    const void *x; /* [rows] rows of `stride` bytes */
    void *out;     /* [rows] rows of `out_stride` bytes */
    void *wide;    /* norm_wide_bf16: null, or where the results also go in f32: [rows] rows of `stride` bytes */
    const void *residual; /* null, or [rows] rows of `residual_stride` bytes; in bf16 if `residual_is_bf16` (norm_f32) */
    toller_norm norm;
    uint32_t rows;
    uint32_t width;
    uint32_t stride;
    uint32_t out_stride;
    uint32_t residual_stride;
    uint32_t residual_is_bf16;
} toller_norm_args;

/* product_*: activation(x W^T + bias) + residual; if `gated`, of rows of W in turns of eight, activation(x A^T
 * + a) * (x B^T + b).
 * Grid: tiles of rows times tiles of W's rows. Block: TOLLER_PRODUCT_THREADS. Shared memory:
 * TOLLER_PRODUCT_SHARED of the tile's columns and stages. */
typedef struct {
    const void *x;        /* [rows] rows of `depth_bytes` bytes */
    const void *weight;   /* [weight_rows] rows of `weight_stride` bytes, in the type of the states */
    const float *bias;    /* [weight_rows] */
    const void *residual; /* [rows] rows of `residual_stride` bytes, or null; in f32 if `residual_is_wide` (only bf16, not gated) */
    void *out;            /* [rows] rows of `stride` bytes; in f32 if `is_wide` (the same) */
    uint32_t rows;
    uint32_t weight_rows; /* a multiple of eight (gated: of sixteen) */
    uint32_t columns;     /* numbers of a row of `out` */
    uint32_t depth_bytes;
    uint32_t weight_stride; /* depth_bytes; for weights in two parts, twice that in whole slices */
    uint32_t stride;
    uint32_t residual_stride;
    uint32_t activation;
    uint32_t gated;
    uint32_t is_wide;
    uint32_t residual_is_wide;
    uint32_t reserved;
} toller_product_args;

/* product_{f16,bf16}_tma, only on sm_90a: a product with bulk tensor copies.
 * Grid: any (blocks take tiles of TOLLER_PRODUCT_TMA_ROWS x TOLLER_PRODUCT_TMA_COLUMNS in turn). Block:
 * TOLLER_PRODUCT_TMA_THREADS. Shared memory: TOLLER_PRODUCT_SHARED_TMA. */
typedef struct {
    toller_tensor_map x;      /* of product.x: boxes of 128 bytes of TOLLER_PRODUCT_TMA_ROWS rows, swizzled */
    toller_tensor_map weight; /* of product.weight: the same with TOLLER_PRODUCT_TMA_COLUMNS rows */
    toller_product_args product;
    uint64_t reserved[5];
} toller_product_tma_args;

/* activate_f16: the activation of each number, in place; the padding becomes zero. For products of cuBLASLt.
 * Grid: any (warps take rows in turn). Block: TOLLER_NORM_THREADS. Shared memory: none. */
typedef struct {
    void *x; /* [rows] rows of `stride` bytes */
    uint32_t rows;
    uint32_t columns;
    uint32_t stride;
    uint32_t activation;
} toller_activate_args;

/* heads_*: queries, keys and values with heads padded to `padded` numbers, 32, 64, 128 or 256; queries and keys
 * normalised head by head, and rotated by the position: number i and i + head_size / 2 by cos and sin.
 * Grid: any (warps take tokens in turn). Block: TOLLER_NORM_THREADS. Shared memory: none. */
typedef struct {
    const void *qkv;           /* [tokens] rows of `stride` bytes: `parts` heads of `head_size` */
    void *out;                 /* [tokens] rows of parts * padded numbers */
    const uint32_t *positions; /* [tokens], in the sequence */
    const float *cosines;      /* [positions, head_size / 2]; null for no rotation */
    const float *sines;
    toller_norm norms[2]; /* [head_size]: of queries and of keys; without weights for none */
    uint32_t tokens;
    uint32_t parts;
    uint32_t queries;  /* the first parts */
    uint32_t prepared; /* queries and keys: parts that are normalised and rotated */
    uint32_t head_size;
    uint32_t padded;
    uint32_t stride;
    uint32_t reserved;
} toller_heads_args;

/* prefix_*: numbers of the first tokens of each sequence replaced by those of a table, row by row.
 * Grid: any (warps take tokens in turn). Block: TOLLER_NORM_THREADS. Shared memory: none. */
typedef struct {
    void *qkv;                 /* [tokens] rows of `stride` bytes */
    const float *table;        /* [table_rows] rows of `table_width` numbers */
    const uint32_t *positions; /* [tokens], in the sequence */
    uint32_t tokens;
    uint32_t stride;
    uint32_t first;   /* the first number of `qkv` that is replaced */
    uint32_t columns; /* how many are */
    uint32_t table_rows;
    uint32_t table_width;
    uint32_t table_first; /* the first number of the table's row that is taken */
    uint32_t reserved;
} toller_prefix_args;

/* A tile of queries: those from `first_query` on, of a sequence. */
typedef struct {
    uint32_t first_token; /* of the sequence */
    uint32_t tokens;      /* of the sequence */
    uint32_t first_query; /* in the sequence: a multiple of TOLLER_ATTENTION_QUERIES */
} toller_query_tile;

/* attention_*_{32,64,128}, and attention_{f16,bf16}_256: softmax(Q K^T scale + bias) V for every head and every token
 * over its sequence.
 * Grid: tiles of queries times heads; neighbours have the same tile, since the heads of a token lie side by side in
 * memory. Block: TOLLER_ATTENTION_THREADS. Shared memory: TOLLER_ATTENTION_SHARED of
 * the head's bytes, and 4 bytes for each number of a head's bias. */
typedef struct {
    const void *qkv; /* [tokens] rows of `qkv_stride` bytes: heads of queries, keys, values, as wide as the kernel's */
    void *out;       /* [tokens] rows of `stride` bytes: heads of `head_size` */
    const toller_query_tile *tiles;
    const float *bias; /* [heads, 2 * reach + 1], by the key's distance; null for none */
    uint32_t tile_count;
    uint32_t tokens;
    uint32_t heads;
    uint32_t key_heads;
    uint32_t head_size;
    uint32_t qkv_stride;
    uint32_t stride;
    uint32_t reach;
    uint32_t before; /* a query sees keys from query - before */
    uint32_t after;  /* to query + after */
    float scale;
    uint32_t reserved;
} toller_attention_args;

/* pool_*: the states of each sequence but the first `skipped`, as one row for each pooling, one after the
 * other, in f32. Grid: sequences x any (threads take eight columns in turn). Block: up to
 * TOLLER_NORM_THREADS, whole warps. */
typedef struct {
    const void *x;           /* [tokens] rows of `stride` bytes */
    float *out;              /* [sequences] rows of `out_stride` bytes */
    const uint32_t *offsets; /* [sequences + 1] */
    uint32_t poolings[TOLLER_ENCODER_POOLINGS];
    uint32_t pooling_count;
    uint32_t sequences;
    uint32_t tokens;
    uint32_t width;
    uint32_t stride;
    uint32_t out_stride;
    uint32_t skipped;
    uint32_t reserved;
} toller_pool_args;

/* rows_f32: the first `width` numbers of each row, scaled to unit length if `unit`; `out` may be `x`.
 * Grid: any (warps take rows in turn). Block: TOLLER_NORM_THREADS. Shared memory: none. */
typedef struct {
    const float *x; /* [rows] rows of `stride` bytes */
    float *out;     /* [rows] rows of `out_stride` bytes */
    uint32_t rows;
    uint32_t width;
    uint32_t stride;
    uint32_t out_stride;
    uint32_t unit;
    uint32_t reserved;
} toller_rows_args;

/* The widest rows that norms and embeddings keep in registers. */
#define TOLLER_NORM_IN_REGISTERS 1024

/* Threads of a block. */
#define TOLLER_NORM_THREADS 256
#define TOLLER_PRODUCT_THREADS 256
#define TOLLER_ATTENTION_THREADS 128

/* Rows of a product's tile, and bytes of each row in a stage. */
#define TOLLER_PRODUCT_ROWS 128
#define TOLLER_PRODUCT_SLICE 128
/* Dynamic shared memory of a product: its stages, and 1,024 to align. The results pass through the same
 * memory. */
#define TOLLER_PRODUCT_SHARED(columns, stages)                                                                        \
    ((stages) * (TOLLER_PRODUCT_ROWS + (columns)) * TOLLER_PRODUCT_SLICE + 1024)
#define TOLLER_PRODUCT_STAGES 3
/* For few rows: 64 columns, and as many stages as fit the shared memory of an A100. */
#define TOLLER_PRODUCT_STAGES_FEW 6
/* The product with bulk copies: its tile, its stages, and its threads; and its dynamic shared memory: stages, a patch of
 * 2,048 bytes for each of twelve warps, two barriers a stage, 1,024 to align. */
#define TOLLER_PRODUCT_TMA_ROWS 192
#define TOLLER_PRODUCT_TMA_COLUMNS 192
#define TOLLER_PRODUCT_TMA_STAGES 4
#define TOLLER_PRODUCT_TMA_THREADS 512
#define TOLLER_PRODUCT_SHARED_TMA                                                                                     \
    (TOLLER_PRODUCT_TMA_STAGES *                                                                                      \
         ((TOLLER_PRODUCT_TMA_ROWS + TOLLER_PRODUCT_TMA_COLUMNS) * TOLLER_PRODUCT_SLICE + 16) + 12 * 2048 + 1024)

/* Queries and keys of a tile of attention. */
#define TOLLER_ATTENTION_QUERIES 64
#define TOLLER_ATTENTION_KEYS 64
/* Dynamic shared memory of attention without a bias: queries, and two stages of keys and values. */
#define TOLLER_ATTENTION_SHARED(head_bytes) ((TOLLER_ATTENTION_QUERIES + 4 * TOLLER_ATTENTION_KEYS) * (head_bytes))

/* The kernels, as X(name, argument struct). */
#define TOLLER_ENCODER_KERNELS_OF(X, TYPE)                                                                            \
    X(toller_encoder_embed_##TYPE, toller_embed_args)                                                                 \
    X(toller_encoder_norm_##TYPE, toller_norm_args)                                                                   \
    X(toller_encoder_heads_##TYPE, toller_heads_args)                                                                 \
    X(toller_encoder_prefix_##TYPE, toller_prefix_args)                                                               \
    X(toller_encoder_attention_##TYPE##_32, toller_attention_args)                                                    \
    X(toller_encoder_attention_##TYPE##_64, toller_attention_args)                                                    \
    X(toller_encoder_attention_##TYPE##_128, toller_attention_args)                                                   \
    X(toller_encoder_product_##TYPE##_64, toller_product_args)                                                        \
    X(toller_encoder_product_##TYPE##_few, toller_product_args)                                                       \
    X(toller_encoder_product_##TYPE##_128, toller_product_args)                                                       \
    X(toller_encoder_pool_##TYPE, toller_pool_args)
#define TOLLER_ENCODER_KERNELS(X)                                                                                     \
    TOLLER_ENCODER_KERNELS_OF(X, f16)                                                                                 \
    TOLLER_ENCODER_KERNELS_OF(X, bf16)                                                                                \
    TOLLER_ENCODER_KERNELS_OF(X, f32)                                                                                 \
    X(toller_encoder_attention_f16_256, toller_attention_args)                                                        \
    X(toller_encoder_attention_bf16_256, toller_attention_args)                                                       \
    X(toller_encoder_product_f16_256, toller_product_args)                                                            \
    X(toller_encoder_product_bf16_256, toller_product_args)                                                           \
    X(toller_encoder_norm_wide_bf16, toller_norm_args)                                                                \
    X(toller_encoder_activate_f16, toller_activate_args)                                                              \
    X(toller_encoder_rows_f32, toller_rows_args)

/* The kernels that only sm_90a has. */
#define TOLLER_ENCODER_SM90A_KERNELS(X)                                                                               \
    X(toller_encoder_product_f16_tma, toller_product_tma_args)                                                        \
    X(toller_encoder_product_bf16_tma, toller_product_tma_args)

#ifdef __cplusplus
}
#endif

#endif
