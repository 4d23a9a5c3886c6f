// The scan kernels with bulk tensor copies, which only sm_90a can run: many queries (see ip_topk.h).
#include "ip_topk/scan_tma.cuh"

// Other targets do not have these kernels; the compiler's host side needs their declarations.
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define TOLLER_SCAN_TMA(TYPE, FORMAT)                                                                                  \
    extern "C" __global__ void __launch_bounds__(TOLLER_SCAN_TMA_THREADS, 1)                                           \
        toller_ip_topk_scan_##TYPE##_tma(const __grid_constant__ toller_scan_tma_args args) {                          \
        scan_tma<FORMAT>(args);                                                                                        \
    }

TOLLER_SCAN_TMA(f16, F16)
TOLLER_SCAN_TMA(bf16, Bf16)
TOLLER_SCAN_TMA(f32, Tf32)
TOLLER_SCAN_TMA(int8, Int8)

#endif
