/* A matrix as bulk tensor copies see it. Plain C, as ip_topk.h.
 *
 * The driver's cuTensorMapEncodeTiled writes it, and nobody else knows what it means; the shim has its own.
 * A kernel takes it by value, inside its __grid_constant__ argument.
 */
#ifndef TOLLER_TENSOR_MAP_H
#define TOLLER_TENSOR_MAP_H

#include <stdint.h>

typedef struct {
#ifdef __cplusplus
    alignas(128) uint64_t words[16];
#else
    _Alignas(128) uint64_t words[16];
#endif
} toller_tensor_map;

#endif
