// Attention for sm_80 and above: each type with three widths of heads, and those of two bytes with a fourth.
#include "encoder/attention.cuh"

// Blocks of a multiprocessor, at least; 0 leaves it to the compiler.
#define TOLLER_ATTENTION(TYPE, STATES, SIZE, BLOCKS)                                                                   \
    extern "C" __global__ void __launch_bounds__(TOLLER_ATTENTION_THREADS, BLOCKS)                                     \
        toller_encoder_attention_##TYPE##_##SIZE(const __grid_constant__ toller_attention_args args) {                 \
        attend<STATES, SIZE>(args);                                                                                    \
    }

TOLLER_ATTENTION(f16, StatesF16, 32, 4)
TOLLER_ATTENTION(f16, StatesF16, 64, 4)
TOLLER_ATTENTION(f16, StatesF16, 128, 0)
TOLLER_ATTENTION(f16, StatesF16, 256, 0)
TOLLER_ATTENTION(bf16, StatesBf16, 32, 4)
TOLLER_ATTENTION(bf16, StatesBf16, 64, 4)
TOLLER_ATTENTION(bf16, StatesBf16, 128, 0)
TOLLER_ATTENTION(bf16, StatesBf16, 256, 0)
TOLLER_ATTENTION(f32, StatesF32, 32, 0)
TOLLER_ATTENTION(f32, StatesF32, 64, 0)
TOLLER_ATTENTION(f32, StatesF32, 128, 0)
