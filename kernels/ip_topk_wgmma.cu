// The scan kernels that only sm_90a can run: many queries, with wgmma (see ip_topk.h).
#include "common/warpgroups.cuh"
#include "ip_topk/scan.cuh"

// Other targets do not have these kernels; the compiler's host side needs their declarations.
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define TOLLER_SCAN_WGMMA(TYPE, FORMAT)                                                                                \
    extern "C" __global__ void __launch_bounds__(TOLLER_SCAN_THREADS, TOLLER_SCAN_BLOCKS_WGMMA)                        \
        toller_ip_topk_scan_##TYPE##_wgmma(const __grid_constant__ toller_scan_args args) {                            \
        scan<FORMAT, Warpgroups<FORMAT>, TOLLER_SCAN_STAGES_WGMMA>(args);                                              \
    }

TOLLER_SCAN_WGMMA(f16, F16)
TOLLER_SCAN_WGMMA(bf16, Bf16)
TOLLER_SCAN_WGMMA(f32, Tf32)
TOLLER_SCAN_WGMMA(int8, Int8)

#endif
