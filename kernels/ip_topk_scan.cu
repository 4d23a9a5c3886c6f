// The scan kernels for sm_80 and above: each stored type with three widths of the query tile.
#include "ip_topk/scan.cuh"

#define TOLLER_SCAN(TYPE, FORMAT, QUERIES, ROW_WARPS)                                                                  \
    extern "C" __global__ void __launch_bounds__(TOLLER_SCAN_THREADS, TOLLER_SCAN_BLOCKS_##QUERIES)                    \
        toller_ip_topk_scan_##TYPE##_##QUERIES(const __grid_constant__ toller_scan_args args) {                        \
        scan<FORMAT, MmaSync<FORMAT, QUERIES, ROW_WARPS>, TOLLER_SCAN_STAGES_##QUERIES>(args);                         \
    }

#define TOLLER_SCANS(TYPE, FORMAT)                                                                                     \
    TOLLER_SCAN(TYPE, FORMAT, 8, 8)                                                                                    \
    TOLLER_SCAN(TYPE, FORMAT, 64, 4)                                                                                   \
    TOLLER_SCAN(TYPE, FORMAT, 256, 2)

TOLLER_SCANS(f16, F16)
TOLLER_SCANS(bf16, Bf16)
TOLLER_SCANS(f32, Tf32)
TOLLER_SCANS(int8, Int8)
