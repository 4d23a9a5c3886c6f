/* The interface of the host shim: runs kernels by name on the CPU, for tests.
 *
 * Compile the .cpp files of this folder as C++17 with kernels/ on the include path (kernels.cpp includes every
 * .cu file). Nothing here is thread-safe: one launch at a time.
 */
#ifndef TOLLER_SHIM_H
#define TOLLER_SHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `bytes` of "device" memory, filled with 0xff (NaN as f16, bf16 and f32), aligned to 256; null if there is none.
 * Kernels may touch only memory that was allocated here. */
void *toller_shim_allocate(size_t bytes);
void toller_shim_free(void *memory);

/* Writes a tensor map (tensor_map.h) that the shim understands: of `rows` rows of `row_bytes` bytes, `stride`
 * bytes apart, whose boxes have `box_rows` rows of 128 bytes, swizzled, and zeros beyond the matrix.
 * Returns 0, or 1 for what the hardware does not allow. */
int toller_shim_tensor_map(void *map, const void *matrix, uint64_t row_bytes, uint64_t rows, uint64_t stride, uint32_t box_rows);

/* A linear layer in f16, as a library would compute it: out = x weight^T + bias (+ residual), in f32, rounded once.
 * `x` is [rows, depth], `weight` [outputs, depth], `bias` [outputs], `out` and `residual` (or null) [rows, outputs]. */
void toller_shim_linear_f16(const uint16_t *x, const uint16_t *weight, const uint16_t *bias, const uint16_t *residual, uint16_t *out,
                            uint32_t rows, uint32_t outputs, uint32_t depth);

/* Bytes of the struct that a kernel takes; 0 if there is no such kernel. */
size_t toller_shim_argument_bytes(const char *name);

/* Runs the blocks of a launch to their end, one after another. `args` is the kernel's struct.
 * Returns 0, or 1 with a text in `error` (cut to `error_bytes`, ended by a zero byte): an unknown kernel, a
 * wrong size of `args`, too much shared memory, or the kernel's mistake with its place (kernel, block, thread). */
int toller_shim_launch(const char *kernel, const void *args, size_t args_bytes, uint32_t grid_x, uint32_t grid_y,
                       uint32_t block_threads, uint32_t shared_bytes, char *error, size_t error_bytes);

#ifdef __cplusplus
}
#endif

#endif
