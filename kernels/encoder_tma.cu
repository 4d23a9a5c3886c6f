// The products of wide layers with bulk tensor copies, which only sm_90a can run (see encoder.h).
#include "encoder/product_tma.cuh"

// Other targets do not have these kernels; the compiler's host side needs their declarations.
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define TOLLER_PRODUCT_TMA(TYPE, STATES)                                                                               \
    extern "C" __global__ void __launch_bounds__(TOLLER_PRODUCT_TMA_THREADS, 1)                                        \
        toller_encoder_product_##TYPE##_tma(const __grid_constant__ toller_product_tma_args args) {                    \
        product_tma<STATES>(args);                                                                                     \
    }

TOLLER_PRODUCT_TMA(f16, StatesF16)
TOLLER_PRODUCT_TMA(bf16, StatesBf16)

#endif
