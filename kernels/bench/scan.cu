// The scan alone, on random rows and queries: how fast its main loop is without hits, what hits cost, and
// which constants are best.
//
// Compile it with -DTOLLER_L2_PREFETCH=128 (or 256) too, to compare the prefetch of its copies.
#include <cmath>

#include <cuda_fp16.h>

#include "../ip_topk/scan.cuh"
#include "../ip_topk/scan_tma.cuh"
#include "bench.cuh"
#include "tensor_map.cuh"

constexpr uint32_t ROWS = 1 << 20, DIM = 768, CAPACITY = 4096;

#define BENCH_SCAN(NAME, FORMAT, ENGINE, STAGES, BLOCKS)                                                               \
    extern "C" __global__ void __launch_bounds__(TOLLER_SCAN_THREADS, BLOCKS)                                          \
        bench_scan_##NAME(const __grid_constant__ toller_scan_args args) {                                             \
        scan<FORMAT, ENGINE, STAGES>(args);                                                                            \
    }

// Names for types that hold commas.
using F16By8 = MmaSync<F16, 8, 8>;
using Int8By8 = MmaSync<Int8, 8, 8>;
using F16By64 = MmaSync<F16, 64, 4>;
using F16By256 = MmaSync<F16, 256, 2>;
using Int8By256 = MmaSync<Int8, 256, 2>;

BENCH_SCAN(f16_8, F16, F16By8, 4, 2)
BENCH_SCAN(f16_8_blocks_3, F16, F16By8, 4, 3)
BENCH_SCAN(int8_8, Int8, Int8By8, 4, 2)
BENCH_SCAN(f16_64, F16, F16By64, 3, 2)
BENCH_SCAN(f16_256, F16, F16By256, 3, 1)
BENCH_SCAN(int8_256, Int8, Int8By256, 3, 1)

#define BENCH_SCAN_TMA(NAME, FORMAT)                                                                                   \
    extern "C" __global__ void __launch_bounds__(TOLLER_SCAN_TMA_THREADS, 1)                                           \
        bench_scan_##NAME(const __grid_constant__ toller_scan_tma_args args) {                                         \
        scan_tma<FORMAT>(args);                                                                                        \
    }

// Other targets have these kernels without a body; `main` does not launch them there.
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#undef BENCH_SCAN_TMA
#define BENCH_SCAN_TMA(NAME, FORMAT)                                                                                   \
    extern "C" __global__ void bench_scan_##NAME(const __grid_constant__ toller_scan_tma_args) {}
#endif
BENCH_SCAN_TMA(f16_tma, F16)
BENCH_SCAN_TMA(int8_tma, Int8)

// Numbers in -1..1, of f16 or as codes.
extern "C" __global__ void __launch_bounds__(256) bench_fill(uint16_t *halves, int8_t *codes, uint64_t count, uint64_t seed) {
    for (uint64_t i = blockIdx.x * uint64_t{256} + threadIdx.x; i < count; i += gridDim.x * uint64_t{256}) {
        const uint64_t bits = mixed(i + (seed << 40));
        const float number = static_cast<float>(static_cast<int32_t>(bits >> 32)) * 0x1p-31f;
        halves[i] = f32_to_f16(number);
        codes[i] = static_cast<int8_t>(static_cast<int32_t>(bits % 255) - 127);
    }
}

// A kernel of either argument.
struct Kernel {
    Kernel(void (*kernel)(toller_scan_args)) : start(reinterpret_cast<const void *>(kernel)) {}
    Kernel(void (*kernel)(toller_scan_tma_args)) : start(reinterpret_cast<const void *>(kernel)), is_bulk(true) {}

    const void *start;
    bool is_bulk = false;
};

struct Case {
    const char *name;
    Kernel kernel;
    bool codes;
    uint32_t width, stages, blocks, queries;
    bool hopper;

    uint32_t rows() const { return kernel.is_bulk ? TOLLER_SCAN_TMA_ROWS : TOLLER_SCAN_ROWS; }
    uint32_t threads() const { return kernel.is_bulk ? TOLLER_SCAN_TMA_THREADS : TOLLER_SCAN_THREADS; }
    uint32_t shared() const { return kernel.is_bulk ? TOLLER_SCAN_SHARED_TMA : TOLLER_SCAN_SHARED(width, stages); }
};

const Case CASES[] = {
    {"f16_8", bench_scan_f16_8, false, 8, 4, 2, 1, false},
    {"f16_8, 3 blocks", bench_scan_f16_8_blocks_3, false, 8, 4, 3, 1, false},
    {"int8_8", bench_scan_int8_8, true, 8, 4, 2, 1, false},
    {"f16_64", bench_scan_f16_64, false, 64, 3, 2, 64, false},
    {"f16_256", bench_scan_f16_256, false, 256, 3, 1, 6980, false},
    {"int8_256", bench_scan_int8_256, true, 256, 3, 1, 6980, false},
    {"f16_tma", bench_scan_f16_tma, false, 192, 4, 1, 6980, true},
    {"int8_tma", bench_scan_int8_tma, true, 192, 4, 1, 6980, true},
    // Eight tiles of queries: what blocks read at the same time fits a square, and comes from the L2 cache more often.
    {"f16_tma, 8 query tiles", bench_scan_f16_tma, false, 192, 4, 1, 1536, true},
};

// A share of the rows that reaches the threshold, and how many standard deviations above the mean it begins.
struct Hits {
    double share, deviations;
};
const Hits HITS[] = {{0, INFINITY}, {1e-4, 3.7190}, {1e-3, 3.0902}};

// Rows, and as many queries as any case has, in both types.
struct Data {
    static constexpr uint32_t QUERIES = 6980;
    Array<uint16_t> rows{uint64_t{ROWS} * DIM}, queries{uint64_t{QUERIES} * DIM};
    Array<int8_t> row_codes{uint64_t{ROWS} * DIM}, query_codes{uint64_t{QUERIES} * DIM};
    Array<float> norms{std::vector<float>(ROWS, 1.0f)}, scales{std::vector<float>(ROWS, 1.0f)}, residuals{std::vector<float>(ROWS, 0.0f)};
    Array<float> ratio{std::vector<float>{0}};
    Array<toller_candidate> candidates{uint64_t{QUERIES} * CAPACITY};
    Array<uint32_t> counts{QUERIES};

    explicit Data(const Machine &machine) {
        const unsigned grid = machine.multiprocessors * 8;
        bench_fill<<<grid, 256>>>(rows.data(), row_codes.data(), uint64_t{ROWS} * DIM, 1);
        bench_fill<<<grid, 256>>>(queries.data(), query_codes.data(), uint64_t{QUERIES} * DIM, 2);
        CHECKED(cudaDeviceSynchronize());
    }

    toller_scan_args args(const Case &of, const toller_query_pair *pairs) const {
        toller_scan_args args{};
        args.rows = of.codes ? static_cast<const void *>(row_codes.data()) : rows.data();
        args.queries = of.codes ? static_cast<const void *>(query_codes.data()) : queries.data();
        args.row_norms = norms.data(), args.pairs = pairs;
        if (of.codes) args.row_scales = scales.data(), args.row_residual_norms = residuals.data(), args.residual_ratio = ratio.data();
        args.candidates = candidates.data(), args.counts = counts.data();
        args.row_count = ROWS, args.query_count = of.queries, args.stride = DIM * (of.codes ? 1 : 2), args.capacity = CAPACITY;
        args.tile_step = 1, args.tile_count = (ROWS + of.rows() - 1) / of.rows();
        return args;
    }
};

double number_of(uint16_t half) { return __half2float(__half(__half_raw{half})); }
double number_of(int8_t code) { return code; }

// A row of `rows` [.., DIM], on the host.
template <class Number>
std::vector<double> row_of(const Array<Number> &rows, uint32_t row) {
    std::vector<Number> numbers(DIM);
    CHECKED(cudaMemcpy(numbers.data(), rows.data() + uint64_t{row} * DIM, DIM * sizeof(Number), cudaMemcpyDeviceToHost));
    std::vector<double> converted;
    for (const Number number : numbers) converted.push_back(number_of(number));
    return converted;
}

// How far the sums of the first query's candidates are from its scores in f64: the largest, as a share of what
// ip_topk/bounds.cuh allows the summation, d 2^-22 |q| |x|. Above 1, the proof does not hold on this GPU. Sums of codes are exact.
template <class Number>
double share_of_bound(const Data &data, const Array<Number> &rows, const Array<Number> &queries) {
    uint32_t count;
    CHECKED(cudaMemcpy(&count, data.counts.data(), sizeof count, cudaMemcpyDeviceToHost));
    std::vector<toller_candidate> candidates(std::min(count, CAPACITY));
    CHECKED(cudaMemcpy(candidates.data(), data.candidates.data(), candidates.size() * sizeof candidates[0], cudaMemcpyDeviceToHost));
    const auto query = row_of(queries, 0);
    double largest = 0;
    for (const toller_candidate &candidate : candidates) {
        const auto row = row_of(rows, candidate.ordinal);
        double score = 0, query_squares = 0, row_squares = 0;
        for (uint32_t i = 0; i < DIM; ++i) {
            score += query[i] * row[i], query_squares += query[i] * query[i], row_squares += row[i] * row[i];
        }
        // A scan appends the sum where the lower bound comes later.
        const double distance = std::fabs(candidate.lower - score);
        largest = std::max(largest, distance / (DIM * 0x1p-22 * std::sqrt(query_squares * row_squares)));
    }
    return largest;
}

// The standard deviation of each query's sums over random rows: the query's length times that of a row's numbers,
// which are uniform in -1..1, or codes in -127..127. Lengths vary by some per cent, which a tail shows tenfold.
template <class Number>
std::vector<double> deviations(const Array<Number> &queries, bool codes) {
    const double of_number = std::sqrt(codes ? (255.0 * 255 - 1) / 12 : 1.0 / 3);
    const auto numbers = queries.read();
    std::vector<double> all;
    for (size_t start = 0; start < numbers.size(); start += DIM) {
        double squares = 0;
        for (uint32_t i = 0; i < DIM; ++i) squares += number_of(numbers[start + i]) * number_of(numbers[start + i]);
        all.push_back(of_number * std::sqrt(squares));
    }
    return all;
}

bool measure(const Machine &machine, const Data &data, const Case &of, const Hits &hits) {
    // Sums are compared as they are: their bounds have no width.
    const auto deviation = of.codes ? deviations(data.query_codes, true) : deviations(data.queries, false);
    std::vector<toller_query_pair> all((of.queries + of.width - 1) / of.width * of.width / 2, {{0, 0}, {INFINITY, INFINITY}});
    for (uint32_t query = 0; query < of.queries; ++query) all[query / 2].cutoff[query % 2] = static_cast<float>(hits.deviations * deviation[query]);
    const Array<toller_query_pair> pairs(all);
    const toller_scan_args args = data.args(of, pairs.data());
    toller_scan_tma_args bulk{};
    if (of.kernel.is_bulk) {
        bulk.rows = map_of(args.rows, args.row_count, args.stride, TOLLER_SCAN_TMA_ROWS);
        bulk.queries = map_of(args.queries, args.query_count, args.stride, TOLLER_SCAN_TMA_QUERIES);
        bulk.scan = args;
    }
    const void *argument = of.kernel.is_bulk ? static_cast<const void *>(&bulk) : &args;
    void *arguments[] = {const_cast<void *>(argument)};
    const unsigned shared = of.shared(), grid = machine.multiprocessors * of.blocks;
    CHECKED(cudaFuncSetAttribute(of.kernel.start, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
    CHECKED(cudaFuncSetAttribute(of.kernel.start, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
    int resident = 0;
    CHECKED(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, of.kernel.start, of.threads(), shared));
    const float time = milliseconds(
        machine, [&] { CHECKED(cudaMemsetAsync(data.counts.data(), 0, data.counts.bytes())); },
        [&] { CHECKED(cudaLaunchKernel(of.kernel.start, dim3(grid), dim3(of.threads()), arguments, shared, nullptr)); });
    double nominated = 0;
    for (const uint32_t count : data.counts.read()) nominated += count;
    nominated /= of.queries;
    // Six standard deviations of the mean of so many counts, and 2% for what is not quite normal.
    const double expected = hits.share * ROWS, slack = 0.02 * expected + 6 * std::sqrt(expected / of.queries);
    const double of_bound = of.codes ? share_of_bound(data, data.row_codes, data.query_codes) : share_of_bound(data, data.rows, data.queries);
    const bool is_right = std::fabs(nominated - expected) <= slack && of_bound <= (of.codes ? 0 : 1);
#ifdef TOLLER_L2_PREFETCH
    constexpr int PREFETCH = TOLLER_L2_PREFETCH;
#else
    constexpr int PREFETCH = 0;
#endif
    const double bytes = double(ROWS) * args.stride, operations = 2.0 * ROWS * DIM * of.queries;
    std::printf("{\"scan\": \"%s\", \"L2 prefetch\": %d, \"Blocks an SM\": %u, \"Resident\": %d, \"Queries\": %u, \"Share of hits\": %g, "
                "\"Nominated\": %.1f, \"Expected\": %.1f, \"Of bound\": %.3f, \"Ms\": %.4f, \"GB/s\": %.1f, \"TFLOP/s\": %.1f}\n",
                of.name, PREFETCH, of.blocks, resident, of.queries, hits.share, nominated, expected, of_bound, time, bytes / time * 1e-6,
                operations / time * 1e-9);
    std::fflush(stdout);
    if (!is_right) std::fprintf(stderr, "%s: not as many nominations as the threshold leaves, or sums beyond their bound\n", of.name);
    return is_right;
}

int main(int count, char **arguments) {
    const auto machine = Machine::of(count, arguments);
    const Data data(machine);
    bool all_right = true;
    for (const Case &of : CASES) {
        if (of.hopper && !machine.is_hopper()) continue;
        if (of.shared() > machine.shared) {
            std::fprintf(stderr, "%s is left out: blocks have too little shared memory\n", of.name);
            continue;
        }
        for (const Hits &hits : HITS) {
            // For a profiler, no hits and many are enough.
            if (!machine.once || hits.share != 1e-4) all_right &= measure(machine, data, of, hits);
        }
    }
    return all_right ? 0 : 1;
}
