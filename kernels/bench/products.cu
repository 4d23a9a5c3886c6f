// A matrix product alone, with the main loop of the scan with bulk copies: C = A B^T of f16 with f32 sums.
//
// One warpgroup copies slices of 64 numbers with bulk tensor copies (TMA); two or three others multiply 64
// rows each with wgmma. They meet only at mbarriers. Two shapes of the tile are compared. Only sm_90a has
// these instructions.
#include "../common/products.cuh"
#include "../common/ring.cuh"
#include "../common/warpgroups.cuh"
#include "tensor_map.cuh"

constexpr uint32_t STAGES = 4, GROUP = 128, GROUP_ROWS = 64;

// Depth is in numbers.
struct Sizes {
    uint32_t rows, columns, depth;
};

// `out` is [rows, columns], or null: then the sums are computed and not written.
template <int CONSUMERS, int FRAGMENTS, int PRODUCER_REGISTERS, int CONSUMER_REGISTERS>
__device__ void product(const toller_tensor_map *a, const toller_tensor_map *b, const Sizes &sizes, float *out) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    constexpr uint32_t ROWS = CONSUMERS * GROUP_ROWS, COLUMNS = FRAGMENTS * 8;
    constexpr uint32_t A_BYTES = ROWS * SLICE_BYTES, STAGE_BYTES = A_BYTES + COLUMNS * SLICE_BYTES;
    const uint32_t stages = shared_address(aligned_shared());
    auto ring = Ring<STAGES>::at(stages + STAGES * STAGE_BYTES);
    if (threadIdx.x == 0) {
        ring.make(CONSUMERS * GROUP / 32);
        barrier_make_fence();
    }
    __syncthreads();
    const uint32_t across = (sizes.columns + COLUMNS - 1) / COLUMNS, tiles = (sizes.rows + ROWS - 1) / ROWS * across;
    const uint32_t slices = (sizes.depth * 2 + SLICE_BYTES - 1) / SLICE_BYTES;
    if (threadIdx.x < GROUP) {
        keep_registers<PRODUCER_REGISTERS>();
        if (threadIdx.x != 0) return;
        for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            for (uint32_t slice = 0; slice < slices; ++slice, ring.next()) {
                ring.begin_to_fill(STAGE_BYTES);
                const uint32_t to = stages + ring.stage * STAGE_BYTES;
                copy_box(to, a, slice * SLICE_BYTES, tile / across * ROWS, ring.barrier());
                copy_box(to + A_BYTES, b, slice * SLICE_BYTES, tile % across * COLUMNS, ring.barrier());
            }
        }
        return;
    }
    take_registers<CONSUMER_REGISTERS>();
    Warpgroups<ProductsF16, FRAGMENTS, 1> engine;
    for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        engine.clear();
        for (uint32_t slice = 0; slice < slices; ++slice, ring.next()) {
            ring.wait();
            const uint32_t at = stages + ring.stage * STAGE_BYTES;
            engine.multiply(at, at + A_BYTES);
            ring.release();
        }
        engine.finish();
        const uint32_t lane = threadIdx.x % 32;
        const uint32_t row = tile / across * ROWS + engine.first_row() + lane / 4, column = tile % across * COLUMNS + lane % 4 * 2;
        if (out == nullptr) continue;
#pragma unroll
        for (int n = 0; n < FRAGMENTS; ++n) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const uint32_t r = row + i / 2 * 8, c = column + n * 8 + i % 2;
                if (r < sizes.rows && c < sizes.columns) out[uint64_t{r} * sizes.columns + c] = engine.sums[n][i];
            }
        }
    }
#endif
}

#define BENCH_PRODUCT(NAME, CONSUMERS, FRAGMENTS, PRODUCER, CONSUMER)                                                  \
    extern "C" __global__ void __launch_bounds__((CONSUMERS + 1) * GROUP, 1)                                           \
        NAME(const __grid_constant__ toller_tensor_map a, const __grid_constant__ toller_tensor_map b, Sizes sizes,    \
             float *out) {                                                                                             \
        product<CONSUMERS, FRAGMENTS, PRODUCER, CONSUMER>(&a, &b, sizes, out);                                         \
    }
BENCH_PRODUCT(bench_product_192x192, 3, 24, 32, 160)
BENCH_PRODUCT(bench_product_128x192, 2, 24, 40, 232)

extern "C" __global__ void __launch_bounds__(256) bench_fill(uint16_t *to, uint64_t count, uint64_t seed) {
    for (uint64_t i = blockIdx.x * uint64_t{256} + threadIdx.x; i < count; i += gridDim.x * uint64_t{256}) {
        // f16 between 1/2 and 1, of either sign.
        to[i] = static_cast<uint16_t>(mixed(i + (seed << 40)) & 0x83ff) | 0x3800;
    }
}

namespace {

struct Shape {
    const char *name;
    void (*kernel)(toller_tensor_map, toller_tensor_map, Sizes, float *);
    uint32_t consumers, rows, columns;
};
const Shape SHAPES[] = {{"192 x 192", bench_product_192x192, 3, 3 * GROUP_ROWS, 192},
                        {"128 x 192", bench_product_128x192, 2, 2 * GROUP_ROWS, 192}};

double f16(uint16_t bits) {
    const double magnitude = (1024 + (bits & 0x3ff)) * 0x1p-11;
    return bits >> 15 ? -magnitude : magnitude;
}

void measure(const Machine &machine, const Shape &shape, const Sizes &sizes, bool writes) {
    const Array<uint16_t> a(uint64_t{sizes.rows} * sizes.depth), b(uint64_t{sizes.columns} * sizes.depth);
    const Array<float> out(writes ? uint64_t{sizes.rows} * sizes.columns : 1);
    bench_fill<<<machine.multiprocessors * 8, 256>>>(a.data(), uint64_t{sizes.rows} * sizes.depth, 1);
    bench_fill<<<machine.multiprocessors * 8, 256>>>(b.data(), uint64_t{sizes.columns} * sizes.depth, 2);
    CHECKED(cudaDeviceSynchronize());
    const toller_tensor_map map_a = map_of(a.data(), sizes.rows, uint64_t{sizes.depth} * 2, shape.rows);
    const toller_tensor_map map_b = map_of(b.data(), sizes.columns, uint64_t{sizes.depth} * 2, shape.columns);
    const int shared = static_cast<int>(STAGES * (shape.rows + shape.columns) * SLICE_BYTES + Ring<STAGES>::BARRIERS_BYTES + 1024);
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
    for (const Shape &shape : SHAPES) {
        // Parts of tiles, then a batch of an encoder's tokens, then the scan of a million vectors.
        measure(machine, shape, {1000, 500, 136}, true);
        measure(machine, shape, {25344, 3072, 768}, true);
        measure(machine, shape, {1 << 20, 6980, 768}, false);
        // Eight tiles of columns.
        measure(machine, shape, {1 << 20, 1536, 768}, false);
    }
}
