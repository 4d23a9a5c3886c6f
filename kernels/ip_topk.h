/* The exact top-k inner product on a GPU: the kernels' names, arguments and launches.
 *
 * Plain C, so that the driver (Rust, `repr(C)`), the device code and the host shim read one definition. Every
 * kernel is
 *
 *     extern "C" __global__ void NAME(const __grid_constant__ ARGS args)
 *
 * and takes its one struct by value. Pointers are device pointers. No kernel allocates, and none reads or
 * writes outside the arrays named here. Counts of rows and of queries are at least 1 and below 2^31. All
 * kernels are launched on one stream, in this order (docs/kernels.md says why):
 *
 *     row_norms_* / code_norms          once, when rows are uploaded
 *     start                             once a group of queries
 *     prepare_queries_*                 once a group of queries (residual_ratio set to 0 before)
 *     for each chunk of rows:
 *         cutoffs                       what the scan compares with
 *         scan_*                        appends to the candidates
 *         select                        raises the thresholds, drops candidates below them
 *     rescore_*, select                 exact scores; a candidate whose bounds are equal is exact. With an aim, twice:
 *                                       the k best sums first, since their scores raise the threshold
 *     best                              the k best of each query, in order
 *
 * A scan that fills a query's buffer goes on counting: counts[q] > capacity says that candidates are missing.
 * Then there are two ways to go on. The query can stay incomplete: later kernels skip it, `best` reports it,
 * and it is searched again. Or `select` with `undo` takes the chunk back for all queries, and the chunk is
 * scanned again, or half of it. The thresholds are raised before: each candidate in a buffer is a vector of
 * its own, so that their k-th best lower bound is a true threshold. A chunk of at most capacity - counts[q]
 * rows cannot fill a buffer.
 *
 * A guess is a score that the k best are expected to reach, from a sample of the rows. The scan drops what is
 * below the guess, too. `select` with `verify` makes a query incomplete if its threshold is below its guess.
 */
#ifndef TOLLER_IP_TOPK_H
#define TOLLER_IP_TOPK_H

#include <stdint.h>

#include "tensor_map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A vector that may be among the k best, with bounds of its score after rounding to f32:
 * lower <= score <= upper. The bounds are equal if, and only if, the score is known. The scan, which has no
 * time for bounds, leaves a sum in `lower` and a spread in `upper`; `select` makes bounds of them. */
typedef struct {
    uint32_t ordinal;
    float lower;
    float upper;
} toller_candidate;

typedef struct {
    uint32_t ordinal;
    float score;
} toller_hit;

/* How the scan's sums relate to the scores of one query; ip_topk/bounds.cuh proves it. With `sum` the
 * accumulator (times the row's scale, for codes) and `spread` the row's norm (for codes:
 * residual_ratio * norm + residual norm), |scale * score - sum| <= slope * spread + offset. There is no bound
 * where the slope is infinite. */
typedef struct {
    double scale;
    float slope;
    float offset;
} toller_query_facts;

/* The count of a query whose candidates are incomplete, as any count above the capacity says. A chunk can be
 * added to it. */
#define TOLLER_INCOMPLETE 0x80000000u

/* row_norms_{f16,bf16,f32}: an upper bound of each row's length. code_norms: of the length of scale * codes.
 * Infinite for a row that is not finite, or so long that the scan has no bound for it.
 * Grid: any (blocks take turns). Block: TOLLER_ROW_THREADS. Shared memory: none. */
typedef struct {
    const void *rows;    /* [row_count] rows of `stride` bytes */
    const float *scales; /* [row_count] for code_norms, else null */
    float *norms;        /* [row_count], written */
    uint32_t row_count;
    uint32_t dim;
    uint32_t stride; /* bytes from row to row */
    uint32_t reserved;
} toller_row_norms_args;

/* start: no thresholds, no guesses and no candidates.
 * Grid: any. Block: TOLLER_ROW_THREADS. Shared memory: none. */
typedef struct {
    float *thresholds;   /* [query_count], set to minus infinity */
    float *guesses;      /* [query_count], set to minus infinity */
    uint32_t *counts;    /* [query_count], set to 0 */
    uint32_t *bounded;   /* [query_count], set to 0 */
    uint32_t *nominated; /* [query_count], set to 0 */
    uint32_t query_count;
    uint32_t reserved;
} toller_start_args;

/* prepare_queries_{f16,bf16,f32,int8}: queries in the form that the scan of that type multiplies.
 * Grid: any. Block: TOLLER_ROW_THREADS. Shared memory: none. */
typedef struct {
    const float *queries;      /* [query_count, dim], dense, finite */
    void *prepared;            /* [query_count] rows of `stride` bytes, written whole (zeros beyond `dim`) */
    toller_query_facts *facts; /* [query_count], written */
    float *residual_ratio;     /* [1]: raised to the group's largest; the driver sets it to 0 before */
    uint32_t query_count;
    uint32_t dim;
    uint32_t stride; /* a multiple of 16 */
    uint32_t reserved;
} toller_prepare_queries_args;

/* What the scan compares the sums of two neighbouring queries with: fma(slope, spread, sum) < cutoff drops a row. */
typedef struct {
    float slope[2];
    float cutoff[2];
} toller_query_pair;

/* cutoffs: the pairs of all queries for the scan, which reads whole tiles of them: no row reaches the queries
 * beyond query_count, nor incomplete ones.
 * Grid: any. Block: TOLLER_ROW_THREADS. Shared memory: none. */
typedef struct {
    const toller_query_facts *facts; /* [query_count] */
    const float *thresholds;         /* [query_count]: a score that k vectors reach, or minus infinity */
    const float *guesses;            /* [query_count] of `select` */
    const uint32_t *counts;          /* [query_count] */
    toller_query_pair *pairs;        /* [pair_count], written */
    uint32_t query_count;
    uint32_t pair_count; /* half of query_count, rounded up to whole tiles of the scan */
    uint32_t capacity;
    uint32_t reserved;
} toller_cutoffs_args;

/* scan_{f16,bf16,f32,int8}_{8,64,256}: appends every (query, row) whose upper bound may reach the query's
 * threshold. The number is the width of the query tile: 8 and 64 for up to that many queries, 256 for more.
 * Grid: TOLLER_SCAN_BLOCKS_* blocks a multiprocessor (any number works). Block: TOLLER_SCAN_THREADS.
 * Dynamic shared memory: TOLLER_SCAN_SHARED_* (above 48 KiB: raise the function's limit first). */
typedef struct {
    const void *rows;                 /* [row_count] rows of `stride` bytes, zero-padded; 16-byte aligned */
    const void *queries;              /* [query_count] prepared rows of the same stride; 16-byte aligned */
    const float *row_norms;           /* [row_count] of row_norms_* or, for int8, code_norms */
    const float *row_scales;          /* [row_count] for int8, else null */
    const float *row_residual_norms;  /* [row_count] for int8, else null */
    const toller_query_pair *pairs;   /* of `cutoffs`: those of whole tiles of queries */
    const float *residual_ratio;      /* [1] for int8, else null */
    const uint32_t *allowed;          /* bit o % 32 of word o / 32 allows ordinal o; null allows all */
    const uint32_t *excluded;         /* ordinals, ascending for each query, or null */
    const uint64_t *excluded_offsets; /* [query_count + 1] into `excluded`, or null */
    toller_candidate *candidates;     /* [query_count, capacity] */
    uint32_t *counts;                 /* [query_count]: raised; candidates beyond `capacity` are not written */
    uint32_t allowed_words;           /* words of `allowed`; later ordinals are not allowed */
    uint32_t row_count;
    uint32_t first_ordinal; /* of the first row; the others follow, up to 2^32 - 1 */
    uint32_t query_count;
    uint32_t stride; /* a multiple of 16 */
    uint32_t capacity;
    /* Which rows are scanned: of every tile_step-th tile of TOLLER_SCAN_ROWS rows, `tile_count` from number
     * `first_tile` on. If `skips` is 1, not 0, one in TOLLER_SCAN_SAMPLE of these was scanned before, and is
     * not counted. */
    uint32_t first_tile;
    uint32_t tile_step;
    uint32_t tile_count;
    uint32_t skips;
} toller_scan_args;

/* scan_{f16,bf16,f32,int8}_tma, only on sm_90a: the scan of more than 64 queries with bulk tensor copies. Its
 * tiles have TOLLER_SCAN_TMA_ROWS rows, not TOLLER_SCAN_ROWS, and TOLLER_SCAN_TMA_QUERIES queries.
 * Grid: one block a multiprocessor (any number works). Block: TOLLER_SCAN_TMA_THREADS.
 * Dynamic shared memory: TOLLER_SCAN_SHARED_TMA. */
typedef struct {
    toller_tensor_map rows;    /* of scan.rows: boxes of 128 bytes of TOLLER_SCAN_TMA_ROWS rows, swizzled */
    toller_tensor_map queries; /* of scan.queries: the same with TOLLER_SCAN_TMA_QUERIES rows */
    toller_scan_args scan;
    uint64_t reserved[15];
} toller_scan_tma_args;

/* select: makes bounds of the sums of candidates bounded[q] to counts[q] - 1;
 *         thresholds[q] = max(thresholds[q], the k-th best lower bound), if there are k candidates;
 *         drops candidates whose upper bound is below the threshold; the others keep their order;
 *         counts[q] = bounded[q] = how many are left.
 * Skips incomplete queries. With `undo` there are none: what has no bounds yet raises the threshold and is
 * dropped.
 * With `depth`, guesses[q] is raised to the middle of the bounds of the depth-th best candidate whose score
 * is not known yet, if there is one. With `verify`, a query whose threshold is below its guess is made
 * incomplete, and the guess becomes minus infinity.
 * With `aims`, aims[q] = the middle of the bounds of the k-th best candidate, or minus infinity if there are fewer.
 * Grid: query_count. Block: TOLLER_SELECT_THREADS. Shared memory: TOLLER_SELECT_SHARED. */
typedef struct {
    toller_candidate *candidates; /* [query_count, capacity] */
    uint32_t *counts;             /* [query_count] */
    uint32_t *bounded;            /* [query_count]: how many candidates have bounds */
    float *thresholds;            /* [query_count] */
    float *guesses;               /* [query_count] */
    const toller_query_facts *facts; /* [query_count], of the type that was scanned since `bounded` was set */
    float *aims;                     /* [query_count], written, or null */
    uint32_t query_count;
    uint32_t capacity;
    uint32_t k;
    uint32_t depth;
    uint32_t undo;
    uint32_t verify;
} toller_select_args;

/* rescore_{f16,bf16,f32}: lower = upper = the score, for candidates among `rows` that are not exact yet. With
 * `aims`, only for those of which the middle of the bounds is at least the query's aim. Skips incomplete queries.
 * Grid: (query_count, any). Block: TOLLER_RESCORE_THREADS. Dynamic shared memory: TOLLER_RESCORE_SHARED. */
typedef struct {
    const void *rows;             /* [row_count] rows of `stride` bytes, as stored */
    const float *queries;         /* [query_count, dim], dense, as given */
    toller_candidate *candidates; /* [query_count, capacity] */
    const uint32_t *counts;       /* [query_count] */
    uint32_t *nominated;          /* [query_count]: raised by the number of scores */
    const float *aims;            /* [query_count] of `select`, or null */
    uint32_t row_count;
    uint32_t first_ordinal;
    uint32_t query_count;
    uint32_t dim;
    uint32_t stride;
    uint32_t capacity;
} toller_rescore_args;

/* best: the k best of each query's candidates, all of them exact, in the order of hits: score descending (-0
 * equals 0), then ordinal ascending. Does not change the candidates.
 * Grid: query_count. Block: TOLLER_SELECT_THREADS. Dynamic shared memory: TOLLER_BEST_SHARED. */
typedef struct {
    const toller_candidate *candidates; /* [query_count, capacity] */
    const uint32_t *counts;             /* [query_count] */
    toller_hit *hits;                   /* [query_count, k] */
    uint32_t *hit_counts;               /* [query_count]: how many hits were written, min(k, counts); or
                                         * TOLLER_INCOMPLETE */
    uint64_t *scratch;                  /* [query_count, 2, k] where k > TOLLER_BEST_IN_SHARED, else null */
    uint32_t query_count;
    uint32_t capacity;
    uint32_t k;
    uint32_t reserved;
} toller_best_args;

/* Threads of a block. */
#define TOLLER_ROW_THREADS 256
#define TOLLER_SCAN_THREADS 256
#define TOLLER_SELECT_THREADS 512
#define TOLLER_RESCORE_THREADS 256

/* Candidates that a warp of `rescore` looks through at a time. */
#define TOLLER_RESCORE_LOOKED_THROUGH 16

/* Rows of a tile of the scan, and bytes of a slice of each row that one pipeline stage holds. */
#define TOLLER_SCAN_ROWS 128
#define TOLLER_SCAN_SLICE 128
/* One tile in this many is a sample of them. */
#define TOLLER_SCAN_SAMPLE 32

/* Hits of a tile that a block holds in shared memory, 8 bytes each. */
#define TOLLER_SCAN_HITS(queries) ((queries) >= 256 ? 1024 : (queries) >= 64 ? 512 : 256)

/* Dynamic shared memory of the scan: stages of slices, each with the pairs of a tile's queries; the tile's hits with
 * two counts; 1,024 to align. */
#define TOLLER_SCAN_SHARED(queries, stages)                                                                           \
    ((stages) * ((TOLLER_SCAN_ROWS + (queries)) * TOLLER_SCAN_SLICE + (queries) * 8) +                                \
     TOLLER_SCAN_HITS(queries) * 8 + 16 + 1024)
#define TOLLER_SCAN_STAGES_8 4
#define TOLLER_SCAN_STAGES_64 3
#define TOLLER_SCAN_STAGES_256 3
#define TOLLER_SCAN_SHARED_8 TOLLER_SCAN_SHARED(8, TOLLER_SCAN_STAGES_8)
#define TOLLER_SCAN_SHARED_64 TOLLER_SCAN_SHARED(64, TOLLER_SCAN_STAGES_64)
#define TOLLER_SCAN_SHARED_256 TOLLER_SCAN_SHARED(256, TOLLER_SCAN_STAGES_256)

/* The tile and the stages of the scan with bulk copies; its threads: one warpgroup that copies, and three that
 * multiply; and the hits of a tile that each of the three holds. */
#define TOLLER_SCAN_TMA_ROWS 192
#define TOLLER_SCAN_TMA_QUERIES 192
#define TOLLER_SCAN_TMA_STAGES 4
#define TOLLER_SCAN_TMA_THREADS 512
#define TOLLER_SCAN_TMA_HITS 512
/* Its dynamic shared memory: stages of slices; a table of pairs for each stage and one more; hits with a count;
 * two barriers a stage, and two for the hits of each warpgroup that multiplies; 1,024 to align. */
#define TOLLER_SCAN_SHARED_TMA                                                                                        \
    (TOLLER_SCAN_TMA_STAGES * (TOLLER_SCAN_TMA_ROWS + TOLLER_SCAN_TMA_QUERIES) * TOLLER_SCAN_SLICE +                  \
     (TOLLER_SCAN_TMA_STAGES + 1) * TOLLER_SCAN_TMA_QUERIES * 8 + 3 * (TOLLER_SCAN_TMA_HITS * 8 + 8) +                \
     2 * (TOLLER_SCAN_TMA_STAGES + 3) * 8 + 1024)

/* Blocks a multiprocessor. */
#define TOLLER_SCAN_BLOCKS_8 2
#define TOLLER_SCAN_BLOCKS_64 2
#define TOLLER_SCAN_BLOCKS_256 1

/* Dynamic shared memory of `select`: 256 counters and the warps' sums. */
#define TOLLER_SELECT_SHARED (256 * 4 + 64 * 4)

/* Dynamic shared memory of `rescore`: for each warp, 24 candidates that wait, 8 bytes each. */
#define TOLLER_RESCORE_SHARED 1536

/* Up to this k, `best` sorts in shared memory; beyond, in `scratch`. */
#define TOLLER_BEST_IN_SHARED 4096
/* Dynamic shared memory of `best`: the keys, or a counter for each digit and warp; and that of `select`. */
#define TOLLER_BEST_SHARED (TOLLER_BEST_IN_SHARED * 8 + TOLLER_SELECT_SHARED)

/* The kernels, as X(name, argument struct). */
#define TOLLER_IP_TOPK_KERNELS(X)                                                                                     \
    X(toller_ip_topk_row_norms_f16, toller_row_norms_args)                                                            \
    X(toller_ip_topk_row_norms_bf16, toller_row_norms_args)                                                           \
    X(toller_ip_topk_row_norms_f32, toller_row_norms_args)                                                            \
    X(toller_ip_topk_code_norms, toller_row_norms_args)                                                               \
    X(toller_ip_topk_start, toller_start_args)                                                                        \
    X(toller_ip_topk_prepare_queries_f16, toller_prepare_queries_args)                                                \
    X(toller_ip_topk_prepare_queries_bf16, toller_prepare_queries_args)                                               \
    X(toller_ip_topk_prepare_queries_f32, toller_prepare_queries_args)                                                \
    X(toller_ip_topk_prepare_queries_int8, toller_prepare_queries_args)                                               \
    X(toller_ip_topk_cutoffs, toller_cutoffs_args)                                                                    \
    X(toller_ip_topk_scan_f16_8, toller_scan_args)                                                                    \
    X(toller_ip_topk_scan_f16_64, toller_scan_args)                                                                   \
    X(toller_ip_topk_scan_f16_256, toller_scan_args)                                                                  \
    X(toller_ip_topk_scan_bf16_8, toller_scan_args)                                                                   \
    X(toller_ip_topk_scan_bf16_64, toller_scan_args)                                                                  \
    X(toller_ip_topk_scan_bf16_256, toller_scan_args)                                                                 \
    X(toller_ip_topk_scan_f32_8, toller_scan_args)                                                                    \
    X(toller_ip_topk_scan_f32_64, toller_scan_args)                                                                   \
    X(toller_ip_topk_scan_f32_256, toller_scan_args)                                                                  \
    X(toller_ip_topk_scan_int8_8, toller_scan_args)                                                                   \
    X(toller_ip_topk_scan_int8_64, toller_scan_args)                                                                  \
    X(toller_ip_topk_scan_int8_256, toller_scan_args)                                                                 \
    X(toller_ip_topk_select, toller_select_args)                                                                      \
    X(toller_ip_topk_rescore_f16, toller_rescore_args)                                                                \
    X(toller_ip_topk_rescore_bf16, toller_rescore_args)                                                               \
    X(toller_ip_topk_rescore_f32, toller_rescore_args)                                                                \
    X(toller_ip_topk_best, toller_best_args)

/* The kernels that only sm_90a has. */
#define TOLLER_IP_TOPK_SM90A_KERNELS(X)                                                                               \
    X(toller_ip_topk_scan_f16_tma, toller_scan_tma_args)                                                              \
    X(toller_ip_topk_scan_bf16_tma, toller_scan_tma_args)                                                             \
    X(toller_ip_topk_scan_f32_tma, toller_scan_tma_args)                                                              \
    X(toller_ip_topk_scan_int8_tma, toller_scan_tma_args)

#ifdef __cplusplus
}
#endif

#endif
