// Arrays in global and shared memory with their lengths: plain pointers on a device, checked in the shim.
#pragma once

#include <stdint.h>

#ifdef TOLLER_SHIM
#include "../shim/device.h"
#else

// `len` values in global memory. The compiler drops the length, which nothing on the device reads.
template <class T>
struct Global {
    T *data;
    uint64_t len;

    __device__ T &operator[](uint64_t i) const { return data[i]; }
};

// `len` values in shared memory.
template <class T>
struct Shared {
    T *data;
    uint32_t len;

    __device__ T &operator[](uint32_t i) const { return data[i]; }
    // Atomically adds `value` at `i`; returns the old value.
    __device__ T add(uint32_t i, T value) const { return atomicAdd(data + i, value); }
};

// The block's dynamic shared memory.
__device__ inline unsigned char *dynamic_shared() {
    extern __shared__ __align__(1024) unsigned char toller_dynamic_shared[];
    return toller_dynamic_shared;
}

// `len` values that begin `offset` bytes into the dynamic shared memory.
template <class T>
__device__ inline Shared<T> shared_array(uint32_t offset, uint32_t len) {
    return {reinterpret_cast<T *>(dynamic_shared() + offset), len};
}

// The address of a byte of the dynamic shared memory, in the form that instructions take.
__device__ inline uint32_t shared_address(uint32_t offset) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(dynamic_shared())) + offset;
}

#endif

// `len` values from `data` on; null is an empty array.
template <class T>
__device__ inline Global<T> global_array(T *data, uint64_t len) {
    return {data, data == nullptr ? 0 : len};
}
