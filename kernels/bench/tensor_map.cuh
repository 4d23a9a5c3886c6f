// Tensor maps as the driver of the machine makes them. A program need not be linked with the driver.
#pragma once

#include <cuda.h>

#include "../tensor_map.h"
#include "bench.cuh"

static_assert(sizeof(toller_tensor_map) == sizeof(CUtensorMap) && alignof(toller_tensor_map) >= alignof(CUtensorMap), "as the driver's");

// Describes a matrix to bulk copies of `box` rows of 128 bytes, swizzled by 128 bytes, as crates/gpu does.
inline toller_tensor_map map_of(const void *matrix, uint64_t rows, uint64_t row_bytes, uint32_t box) {
    void *function = nullptr;
    cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
    CHECKED(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found));
#else
    CHECKED(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found));
#endif
    require(function != nullptr && found == cudaDriverEntryPointSuccess, "the driver has cuTensorMapEncodeTiled");
    toller_tensor_map map;
    const cuuint64_t sizes[] = {row_bytes, rows}, strides[] = {row_bytes};
    const cuuint32_t boxes[] = {128, box}, steps[] = {1, 1};
    const CUresult made = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function)(
        reinterpret_cast<CUtensorMap *>(&map), CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, const_cast<void *>(matrix), sizes, strides, boxes, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    require(made == CUDA_SUCCESS, "the matrix can be described");
    return map;
}
