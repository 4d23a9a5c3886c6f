// Replaces CUDA for kernels that are compiled for the host: CUDA's keywords and intrinsics, and the functions
// of common/memory.cuh and common/instructions.cuh.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "../tensor_map.h"
#include "block.h"
#include "global_memory.h"

#define __global__
#define __device__
#define __launch_bounds__(...)
#define __grid_constant__

#define threadIdx (::toller_shim::running().index)
#define blockIdx (::toller_shim::block().index())
#define gridDim (::toller_shim::block().grid())
#define blockDim (::toller_shim::Index{::toller_shim::block().thread_count(), 1, 1})

using std::max;
using std::min;

// ---- Arrays (common/memory.cuh). ----

template <class T>
struct Global {
    T *data;
    uint64_t len;

    T &operator[](uint64_t i) const {
        if (i >= len) {
            toller_shim::fail("touches element " + std::to_string(i) + " of a global array of " + std::to_string(len));
        }
        toller_shim::check_global(data + i, sizeof(T));
        return data[i];
    }
};

// An element of shared memory, which distinguishes reads from writes.
template <class T>
class SharedElement {
  public:
    explicit SharedElement(uint32_t offset) : offset(offset) {}

    operator T() const { // NOLINT: as a reference converts to its value
        T value;
        std::memcpy(&value, place(toller_shim::Access::Read), sizeof(T));
        return value;
    }

    const SharedElement &operator=(const T &value) const {
        std::memcpy(place(toller_shim::Access::Write), &value, sizeof(T));
        return *this;
    }

  private:
    uint32_t offset;

    unsigned char *place(toller_shim::Access access) const {
        return toller_shim::block().shared.touch(offset, sizeof(T), access);
    }
};

template <class T>
struct Shared {
    uint32_t offset, len;

    SharedElement<T> operator[](uint32_t i) const { return SharedElement<T>(offset_of(i)); }

    T add(uint32_t i, T value) const {
        unsigned char *place = toller_shim::block().shared.touch(offset_of(i), sizeof(T), toller_shim::Access::Atomic);
        T before;
        std::memcpy(&before, place, sizeof(T));
        const T after = before + value;
        std::memcpy(place, &after, sizeof(T));
        return before;
    }

  private:
    uint32_t offset_of(uint32_t i) const {
        if (i >= len) {
            toller_shim::fail("touches element " + std::to_string(i) + " of a shared array of " + std::to_string(len));
        }
        return offset + i * static_cast<uint32_t>(sizeof(T));
    }
};

template <class T>
Shared<T> shared_array(uint32_t offset, uint32_t len) {
    Shared<T> array{};
    array.offset = offset, array.len = len;
    return array;
}

// The dynamic shared memory begins at address 256: kernels align it themselves.
constexpr uint32_t SHARED_START = 256;

inline uint32_t shared_address(uint32_t offset) { return SHARED_START + offset; }

// ---- Barriers and exchange within a warp. ----

void __syncthreads();
void __syncwarp();
uint32_t __ballot_sync(uint32_t mask, bool flag);
uint32_t __reduce_or_sync(uint32_t mask, uint32_t value);
uint32_t __match_any_sync(uint32_t mask, uint32_t value);

namespace toller_shim {

// `value` of the lane that `source` picks by the own lane's number; the own value if there is no such lane.
uint64_t exchange(const char *operation, uint32_t mask, uint64_t value, uint32_t source);

template <class T>
T exchange_any(const char *operation, uint32_t mask, T value, uint32_t source) {
    static_assert(sizeof(T) <= 8, "at most a double");
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    bits = exchange(operation, mask, bits, source);
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

inline uint32_t lane() { return running().lane(); }

} // namespace toller_shim

template <class T>
T __shfl_sync(uint32_t mask, T value, uint32_t source) {
    return toller_shim::exchange_any("__shfl_sync", mask, value, source % 32);
}

template <class T>
T __shfl_xor_sync(uint32_t mask, T value, uint32_t lanes) {
    return toller_shim::exchange_any("__shfl_xor_sync", mask, value, toller_shim::lane() ^ lanes);
}

template <class T>
T __shfl_up_sync(uint32_t mask, T value, uint32_t lanes) {
    const uint32_t own = toller_shim::lane();
    return toller_shim::exchange_any("__shfl_up_sync", mask, value, own < lanes ? own : own - lanes);
}

template <class T>
T __shfl_down_sync(uint32_t mask, T value, uint32_t lanes, uint32_t width = 32) {
    const uint32_t own = toller_shim::lane(), source = own + lanes;
    return toller_shim::exchange_any("__shfl_down_sync", mask, value, source / width == own / width ? source : own);
}

// ---- Arithmetic. ----

inline int __popc(uint32_t x) { return __builtin_popcount(x); }
inline int __ffs(uint32_t x) { return __builtin_ffs(static_cast<int>(x)); }

template <class To, class From>
To toller_shim_bits(From from) {
    To to;
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    std::memcpy(&to, &from, sizeof(to));
    return to;
}

inline float __uint_as_float(uint32_t x) { return toller_shim_bits<float>(x); }
inline uint32_t __float_as_uint(float x) { return toller_shim_bits<uint32_t>(x); }
inline int32_t __float_as_int(float x) { return toller_shim_bits<int32_t>(x); }
// Within two units of the last place on a GPU.
inline float __fdividef(float a, float b) { return a / b; }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
// As inexact as the instruction may be.
inline float exp2_approximate(float x) {
    const float y = std::exp2(x) * (1 + std::ldexp(1.0f, -22));
    return std::fpclassify(y) == FP_SUBNORMAL ? 0.0f : y;
}
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
// Rounded up, down, to the nearest.
float __double2float_ru(double x);
float __double2float_rd(double x);
inline float __double2float_rn(double x) { return static_cast<float>(x); }
// The product of two f32 is exact in f64; the sum is then rounded twice, the second time up: an upper bound.
inline float __fmaf_ru(float a, float b, float c) {
    return __double2float_ru(std::nextafter(static_cast<double>(a) * b + c, HUGE_VAL));
}

template <class T>
T atomicAdd(T *at, T value) {
    const T before = *at;
    *at = before + value;
    return before;
}

template <class T>
T atomicMax(T *at, T value) {
    toller_shim::check_global(at, sizeof(T));
    const T before = *at;
    if (value > before) *at = value;
    return before;
}

// ---- Instructions (common/instructions.cuh). ----

void cp_async_16(uint32_t to, const void *from, bool present);
void cp_async_commit();

namespace toller_shim {
void wait_for_copies(size_t pending);
void wait_for_products(size_t pending);
} // namespace toller_shim

template <int PENDING>
void cp_async_wait() {
    toller_shim::wait_for_copies(PENDING);
}

void ldmatrix_x4(uint32_t (&to)[4], uint32_t row);
void ldmatrix_x2(uint32_t (&to)[2], uint32_t row);
void ldmatrix_x4_transposed(uint32_t (&to)[4], uint32_t row);
void mma_f16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);
void mma_bf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);
void mma_tf32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);
void mma_int8(int32_t (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);

float f16_to_f32(uint16_t x);
uint16_t f32_to_f16(float x);
uint32_t f32_to_f16x2(float low, float high);
uint32_t f32_to_bf16x2(float low, float high);
uint32_t f32_to_tf32(float x);

// ---- Products of a warpgroup (common/wgmma.cuh). ----

void fence_proxy_async();
void wgmma_fence();
void wgmma_commit();

template <int PENDING>
void wgmma_wait() {
    toller_shim::wait_for_products(PENDING);
}

template <class Sum, int COLUMNS>
void wgmma_settle(Sum (&)[COLUMNS][4]) {}

#define TOLLER_SHIM_WGMMA(COLUMNS)                                                                                     \
    void wgmma_f16(float (&c)[COLUMNS][4], uint64_t a, uint64_t b);                                                    \
    void wgmma_bf16(float (&c)[COLUMNS][4], uint64_t a, uint64_t b);                                                   \
    void wgmma_tf32(float (&c)[COLUMNS][4], uint64_t a, uint64_t b);                                                   \
    void wgmma_int8(int32_t (&c)[COLUMNS][4], uint64_t a, uint64_t b);
TOLLER_SHIM_WGMMA(24)
#undef TOLLER_SHIM_WGMMA

// ---- Barriers in shared memory, bulk copies and registers (common/bulk.cuh). ----

void barrier_make(uint32_t barrier, uint32_t arrivals);
void barrier_make_fence();
void barrier_arrive(uint32_t barrier);
void barrier_arrive_expecting(uint32_t barrier, uint32_t bytes);
void barrier_wait(uint32_t barrier, uint32_t parity);
void copy_bulk(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier);
void copy_box(uint32_t to, const toller_tensor_map *map, uint32_t byte, uint32_t row, uint32_t barrier);

namespace toller_shim {
void keep_registers_of_group(uint32_t count);
void take_registers_for_group(uint32_t count);
} // namespace toller_shim

template <uint32_t COUNT>
void keep_registers() {
    toller_shim::keep_registers_of_group(COUNT);
}

template <uint32_t COUNT>
void take_registers() {
    toller_shim::take_registers_for_group(COUNT);
}
