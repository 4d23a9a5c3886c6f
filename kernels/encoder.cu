// The transformer's steps between products. encoder.h has their arguments.
#include "encoder/activation.cuh"
#include "encoder/heads.cuh"
#include "encoder/norm.cuh"
#include "encoder/pool.cuh"
#include "encoder/prefix.cuh"

#define TOLLER_STEP(NAME, ARGS, FUNCTION)                                                                              \
    extern "C" __global__ void __launch_bounds__(TOLLER_NORM_THREADS, 3) NAME(const __grid_constant__ ARGS args) { FUNCTION(args); }

#define TOLLER_STEPS(TYPE, STATES)                                                                                     \
    TOLLER_STEP(toller_encoder_embed_##TYPE, toller_embed_args, embed<STATES>)                                         \
    TOLLER_STEP(toller_encoder_norm_##TYPE, toller_norm_args, normalize<STATES>)                                       \
    TOLLER_STEP(toller_encoder_heads_##TYPE, toller_heads_args, prepare_heads<STATES>)                                 \
    TOLLER_STEP(toller_encoder_prefix_##TYPE, toller_prefix_args, put_prefix<STATES>)                                  \
    TOLLER_STEP(toller_encoder_pool_##TYPE, toller_pool_args, pool<STATES>)

TOLLER_STEPS(f16, StatesF16)
TOLLER_STEPS(bf16, StatesBf16)
TOLLER_STEPS(f32, StatesF32)
TOLLER_STEP(toller_encoder_norm_wide_bf16, toller_norm_args, normalize_wide)
TOLLER_STEP(toller_encoder_activate_f16, toller_activate_args, activate_rows<StatesF16>)
TOLLER_STEP(toller_encoder_rows_f32, toller_rows_args, write_rows)
