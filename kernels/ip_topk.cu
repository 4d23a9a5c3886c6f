// The exact top-k inner product: every kernel except the scan. ip_topk.h has their arguments and their order.
#include "ip_topk/best.cuh"
#include "ip_topk/prepare_queries.cuh"
#include "ip_topk/rescore.cuh"
#include "ip_topk/row_norms.cuh"
#include "ip_topk/thresholds.cuh"

#define TOLLER_KERNEL(NAME, ARGS, THREADS, FUNCTION)                                                                   \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME(const __grid_constant__ ARGS args) { FUNCTION(args); }

TOLLER_KERNEL(toller_ip_topk_row_norms_f16, toller_row_norms_args, TOLLER_ROW_THREADS, write_row_norms<StoredF16>)
TOLLER_KERNEL(toller_ip_topk_row_norms_bf16, toller_row_norms_args, TOLLER_ROW_THREADS, write_row_norms<StoredBf16>)
TOLLER_KERNEL(toller_ip_topk_row_norms_f32, toller_row_norms_args, TOLLER_ROW_THREADS, write_row_norms<StoredF32>)
TOLLER_KERNEL(toller_ip_topk_code_norms, toller_row_norms_args, TOLLER_ROW_THREADS, write_row_norms<StoredCode>)

TOLLER_KERNEL(toller_ip_topk_start, toller_start_args, TOLLER_ROW_THREADS, start_queries)
TOLLER_KERNEL(toller_ip_topk_prepare_queries_f16, toller_prepare_queries_args, TOLLER_ROW_THREADS,
              prepare_queries<QueryF16>)
TOLLER_KERNEL(toller_ip_topk_prepare_queries_bf16, toller_prepare_queries_args, TOLLER_ROW_THREADS,
              prepare_queries<QueryBf16>)
TOLLER_KERNEL(toller_ip_topk_prepare_queries_f32, toller_prepare_queries_args, TOLLER_ROW_THREADS,
              prepare_queries<QueryTf32>)
TOLLER_KERNEL(toller_ip_topk_prepare_queries_int8, toller_prepare_queries_args, TOLLER_ROW_THREADS,
              prepare_queries<QueryInt8>)

TOLLER_KERNEL(toller_ip_topk_cutoffs, toller_cutoffs_args, TOLLER_ROW_THREADS, write_cutoffs)
TOLLER_KERNEL(toller_ip_topk_select, toller_select_args, TOLLER_SELECT_THREADS, select_candidates)

TOLLER_KERNEL(toller_ip_topk_rescore_f16, toller_rescore_args, TOLLER_RESCORE_THREADS, rescore<StoredF16>)
TOLLER_KERNEL(toller_ip_topk_rescore_bf16, toller_rescore_args, TOLLER_RESCORE_THREADS, rescore<StoredBf16>)
TOLLER_KERNEL(toller_ip_topk_rescore_f32, toller_rescore_args, TOLLER_RESCORE_THREADS, rescore<StoredF32>)

TOLLER_KERNEL(toller_ip_topk_best, toller_best_args, TOLLER_SELECT_THREADS, write_best)
