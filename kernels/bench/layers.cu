// The linear layers of BERT-base in f16 alone: how fast each is, and what its parts cost.
// The products of sm_80 and of sm_90a must have the same bits.
#include "../encoder/product_tma.cuh"
#include "bench.cuh"
#include "tensor_map.cuh"

// Tokens of a batch: a tile of rows for each of 132 multiprocessors. All layers then have whole rounds of tiles.
constexpr uint32_t ROWS = 132 * TOLLER_PRODUCT_TMA_ROWS, WIDEST = 3072;

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define BENCH_BODY(...) __VA_ARGS__
#else
// Other targets have these kernels without a body; `main` does not launch them there.
#define BENCH_BODY(...)
#endif

using Wide = MmaSync<StatesF16, 256, 2>;

extern "C" __global__ void __launch_bounds__(TOLLER_PRODUCT_THREADS, 1)
    bench_layer_256(const __grid_constant__ toller_product_args args) {
    BENCH_BODY(product<StatesF16, Wide, TOLLER_PRODUCT_STAGES>(args);)
}
extern "C" __global__ void __launch_bounds__(TOLLER_PRODUCT_TMA_THREADS, 1)
    bench_layer_tma(const __grid_constant__ toller_product_tma_args args) {
    BENCH_BODY(product_tma<StatesF16>(args);)
}
// f16 of either sign, at most 2^-4 (weights: 2^-8), so that sums of thousands are small.
extern "C" __global__ void __launch_bounds__(256) bench_fill(uint16_t *to, uint64_t count, uint64_t seed, uint32_t exponent) {
    for (uint64_t i = blockIdx.x * uint64_t{256} + threadIdx.x; i < count; i += gridDim.x * uint64_t{256}) {
        to[i] = static_cast<uint16_t>((mixed(i + (seed << 40)) & 0x83ff) | exponent << 10);
    }
}

namespace {

struct Layer {
    const char *name;
    uint32_t outputs, inputs, activation;
    bool has_residual;
};
const Layer LAYERS[] = {{"queries, keys, values", 2304, 768, TOLLER_ACTIVATION_IDENTITY, false},
                        {"after attention", 768, 768, TOLLER_ACTIVATION_IDENTITY, true},
                        {"up", 3072, 768, TOLLER_ACTIVATION_GELU, false},
                        {"down", 768, 3072, TOLLER_ACTIVATION_IDENTITY, true}};

struct Data {
    Array<uint16_t> x{uint64_t{ROWS} * WIDEST}, weight{uint64_t{WIDEST} * WIDEST}, residual{uint64_t{ROWS} * WIDEST};
    Array<uint16_t> out{uint64_t{ROWS} * WIDEST};
    Array<float> bias{std::vector<float>(WIDEST, 0.25f)};

    explicit Data(const Machine &machine) {
        const unsigned grid = machine.multiprocessors * 8;
        bench_fill<<<grid, 256>>>(x.data(), x.bytes() / 2, 1, 11);
        bench_fill<<<grid, 256>>>(weight.data(), weight.bytes() / 2, 2, 7);
        bench_fill<<<grid, 256>>>(residual.data(), residual.bytes() / 2, 3, 11);
        CHECKED(cudaDeviceSynchronize());
    }

    toller_product_args args(const Layer &layer) const {
        toller_product_args args{};
        args.x = x.data(), args.weight = weight.data(), args.bias = bias.data(), args.out = out.data();
        if (layer.has_residual) args.residual = residual.data();
        args.rows = ROWS, args.weight_rows = layer.outputs, args.columns = layer.outputs, args.depth_bytes = layer.inputs * 2;
        args.weight_stride = args.depth_bytes, args.stride = layer.outputs * 2, args.residual_stride = args.stride;
        args.activation = layer.activation;
        return args;
    }
};

struct Kernel {
    const char *name;
    const void *start;
    bool is_bulk;
};
const Kernel KERNELS[] = {{"256", reinterpret_cast<const void *>(bench_layer_256), false},
                          {"tma", reinterpret_cast<const void *>(bench_layer_tma), true}};

void launch(const Machine &machine, const Kernel &kernel, const toller_product_args &product) {
    toller_product_tma_args bulk{};
    bulk.product = product;
    uint32_t shared = TOLLER_PRODUCT_SHARED(256, TOLLER_PRODUCT_STAGES), threads = TOLLER_PRODUCT_THREADS;
    uint32_t blocks = (product.rows + 127) / 128 * ((product.weight_rows + 255) / 256);
    void *arguments[] = {&bulk.product};
    if (kernel.is_bulk) {
        bulk.x = map_of(product.x, product.rows, product.depth_bytes, TOLLER_PRODUCT_TMA_ROWS);
        bulk.weight = map_of(product.weight, product.weight_rows, product.weight_stride, TOLLER_PRODUCT_TMA_COLUMNS);
        shared = TOLLER_PRODUCT_SHARED_TMA, threads = TOLLER_PRODUCT_TMA_THREADS, blocks = machine.multiprocessors;
        arguments[0] = &bulk;
    }
    CHECKED(cudaFuncSetAttribute(kernel.start, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
    CHECKED(cudaLaunchKernel(kernel.start, dim3(blocks), dim3(threads), arguments, shared, nullptr));
}

void tell(const Kernel &kernel, const char *layer, const char *what, double operations, float time) {
    std::printf("{\"layer\": \"%s\", \"kernel\": \"%s\", \"what\": \"%s\", \"Rows\": %u, \"Ms\": %.4f, \"TFLOP/s\": %.1f}\n", layer, kernel.name,
                what, ROWS, time, operations / time * 1e-9);
    std::fflush(stdout);
}

double operations(const Layer &layer) { return 2.0 * ROWS * layer.outputs * layer.inputs; }

} // namespace

int main(int count, char **arguments) {
    const auto machine = Machine::of(count, arguments);
    if (!machine.is_hopper()) return 0;
    const Data data(machine);
    for (const Layer &layer : LAYERS) {
        std::vector<uint16_t> expected;
        for (const Kernel &kernel : KERNELS) {
            const auto measure = [&](const char *what, const toller_product_args &args) {
                tell(kernel, layer.name, what, operations(layer), milliseconds(machine, [] {}, [&] { launch(machine, kernel, args); }));
            };
            CHECKED(cudaMemset(data.out.data(), 0xff, data.out.bytes()));
            const auto whole = data.args(layer);
            measure("whole", whole);
            const auto found = data.out.read();
            if (expected.empty()) expected = found;
            require(found == expected, "the kernels have the same bits");
            auto part = whole;
            part.residual = nullptr, part.activation = TOLLER_ACTIVATION_IDENTITY;
            if (layer.has_residual || layer.activation != TOLLER_ACTIVATION_IDENTITY) measure("without residual and activation", part);
            part.columns = 0;
            measure("without stores", part);
        }
    }
    // Twelve layers at a time, as long as an encoder works: how fast the GPU is when it is warm.
    for (const Kernel &kernel : KERNELS) {
        double all = 0;
        for (const Layer &layer : LAYERS) all += 12 * operations(layer);
        const auto layers = [&](int times) {
            for (int i = 0; i < times; ++i) {
                for (const Layer &layer : LAYERS) launch(machine, kernel, data.args(layer));
            }
        };
        const float time = milliseconds(machine, [&] { layers(machine.once ? 0 : 240); }, [&] { layers(12); });
        tell(kernel, "twelve times all", "warm", all, time);
    }
    return 0;
}
