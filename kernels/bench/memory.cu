// How fast the memory can be read: the floor of a scan with few queries. Contiguous, and in the order of the
// scan, which reads 128 bytes of each of 128 rows at a time.
#include "bench.cuh"

constexpr uint32_t THREADS = 256;
// 16-byte loads of a thread that are under way at once.
constexpr uint32_t AT_ONCE = 8;
constexpr uint32_t ROW_CHUNKS = 768 * 2 / 16, SLICE_CHUNKS = 128 / 16, TILE_ROWS = 128;

__device__ uint32_t folded(uint4 value) { return value.x ^ value.y ^ value.z ^ value.w; }

// Nothing is written, but the compiler does not know that.
__device__ void keep(uint32_t sum, uint32_t *out) {
    if (sum == 0x12345678u) *out = sum;
}

extern "C" __global__ void __launch_bounds__(THREADS) bench_read_contiguous(const uint4 *from, uint64_t chunks, uint32_t *out) {
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * THREADS * AT_ONCE;
    uint32_t sum = 0;
    for (uint64_t first = blockIdx.x * static_cast<uint64_t>(THREADS) * AT_ONCE + threadIdx.x; first + (AT_ONCE - 1) * THREADS < chunks;
         first += step) {
        uint4 values[AT_ONCE];
#pragma unroll
        for (uint32_t i = 0; i < AT_ONCE; ++i) values[i] = __ldcs(from + first + i * THREADS);
#pragma unroll
        for (uint32_t i = 0; i < AT_ONCE; ++i) sum ^= folded(values[i]);
    }
    keep(sum, out);
}

extern "C" __global__ void __launch_bounds__(THREADS) bench_read_slices(const uint4 *from, uint64_t chunks, uint32_t *out) {
    constexpr uint32_t ROWS_AT_ONCE = THREADS / SLICE_CHUNKS, LOADS = TILE_ROWS / ROWS_AT_ONCE, SLICES = AT_ONCE / LOADS;
    const uint64_t tiles = chunks / ROW_CHUNKS / TILE_ROWS;
    const uint32_t row = threadIdx.x / SLICE_CHUNKS, chunk = threadIdx.x % SLICE_CHUNKS;
    uint32_t sum = 0;
    for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const uint4 *first = from + (tile * TILE_ROWS + row) * ROW_CHUNKS + chunk;
        for (uint32_t slice = 0; slice < ROW_CHUNKS / SLICE_CHUNKS; slice += SLICES) {
            uint4 values[SLICES][LOADS];
#pragma unroll
            for (uint32_t s = 0; s < SLICES; ++s) {
#pragma unroll
                for (uint32_t i = 0; i < LOADS; ++i) {
                    values[s][i] = __ldcs(first + (slice + s) * SLICE_CHUNKS + i * ROWS_AT_ONCE * ROW_CHUNKS);
                }
            }
#pragma unroll
            for (uint32_t s = 0; s < SLICES; ++s) {
#pragma unroll
                for (uint32_t i = 0; i < LOADS; ++i) sum ^= folded(values[s][i]);
            }
        }
    }
    keep(sum, out);
}

extern "C" __global__ void __launch_bounds__(THREADS) bench_fill(uint4 *to, uint64_t chunks) {
    for (uint64_t i = blockIdx.x * static_cast<uint64_t>(THREADS) + threadIdx.x; i < chunks; i += gridDim.x * static_cast<uint64_t>(THREADS)) {
        const uint64_t a = mixed(2 * i), b = mixed(2 * i + 1);
        to[i] = make_uint4(uint32_t(a), uint32_t(a >> 32), uint32_t(b), uint32_t(b >> 32));
    }
}

int main(int count, char **arguments) {
    const auto machine = Machine::of(count, arguments);
    // 6.4 GB: far more than a cache holds.
    const uint64_t rows = uint64_t{1} << 22, all = rows * ROW_CHUNKS;
    const Array<uint4> memory(all);
    const Array<uint32_t> out(1);
    bench_fill<<<machine.multiprocessors * 8, THREADS>>>(memory.data(), all);
    CHECKED(cudaDeviceSynchronize());
    const auto tell = [&](const char *pattern, int blocks, double bytes, float time) {
        std::printf("{\"memory\": \"%s\", \"Blocks an SM\": %d, \"Ms\": %.4f, \"GB/s\": %.1f}\n", pattern, blocks, time, bytes / time * 1e-6);
        std::fflush(stdout);
    };
    for (const int blocks : {2, 4, 8}) {
        const auto grid = static_cast<unsigned>(machine.multiprocessors * blocks);
        tell("read, contiguous", blocks, double(memory.bytes()), milliseconds(machine, [] {}, [&] {
                 bench_read_contiguous<<<grid, THREADS>>>(memory.data(), all, out.data());
             }));
        tell("read, slices of rows", blocks, double(memory.bytes()), milliseconds(machine, [] {}, [&] {
                 bench_read_slices<<<grid, THREADS>>>(memory.data(), all, out.data());
             }));
    }
    tell("copy, read and written", 0, double(memory.bytes()), milliseconds(machine, [] {}, [&] {
             CHECKED(cudaMemcpyAsync(memory.data(), memory.data() + all / 2, memory.bytes() / 2, cudaMemcpyDeviceToDevice));
         }));
}
