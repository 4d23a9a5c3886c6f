// Attention for sm_80 and above: each type with three widths of heads.
#include "encoder/attention.cuh"

#define TOLLER_ATTENTION(TYPE, STATES, SIZE)                                                                           \
    extern "C" __global__ void __launch_bounds__(TOLLER_ATTENTION_THREADS)                                             \
        toller_encoder_attention_##TYPE##_##SIZE(const __grid_constant__ toller_attention_args args) {                 \
        attend<STATES, SIZE>(args);                                                                                    \
    }

#define TOLLER_ATTENTIONS(TYPE, STATES)                                                                                \
    TOLLER_ATTENTION(TYPE, STATES, 32)                                                                                 \
    TOLLER_ATTENTION(TYPE, STATES, 64)                                                                                 \
    TOLLER_ATTENTION(TYPE, STATES, 128)

TOLLER_ATTENTIONS(f16, StatesF16)
TOLLER_ATTENTIONS(bf16, StatesBf16)
TOLLER_ATTENTIONS(f32, StatesF32)
