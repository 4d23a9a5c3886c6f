// The products of linear layers for sm_80 and above: each type with several widths of the tile, and one with more
// stages for few rows.
#include "encoder/product.cuh"

#define TOLLER_PRODUCT(TYPE, NAME, STATES, ENGINE, STAGES, BLOCKS)                                                     \
    extern "C" __global__ void __launch_bounds__(TOLLER_PRODUCT_THREADS, BLOCKS)                                       \
        toller_encoder_product_##TYPE##_##NAME(const __grid_constant__ toller_product_args args) {                     \
        product<STATES, ENGINE, STAGES>(args);                                                                         \
    }

// The engines by the columns of a tile.
template <class States>
using Narrow = MmaSync<States, 64, 4>;
template <class States>
using Middle = MmaSync<States, 128, 2>;
template <class States>
using Wide = MmaSync<States, 256, 2>;
using SplitNarrow = SplitSync<64, 4>;
using SplitMiddle = SplitSync<128, 2>;

TOLLER_PRODUCT(f16, few, StatesF16, Narrow<StatesF16>, TOLLER_PRODUCT_STAGES_FEW, 1)
TOLLER_PRODUCT(f16, 64, StatesF16, Narrow<StatesF16>, TOLLER_PRODUCT_STAGES, 2)
TOLLER_PRODUCT(f16, 128, StatesF16, Middle<StatesF16>, TOLLER_PRODUCT_STAGES, 1)
TOLLER_PRODUCT(f16, 256, StatesF16, Wide<StatesF16>, TOLLER_PRODUCT_STAGES, 1)
TOLLER_PRODUCT(bf16, few, StatesBf16, Narrow<StatesBf16>, TOLLER_PRODUCT_STAGES_FEW, 1)
TOLLER_PRODUCT(bf16, 64, StatesBf16, Narrow<StatesBf16>, TOLLER_PRODUCT_STAGES, 2)
TOLLER_PRODUCT(bf16, 128, StatesBf16, Middle<StatesBf16>, TOLLER_PRODUCT_STAGES, 1)
TOLLER_PRODUCT(bf16, 256, StatesBf16, Wide<StatesBf16>, TOLLER_PRODUCT_STAGES, 1)
TOLLER_PRODUCT(f32, few, StatesF32, SplitNarrow, TOLLER_PRODUCT_STAGES_FEW, 1)
TOLLER_PRODUCT(f32, 64, StatesF32, SplitNarrow, TOLLER_PRODUCT_STAGES, 2)
TOLLER_PRODUCT(f32, 128, StatesF32, SplitMiddle, TOLLER_PRODUCT_STAGES, 1)
