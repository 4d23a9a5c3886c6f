// A matrix product alone, with the main loop of the scan with bulk copies: C = A B^T of f16 with f32 sums.
//
// One warpgroup copies slices of 64 numbers with bulk tensor copies (TMA); two or three others multiply 64
// rows each with wgmma. They meet only at mbarriers. Two shapes of the tile are compared; and pairs of blocks with
// neighbouring tiles of rows, which each copy half of their common columns for both: then a slice of 192 x 192 takes 36 KB
// from the second-level cache instead of 48. Only sm_90a has these instructions.
#include "../common/products.cuh"
#include "../common/ring.cuh"
#include "../common/warpgroups.cuh"
#include "tensor_map.cuh"

constexpr uint32_t STAGES = 4, GROUP = 128, GROUP_ROWS = 64;

// Depth is in numbers.
struct Sizes {
    uint32_t rows, columns, depth;
};

// What pairs of blocks need besides. The shim does not model clusters, so the kernels of searches and models do not use
// them.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__device__ inline uint32_t rank_in_pair() {
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// Waits for all threads of both blocks that have not ended.
__device__ inline void meet_pair() {
    asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
}

// Arrives at the barrier that is at this address of the shared memory of block `rank` of the pair.
__device__ inline void barrier_arrive_at(uint32_t barrier, uint32_t rank) {
    asm volatile("{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; "
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];}" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}

// As copy_box, to the same address in both blocks, at the barriers of both.
__device__ inline void copy_box_to_pair(uint32_t to, const toller_tensor_map *map, uint32_t byte, uint32_t row, uint32_t barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(byte), "r"(row), "h"(static_cast<uint16_t>(3))
                 : "memory");
}
#endif

// `out` is [rows, columns], or null: then the sums are computed and not written.
template <int CONSUMERS, int FRAGMENTS, int PRODUCER_REGISTERS, int CONSUMER_REGISTERS, bool IN_PAIRS = false>
__device__ void product(const toller_tensor_map *a, const toller_tensor_map *b, const Sizes &sizes, float *out) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    constexpr uint32_t ROWS = CONSUMERS * GROUP_ROWS, COLUMNS = FRAGMENTS * 8;
    constexpr uint32_t A_BYTES = ROWS * SLICE_BYTES, STAGE_BYTES = A_BYTES + COLUMNS * SLICE_BYTES;
    const uint32_t stages = shared_address(aligned_shared());
    auto ring = Ring<STAGES>::at(stages + STAGES * STAGE_BYTES);
    if (threadIdx.x == 0) {
        // In pairs, both blocks must be done with a stage.
        ring.make(CONSUMERS * GROUP / 32 * (IN_PAIRS ? 2 : 1));
        barrier_make_fence();
    }
    if (IN_PAIRS) meet_pair();
    __syncthreads();
    const uint32_t rank = IN_PAIRS ? rank_in_pair() : 0, members = IN_PAIRS ? 2 : 1;
    const uint32_t across = (sizes.columns + COLUMNS - 1) / COLUMNS, down = (sizes.rows + ROWS - 1) / ROWS;
    const uint32_t tiles = (down + members - 1) / members * across, first = blockIdx.x / members, step = gridDim.x / members;
    const auto row_tile = [&](uint32_t tile) { return tile / across * members + rank; };
    const uint32_t slices = (sizes.depth * 2 + SLICE_BYTES - 1) / SLICE_BYTES;
    if (threadIdx.x < GROUP) {
        keep_registers<PRODUCER_REGISTERS>();
        if (threadIdx.x != 0) return;
        for (uint32_t tile = first; tile < tiles; tile += step) {
            for (uint32_t slice = 0; slice < slices; ++slice, ring.next()) {
                ring.begin_to_fill(STAGE_BYTES);
                const uint32_t to = stages + ring.stage * STAGE_BYTES;
                copy_box(to, a, slice * SLICE_BYTES, row_tile(tile) * ROWS, ring.barrier());
                const uint32_t column = tile % across * COLUMNS, half = rank * (COLUMNS / 2);
                if (IN_PAIRS) {
                    copy_box_to_pair(to + A_BYTES + half * SLICE_BYTES, b, slice * SLICE_BYTES, column + half, ring.barrier());
                } else {
                    copy_box(to + A_BYTES, b, slice * SLICE_BYTES, column, ring.barrier());
                }
            }
        }
        // The other block may still write here.
        if (IN_PAIRS) meet_pair();
        return;
    }
    take_registers<CONSUMER_REGISTERS>();
    Warpgroups<ProductsF16, FRAGMENTS, 1> engine;
    for (uint32_t tile = first; tile < tiles; tile += step) {
        engine.clear();
        for (uint32_t slice = 0; slice < slices; ++slice, ring.next()) {
            ring.wait();
            const uint32_t at = stages + ring.stage * STAGE_BYTES;
            engine.multiply(at, at + A_BYTES);
            if (IN_PAIRS) {
                __syncwarp();
                if (threadIdx.x % 32 < 2) barrier_arrive_at(ring.barriers + (STAGES + ring.stage) * 8, threadIdx.x % 32);
            } else {
                ring.release();
            }
        }
        engine.finish();
        const uint32_t lane = threadIdx.x % 32;
        const uint32_t row = row_tile(tile) * ROWS + engine.first_row() + lane / 4, column = tile % across * COLUMNS + lane % 4 * 2;
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
    if (IN_PAIRS) meet_pair();
#endif
}

#define BENCH_PRODUCT(NAME, CONSUMERS, FRAGMENTS, PRODUCER, CONSUMER, IN_PAIRS)                                        \
    extern "C" __global__ void __launch_bounds__((CONSUMERS + 1) * GROUP, 1)                                           \
        NAME(const __grid_constant__ toller_tensor_map a, const __grid_constant__ toller_tensor_map b, Sizes sizes,    \
             float *out) {                                                                                             \
        product<CONSUMERS, FRAGMENTS, PRODUCER, CONSUMER, IN_PAIRS>(&a, &b, sizes, out);                               \
    }
BENCH_PRODUCT(bench_product_192x192, 3, 24, 32, 160, false)
BENCH_PRODUCT(bench_product_192x192_pairs, 3, 24, 32, 160, true)
BENCH_PRODUCT(bench_product_128x192, 2, 24, 40, 232, false)

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
    // Blocks that share their columns.
    uint32_t members = 1;
};
const Shape SHAPES[] = {{"192 x 192", bench_product_192x192, 3, 3 * GROUP_ROWS, 192},
                        {"192 x 192, in pairs", bench_product_192x192_pairs, 3, 3 * GROUP_ROWS, 192, 2},
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
    const toller_tensor_map map_b = map_of(b.data(), sizes.columns, uint64_t{sizes.depth} * 2, shape.columns / shape.members);
    const int shared = static_cast<int>(STAGES * (shape.rows + shape.columns) * SLICE_BYTES + Ring<STAGES>::BARRIERS_BYTES + 1024);
    CHECKED(cudaFuncSetAttribute(shape.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    cudaLaunchAttribute members{};
    members.id = cudaLaunchAttributeClusterDimension;
    members.val.clusterDim = {shape.members, 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(machine.multiprocessors) / shape.members * shape.members);
    config.blockDim = dim3((shape.consumers + 1) * GROUP);
    config.dynamicSmemBytes = static_cast<size_t>(shared);
    config.attrs = &members, config.numAttrs = 1;
    float *const to = writes ? out.data() : nullptr;
    const float time =
        milliseconds(machine, [] {}, [&] { CHECKED(cudaLaunchKernelEx(&config, shape.kernel, map_a, map_b, sizes, to)); });
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
