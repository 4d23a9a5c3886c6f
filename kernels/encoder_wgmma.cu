// The products of linear layers that only sm_90a can run: wide layers, with wgmma (see encoder.h).
#include "common/warpgroups.cuh"
#include "encoder/product.cuh"

// Other targets do not have these kernels; the compiler's host side needs their declarations.
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define TOLLER_PRODUCT_WGMMA(TYPE, STATES)                                                                             \
    extern "C" __global__ void __launch_bounds__(TOLLER_PRODUCT_THREADS, 1)                                            \
        toller_encoder_product_##TYPE##_wgmma(const __grid_constant__ toller_product_args args) {                      \
        product<STATES, Warpgroups<STATES>, TOLLER_PRODUCT_STAGES_WGMMA>(args);                                        \
    }

TOLLER_PRODUCT_WGMMA(f16, StatesF16)
TOLLER_PRODUCT_WGMMA(bf16, StatesBf16)

#endif
