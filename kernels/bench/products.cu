// A matrix product alone, as the next main loop of the scan and of the encoder would make it: C = A B^T of
// f16 with f32 sums.
//
// One warpgroup copies slices of 64 numbers with bulk tensor copies (TMA); two or three others multiply 64
// rows each with wgmma. They meet only at mbarriers. Two shapes of the tile are compared. sm_90a alone has
// these instructions.
#include <cuda.h>

#include "../common/wgmma.cuh"
#include "bench.cuh"

constexpr uint32_t SLICE = 64, SLICE_BYTES = SLICE * 2, STAGES = 4, GROUP = 128, GROUP_ROWS = 64;

struct Sizes {
    uint32_t rows, columns, depth;
};

// The sums of one warpgroup: 64 rows x 8 * FRAGMENTS columns.
template <int FRAGMENTS>
__device__ void multiply(float (&sums)[FRAGMENTS][4], uint64_t a, uint64_t b);

template <>
__device__ void multiply(float (&sums)[32][4], uint64_t a, uint64_t b) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    wgmma_f16(sums, a, b);
#endif
}

#define FOUR(N) "+f"(c[N][0]), "+f"(c[N][1]), "+f"(c[N][2]), "+f"(c[N][3])
#define SIXTEEN(N) FOUR(N), FOUR((N) + 1), FOUR((N) + 2), FOUR((N) + 3)

template <>
__device__ void multiply(float (&c)[24][4], uint64_t a, uint64_t b) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile(
        "{.reg .pred always; setp.eq.u32 always, 0, 0; wgmma.mma_async.sync.aligned.m64n192k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}, "
        "%96, %97, always, 1, 1, 0, 0;}"
        : SIXTEEN(0), SIXTEEN(4), SIXTEEN(8), SIXTEEN(12), SIXTEEN(16), SIXTEEN(20)
        : "l"(a), "l"(b));
#endif
}

__device__ inline uint32_t address_of(const void *shared) { return static_cast<uint32_t>(__cvta_generic_to_shared(shared)); }

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__device__ inline void barrier_init(uint64_t *barrier, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_of(barrier)), "r"(arrivals) : "memory");
}

__device__ inline void barrier_expect(uint64_t *barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(barrier)), "r"(bytes) : "memory");
}

__device__ inline void barrier_arrive(uint64_t *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address_of(barrier)) : "memory");
}

__device__ inline void barrier_wait(uint64_t *barrier, uint32_t parity) {
    uint32_t done = 0;
    while (done == 0) {
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                     : "=r"(done)
                     : "r"(address_of(barrier)), "r"(parity)
                     : "memory");
    }
}

__device__ inline void copy_slice(const void *to, const CUtensorMap *from, uint64_t *barrier, uint32_t column, uint32_t row) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
                     address_of(to)),
                 "l"(from), "r"(address_of(barrier)), "r"(column), "r"(row)
                 : "memory");
}
#endif

// `out` is [rows, columns], or null: then the sums are computed and not written.
template <int CONSUMERS, int FRAGMENTS, int PRODUCER_REGISTERS, int CONSUMER_REGISTERS>
__device__ void product(const CUtensorMap *a, const CUtensorMap *b, const Sizes &sizes, float *out) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    constexpr uint32_t ROWS = CONSUMERS * GROUP_ROWS, COLUMNS = FRAGMENTS * 8;
    constexpr uint32_t A_BYTES = ROWS * SLICE_BYTES, STAGE_BYTES = A_BYTES + COLUMNS * SLICE_BYTES;
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    unsigned char *stages = shared + (1024 - address_of(shared) % 1024) % 1024;
    const uint32_t group = threadIdx.x / GROUP, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        for (uint32_t i = 0; i < STAGES; ++i) barrier_init(&full[i], 1), barrier_init(&empty[i], CONSUMERS * GROUP / 32);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    const uint32_t across = (sizes.columns + COLUMNS - 1) / COLUMNS, tiles = (sizes.rows + ROWS - 1) / ROWS * across;
    const uint32_t slices = (sizes.depth + SLICE - 1) / SLICE;
    uint32_t stage = 0;
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
        if (threadIdx.x != 0) return;
        // An empty stage has the parity of the phase before the first.
        uint32_t parity = 1;
        for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            for (uint32_t slice = 0; slice < slices; ++slice) {
                barrier_wait(&empty[stage], parity);
                barrier_expect(&full[stage], STAGE_BYTES);
                unsigned char *to = stages + stage * STAGE_BYTES;
                copy_slice(to, a, &full[stage], slice * SLICE, tile / across * ROWS);
                copy_slice(to + A_BYTES, b, &full[stage], slice * SLICE, tile % across * COLUMNS);
                if (++stage == STAGES) stage = 0, parity ^= 1;
            }
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMER_REGISTERS));
    uint32_t parity = 0;
    float sums[FRAGMENTS][4];
    for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
#pragma unroll
        for (int n = 0; n < FRAGMENTS; ++n) sums[n][0] = sums[n][1] = sums[n][2] = sums[n][3] = 0;
        for (uint32_t slice = 0; slice < slices; ++slice) {
            barrier_wait(&full[stage], parity);
            const uint32_t at = address_of(stages + stage * STAGE_BYTES);
            const uint64_t of_a = matrix_descriptor(at + (group - 1) * GROUP_ROWS * SLICE_BYTES), of_b = matrix_descriptor(at + A_BYTES);
            wgmma_fence();
#pragma unroll
            for (uint32_t step = 0; step < SLICE_BYTES / 32; ++step) multiply<FRAGMENTS>(sums, of_a + step * 2, of_b + step * 2);
            wgmma_commit();
            wgmma_wait<0>();
            if (lane == 0) barrier_arrive(&empty[stage]);
            if (++stage == STAGES) stage = 0, parity ^= 1;
        }
#pragma unroll
        for (int n = 0; n < FRAGMENTS; ++n) {
            asm volatile("" : "+f"(sums[n][0]), "+f"(sums[n][1]), "+f"(sums[n][2]), "+f"(sums[n][3])::"memory");
        }
        const uint32_t row = tile / across * ROWS + (group - 1) * GROUP_ROWS + threadIdx.x % GROUP / 32 * 16 + lane / 4;
        const uint32_t column = tile % across * COLUMNS + lane % 4 * 2;
        if (out == nullptr) continue;
#pragma unroll
        for (int n = 0; n < FRAGMENTS; ++n) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const uint32_t r = row + i / 2 * 8, c = column + n * 8 + i % 2;
                if (r < sizes.rows && c < sizes.columns) out[uint64_t{r} * sizes.columns + c] = sums[n][i];
            }
        }
    }
#endif
}

#define BENCH_PRODUCT(NAME, CONSUMERS, FRAGMENTS, PRODUCER, CONSUMER)                                                  \
    extern "C" __global__ void __launch_bounds__((CONSUMERS + 1) * GROUP, 1)                                           \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, Sizes sizes, float *out) {  \
        product<CONSUMERS, FRAGMENTS, PRODUCER, CONSUMER>(&a, &b, sizes, out);                                         \
    }
BENCH_PRODUCT(bench_product_192x192, 3, 24, 32, 160)
BENCH_PRODUCT(bench_product_128x256, 2, 32, 40, 232)

extern "C" __global__ void __launch_bounds__(256) bench_fill(uint16_t *to, uint64_t count, uint64_t seed) {
    for (uint64_t i = blockIdx.x * uint64_t{256} + threadIdx.x; i < count; i += gridDim.x * uint64_t{256}) {
        // f16 between 1/2 and 1, of either sign.
        to[i] = static_cast<uint16_t>(mixed(i + (seed << 40)) & 0x83ff) | 0x3800;
    }
}

namespace {

struct Shape {
    const char *name;
    void (*kernel)(CUtensorMap, CUtensorMap, Sizes, float *);
    uint32_t consumers, rows, columns;
};
const Shape SHAPES[] = {{"192 x 192", bench_product_192x192, 3, 3 * GROUP_ROWS, 192},
                        {"128 x 256", bench_product_128x256, 2, 2 * GROUP_ROWS, 256}};

using Encode = decltype(&cuTensorMapEncodeTiled);

Encode encoder() {
    void *function = nullptr;
    cudaDriverEntryPointQueryResult found;
    CHECKED(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found));
    require(function != nullptr && found == cudaDriverEntryPointSuccess, "the driver has cuTensorMapEncodeTiled");
    return reinterpret_cast<Encode>(function);
}

// Describes a matrix [rows, depth] to bulk copies of `box` rows of a slice, swizzled by 128 bytes.
CUtensorMap map_of(Encode encode, uint16_t *matrix, uint32_t rows, uint32_t depth, uint32_t box) {
    CUtensorMap map;
    const cuuint64_t sizes[] = {depth, rows}, strides[] = {uint64_t{depth} * 2};
    const cuuint32_t boxes[] = {SLICE, box}, steps[] = {1, 1};
    const CUresult made = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, matrix, sizes, strides, boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    require(made == CUDA_SUCCESS, "the matrix can be described");
    return map;
}

double f16(uint16_t bits) {
    const double magnitude = (1024 + (bits & 0x3ff)) * 0x1p-11;
    return bits >> 15 ? -magnitude : magnitude;
}

void measure(const Machine &machine, Encode encode, const Shape &shape, const Sizes &sizes, bool writes) {
    const Array<uint16_t> a(uint64_t{sizes.rows} * sizes.depth), b(uint64_t{sizes.columns} * sizes.depth);
    const Array<float> out(writes ? uint64_t{sizes.rows} * sizes.columns : 1);
    bench_fill<<<machine.multiprocessors * 8, 256>>>(a.data(), uint64_t{sizes.rows} * sizes.depth, 1);
    bench_fill<<<machine.multiprocessors * 8, 256>>>(b.data(), uint64_t{sizes.columns} * sizes.depth, 2);
    CHECKED(cudaDeviceSynchronize());
    const CUtensorMap map_a = map_of(encode, a.data(), sizes.rows, sizes.depth, shape.rows);
    const CUtensorMap map_b = map_of(encode, b.data(), sizes.columns, sizes.depth, shape.columns);
    const int shared = static_cast<int>(STAGES * (shape.rows + shape.columns) * SLICE_BYTES + 1024);
    CHECKED(cudaFuncSetAttribute(shape.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    const float time = milliseconds(machine, [] {}, [&] {
        shape.kernel<<<machine.multiprocessors, (shape.consumers + 1) * GROUP, shared>>>(map_a, map_b, sizes, writes ? out.data() : nullptr);
    });
    if (writes) {
        const auto numbers_a = a.read(), numbers_b = b.read();
        const auto sums = out.read();
        for (uint32_t i = 0; i < 2000; ++i) {
            const uint32_t row = i * 7919u % sizes.rows, column = i * 104729u % sizes.columns;
            double expected = 0;
            for (uint32_t d = 0; d < sizes.depth; ++d) {
                expected += f16(numbers_a[uint64_t{row} * sizes.depth + d]) * f16(numbers_b[uint64_t{column} * sizes.depth + d]);
            }
            const double error = sums[uint64_t{row} * sizes.columns + column] - expected;
            require(error < 0.01 && error > -0.01, "the sums are those of f64");
        }
    }
    const double operations = 2.0 * sizes.rows * sizes.columns * sizes.depth;
    std::printf("{\"product\": \"%s\", \"Rows\": %u, \"Columns\": %u, \"Depth\": %u, \"writes\": \"%s\", \"Ms\": %.4f, \"TFLOP/s\": %.1f}\n",
                shape.name, sizes.rows, sizes.columns, sizes.depth, writes ? "yes" : "no", time, operations / time * 1e-9);
    std::fflush(stdout);
}

} // namespace

int main(int count, char **arguments) {
    const auto machine = Machine::of(count, arguments);
    if (!machine.is_hopper()) return 0;
    const Encode encode = encoder();
    for (const Shape &shape : SHAPES) {
        // Parts of tiles, then a batch of an encoder's tokens, then the scan of a million vectors.
        measure(machine, encode, shape, {1000, 500, 136}, true);
        measure(machine, encode, shape, {25344, 3072, 768}, true);
        measure(machine, encode, shape, {1 << 20, 6980, 768}, false);
    }
}
