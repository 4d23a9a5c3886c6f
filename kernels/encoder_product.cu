// The products of linear layers for sm_80 and above: each type with several widths of the tile.
#include "encoder/product.cuh"

#define TOLLER_PRODUCT(TYPE, STATES, ENGINE, COLUMNS)                                                                  \
    extern "C" __global__ void __launch_bounds__(TOLLER_PRODUCT_THREADS, TOLLER_PRODUCT_BLOCKS_##COLUMNS)              \
        toller_encoder_product_##TYPE##_##COLUMNS(const __grid_constant__ toller_product_args args) {                  \
        product<STATES, ENGINE, TOLLER_PRODUCT_STAGES>(args);                                                          \
    }

#define TOLLER_MMA_ENGINE(STATES, COLUMNS, ROW_WARPS) MmaSync<STATES, COLUMNS, ROW_WARPS>
#define TOLLER_SPLIT_ENGINE(COLUMNS, ROW_WARPS) SplitSync<COLUMNS, ROW_WARPS>

TOLLER_PRODUCT(f16, StatesF16, TOLLER_MMA_ENGINE(StatesF16, 64, 4), 64)
TOLLER_PRODUCT(f16, StatesF16, TOLLER_MMA_ENGINE(StatesF16, 128, 2), 128)
TOLLER_PRODUCT(f16, StatesF16, TOLLER_MMA_ENGINE(StatesF16, 256, 2), 256)
TOLLER_PRODUCT(bf16, StatesBf16, TOLLER_MMA_ENGINE(StatesBf16, 64, 4), 64)
TOLLER_PRODUCT(bf16, StatesBf16, TOLLER_MMA_ENGINE(StatesBf16, 128, 2), 128)
TOLLER_PRODUCT(bf16, StatesBf16, TOLLER_MMA_ENGINE(StatesBf16, 256, 2), 256)
TOLLER_PRODUCT(f32, StatesF32, TOLLER_SPLIT_ENGINE(64, 4), 64)
TOLLER_PRODUCT(f32, StatesF32, TOLLER_SPLIT_ENGINE(128, 2), 128)
