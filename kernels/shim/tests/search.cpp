// A search as the driver makes it, launch by launch.
#include "search.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "check.h"
#include "../device.h"
#include "../shim.h"

namespace {

// An array that kernels may touch.
template <class T>
class Array {
  public:
    explicit Array(size_t count) : count(count), memory(static_cast<T *>(toller_shim_allocate(count * sizeof(T)))) {
        CHECK(memory != nullptr, "%zu values", count);
    }
    explicit Array(const std::vector<T> &values) : Array(values.size()) { write(values); }
    ~Array() { toller_shim_free(memory); }
    Array(const Array &) = delete;
    Array &operator=(const Array &) = delete;

    void write(const std::vector<T> &values) { std::copy(values.begin(), values.end(), memory); }
    std::vector<T> read() const { return std::vector<T>(memory, memory + count); }
    T *data() const { return memory; }

  private:
    size_t count;
    T *memory;
};

template <class Args>
void run(const std::string &kernel, const Args &args, uint32_t x, uint32_t y, uint32_t threads, uint32_t shared = 0) {
    const std::string wrong = launch("toller_ip_topk_" + kernel, &args, sizeof(args), x, y, threads, shared);
    CHECK(wrong.empty(), "%s", wrong.c_str());
}

const char *name_of(Type type) { return type == Type::F16 ? "f16" : type == Type::Bf16 ? "bf16" : "f32"; }
uint32_t bytes_of(Type type) { return type == Type::F32 ? 4 : 2; }

uint32_t padded(uint32_t bytes) { return (bytes + 15) / 16 * 16; }

void write_number(Type type, float x, unsigned char *to) {
    if (type == Type::F32) {
        std::memcpy(to, &x, 4);
        return;
    }
    const uint16_t bits = type == Type::F16 ? f32_to_f16(x) : static_cast<uint16_t>(__float_as_uint(x) >> 16);
    std::memcpy(to, &bits, 2);
}

std::vector<unsigned char> stored(const Problem &problem, uint32_t stride) {
    std::vector<unsigned char> bytes(static_cast<size_t>(problem.rows) * stride, 0);
    const uint32_t size = bytes_of(problem.type);
    for (uint32_t row = 0; row < problem.rows; ++row) {
        for (uint32_t i = 0; i < problem.dim; ++i) {
            write_number(problem.type, problem.row_numbers[row * problem.dim + i], &bytes[row * stride + i * size]);
        }
    }
    return bytes;
}

// Rows rounded to one byte a number, as the CPU rounds them.
struct Codes {
    std::vector<int8_t> values;
    std::vector<float> scales, residual_norms;

    Codes(const Problem &problem, uint32_t stride) : values(static_cast<size_t>(problem.rows) * stride, 0) {
        for (uint32_t row = 0; row < problem.rows; ++row) {
            const float *numbers = &problem.row_numbers[row * problem.dim];
            float largest = 0;
            for (uint32_t i = 0; i < problem.dim; ++i) largest = std::max(largest, std::fabs(numbers[i]));
            const bool usable = largest >= 1e-30f && largest <= std::numeric_limits<float>::max();
            const float scale = usable ? largest / 127 : 0;
            double squares = 0;
            for (uint32_t i = 0; i < problem.dim; ++i) {
                const double code = usable ? std::rint(static_cast<double>(numbers[i]) / scale) : 0;
                values[row * stride + i] = static_cast<int8_t>(std::min(127.0, std::max(-127.0, code)));
                const double residual = numbers[i] - static_cast<double>(scale) * values[row * stride + i];
                squares += residual * residual;
            }
            scales.push_back(scale);
            residual_norms.push_back(__double2float_ru(std::sqrt(squares) * (1 + 1e-6) + 1e-44));
        }
    }
};

// What a scan reads besides the queries.
struct Device {
    uint32_t stride, scan_stride;
    Array<unsigned char> rows;
    std::unique_ptr<Array<int8_t>> codes;
    std::unique_ptr<Array<float>> scales, residual_norms;
    Array<float> norms;

    Device(const Problem &problem, bool coded)
        : stride(padded(problem.dim * bytes_of(problem.type))), scan_stride(coded ? padded(problem.dim) : stride),
          rows(stored(problem, stride)), norms(problem.rows) {
        if (coded) {
            const Codes made(problem, scan_stride);
            codes = std::make_unique<Array<int8_t>>(made.values);
            scales = std::make_unique<Array<float>>(made.scales);
            residual_norms = std::make_unique<Array<float>>(made.residual_norms);
        }
        toller_row_norms_args args{};
        args.rows = scanned(0);
        args.scales = coded ? scales->data() : nullptr;
        args.norms = norms.data();
        args.row_count = problem.rows, args.dim = problem.dim, args.stride = scan_stride;
        run(coded ? "code_norms" : std::string("row_norms_") + name_of(problem.type), args, 3, 1, TOLLER_ROW_THREADS);
    }

    const void *scanned(uint32_t row) const {
        const auto *bytes = codes ? reinterpret_cast<const unsigned char *>(codes->data()) : rows.data();
        return bytes + static_cast<size_t>(row) * scan_stride;
    }
};

uint32_t shared_of(const std::string &tile) {
    return tile == "8" ? TOLLER_SCAN_SHARED_8 : tile == "64" ? TOLLER_SCAN_SHARED_64
                                            : tile == "256"  ? TOLLER_SCAN_SHARED_256
                                                             : TOLLER_SCAN_SHARED_TMA;
}

uint32_t rows_of(const std::string &tile) { return tile == "tma" ? TOLLER_SCAN_TMA_ROWS : TOLLER_SCAN_ROWS; }

toller_tensor_map map_of(const void *matrix, uint32_t rows, uint32_t stride, uint32_t box_rows) {
    toller_tensor_map map;
    CHECK(toller_shim_tensor_map(&map, matrix, stride, rows, stride, box_rows) == 0, "%u rows of %u bytes", rows, stride);
    return map;
}

// Half of the queries, up to the end of a tile.
uint32_t pairs_of(uint32_t queries, const std::string &tile) {
    const uint32_t width = tile == "8" ? 8 : tile == "64" ? 64 : tile == "tma" ? TOLLER_SCAN_TMA_QUERIES : 256;
    return (queries + width - 1) / width * width / 2;
}

// Queries, candidates and thresholds on the device, and the launches.
struct Search {
    const Problem &problem;
    const Plan &plan;
    const Device device;
    Array<float> queries;
    Array<unsigned char> prepared;
    Array<toller_query_facts> facts;
    Array<toller_query_pair> pairs;
    Array<float> ratio, thresholds, guesses, aims;
    Array<toller_candidate> candidates;
    Array<uint32_t> counts, bounded, nominated, allowed, excluded;
    Array<uint64_t> offsets;
    Found found;
    std::vector<bool> is_incomplete;

    Search(const Problem &problem, const Plan &plan)
        : problem(problem), plan(plan), device(problem, plan.codes), queries(problem.query_numbers),
          prepared(static_cast<size_t>(problem.queries) * device.scan_stride), facts(problem.queries), pairs(pairs_of(problem.queries, plan.tile)),
          ratio(std::vector<float>{0}), thresholds(problem.queries), guesses(problem.queries), aims(problem.queries),
          candidates(static_cast<size_t>(problem.queries) * plan.capacity), counts(problem.queries), bounded(problem.queries),
          nominated(problem.queries), allowed(problem.allowed), excluded(joined()), offsets(ends()) {
        start();
        toller_prepare_queries_args args{};
        args.queries = queries.data(), args.prepared = prepared.data();
        args.facts = facts.data(), args.residual_ratio = ratio.data();
        args.query_count = problem.queries, args.dim = problem.dim, args.stride = device.scan_stride;
        run("prepare_queries_" + type(), args, 2, 1, TOLLER_ROW_THREADS);
    }

    void start() {
        toller_start_args args{};
        args.thresholds = thresholds.data(), args.guesses = guesses.data(), args.counts = counts.data();
        args.bounded = bounded.data(), args.nominated = nominated.data(), args.query_count = problem.queries;
        run("start", args, (problem.queries + TOLLER_ROW_THREADS - 1) / TOLLER_ROW_THREADS, 1, TOLLER_ROW_THREADS);
    }

    std::string type() const { return plan.codes ? "int8" : name_of(problem.type); }

    std::vector<uint32_t> joined() const {
        std::vector<uint32_t> all;
        for (const auto &list : problem.excluded) all.insert(all.end(), list.begin(), list.end());
        return all;
    }

    std::vector<uint64_t> ends() const {
        std::vector<uint64_t> ends{0};
        for (const auto &list : problem.excluded) ends.push_back(ends.back() + list.size());
        return ends;
    }

    // Scans a sample of the tiles of some rows, or all other tiles.
    void scan_part(uint32_t first, uint32_t rows, bool is_sample) {
        toller_cutoffs_args of_queries{};
        of_queries.facts = facts.data(), of_queries.thresholds = thresholds.data(), of_queries.pairs = pairs.data();
        of_queries.guesses = guesses.data(), of_queries.counts = counts.data(), of_queries.capacity = plan.capacity;
        of_queries.query_count = problem.queries, of_queries.pair_count = pairs_of(problem.queries, plan.tile);
        run("cutoffs", of_queries, 2, 1, TOLLER_ROW_THREADS);
        toller_scan_args args{};
        args.rows = device.scanned(first), args.queries = prepared.data();
        args.row_norms = device.norms.data() + first;
        if (plan.codes) {
            args.row_scales = device.scales->data() + first;
            args.row_residual_norms = device.residual_norms->data() + first;
            args.residual_ratio = ratio.data();
        }
        args.pairs = pairs.data();
        if (!problem.allowed.empty()) args.allowed = allowed.data();
        args.allowed_words = static_cast<uint32_t>(problem.allowed.size());
        if (!problem.excluded.empty()) args.excluded = excluded.data(), args.excluded_offsets = offsets.data();
        args.candidates = candidates.data(), args.counts = counts.data();
        args.row_count = rows, args.first_ordinal = problem.first_ordinal + first;
        args.query_count = problem.queries, args.stride = device.scan_stride, args.capacity = plan.capacity;
        const uint32_t tile_rows = rows_of(plan.tile), tiles = (rows + tile_rows - 1) / tile_rows;
        const uint32_t sampled = (tiles + TOLLER_SCAN_SAMPLE - 1) / TOLLER_SCAN_SAMPLE;
        args.tile_step = is_sample ? TOLLER_SCAN_SAMPLE : 1, args.skips = is_sample ? 0 : 1;
        args.tile_count = is_sample ? sampled : tiles - sampled;
        const std::string kernel = "scan_" + type() + "_" + plan.tile;
        if (plan.tile != std::string("tma")) {
            run(kernel, args, plan.blocks, 1, TOLLER_SCAN_THREADS, shared_of(plan.tile));
            return;
        }
        toller_scan_tma_args mapped{};
        mapped.rows = map_of(args.rows, rows, args.stride, TOLLER_SCAN_TMA_ROWS);
        mapped.queries = map_of(args.queries, problem.queries, args.stride, TOLLER_SCAN_TMA_QUERIES);
        mapped.scan = args;
        run(kernel, mapped, plan.blocks, 1, TOLLER_SCAN_TMA_THREADS, shared_of(plan.tile));
    }

    void scan(uint32_t first, uint32_t rows) {
        for (const bool is_sample : {true, false}) scan_part(first, rows, is_sample);
    }

    void select(uint32_t depth = 0, bool undo = false, bool verify = false, bool aims_too = false) {
        toller_select_args args{};
        if (aims_too) args.aims = aims.data();
        args.depth = depth, args.undo = undo, args.verify = verify, args.guesses = guesses.data();
        args.candidates = candidates.data(), args.counts = counts.data(), args.thresholds = thresholds.data();
        args.bounded = bounded.data(), args.facts = facts.data();
        args.query_count = problem.queries, args.capacity = plan.capacity, args.k = problem.k;
        run("select", args, problem.queries, 1, TOLLER_SELECT_THREADS, TOLLER_SELECT_SHARED);
    }

    // Scores all candidates; those of codes as the driver does: first those whose middle reaches the query's aim.
    void score() {
        if (plan.codes) {
            select(0, false, false, true);
            rescore(true);
            select();
        }
        rescore(false);
    }

    void rescore(bool aimed) {
        const auto before = held();
        toller_rescore_args args{};
        if (aimed) args.aims = aims.data();
        args.rows = device.rows.data(), args.queries = queries.data(), args.candidates = candidates.data();
        args.counts = counts.data(), args.row_count = problem.rows, args.first_ordinal = problem.first_ordinal;
        args.query_count = problem.queries, args.dim = problem.dim, args.stride = device.stride;
        args.capacity = plan.capacity, args.nominated = nominated.data();
        run(std::string("rescore_") + name_of(problem.type), args, problem.queries, 2, TOLLER_RESCORE_THREADS, TOLLER_RESCORE_SHARED);
        const auto after = held();
        const auto of_queries = aims.read();
        const auto number = numbers_of_held();
        for (size_t i = 0; i < after.size(); ++i) {
            const auto middle = before[i].lower / 2 + before[i].upper / 2;
            if (aimed && middle < of_queries[number[i]]) {
                CHECK(std::memcmp(&before[i], &after[i], sizeof before[i]) == 0, "scored, though it does not reach the aim");
                ++found.left_for_later;
                continue;
            }
            // NaN is not equal to itself.
            CHECK(!(after[i].lower != after[i].upper) || after[i].lower != after[i].lower, "not rescored");
        }
    }

    // All candidates of all complete queries.
    std::vector<toller_candidate> held() const {
        std::vector<toller_candidate> all;
        const auto counted = counts.read();
        for (uint32_t query = 0; query < problem.queries; ++query) {
            if (counted[query] > plan.capacity) continue;
            const auto *first = candidates.data() + static_cast<size_t>(query) * plan.capacity;
            all.insert(all.end(), first, first + counted[query]);
        }
        return all;
    }

    // The query of each of them.
    std::vector<uint32_t> numbers_of_held() const {
        std::vector<uint32_t> all;
        const auto counted = counts.read();
        for (uint32_t query = 0; query < problem.queries; ++query) {
            if (counted[query] <= plan.capacity) all.insert(all.end(), counted[query], query);
        }
        return all;
    }

    std::vector<std::vector<toller_hit>> best() {
        is_incomplete.clear();
        Array<toller_hit> hits(static_cast<size_t>(problem.queries) * problem.k);
        Array<uint32_t> hit_counts(problem.queries);
        Array<uint64_t> scratch(static_cast<size_t>(problem.queries) * problem.k * 2);
        toller_best_args args{};
        args.candidates = candidates.data(), args.counts = counts.data(), args.hits = hits.data();
        args.hit_counts = hit_counts.data();
        if (problem.k > TOLLER_BEST_IN_SHARED) args.scratch = scratch.data();
        args.query_count = problem.queries, args.capacity = plan.capacity, args.k = problem.k;
        run("best", args, problem.queries, 1, TOLLER_SELECT_THREADS, TOLLER_BEST_SHARED);
        std::vector<std::vector<toller_hit>> of_queries;
        const auto all = hits.read();
        for (uint32_t query = 0; query < problem.queries; ++query) {
            const auto first = all.begin() + static_cast<size_t>(query) * problem.k;
            const uint32_t count = hit_counts.read()[query];
            is_incomplete.push_back(count == TOLLER_INCOMPLETE);
            of_queries.emplace_back(first, first + (count == TOLLER_INCOMPLETE ? 0 : count));
        }
        return of_queries;
    }

    uint32_t room() const {
        const auto counted = counts.read();
        return plan.capacity - *std::max_element(counted.begin(), counted.end());
    }

    // Scores all candidates, and keeps the k best of each query.
    void make_room() {
        score();
        const auto hits = best();
        auto all = candidates.read();
        std::vector<uint32_t> kept;
        for (uint32_t query = 0; query < problem.queries; ++query) {
            for (uint32_t i = 0; i < hits[query].size(); ++i) {
                const toller_hit hit = hits[query][i];
                all[static_cast<size_t>(query) * plan.capacity + i] = {hit.ordinal, hit.score, hit.score};
            }
            kept.push_back(static_cast<uint32_t>(hits[query].size()));
        }
        candidates.write(all), counts.write(kept), bounded.write(kept);
    }

    // With thresholds only from bounds: a chunk that fills a buffer is taken back.
    void search_safely() {
        uint32_t chunk = room();
        for (uint32_t first = 0; first < problem.rows;) {
            const uint32_t rows = std::min(chunk, problem.rows - first);
            scan(first, rows);
            const auto counted = counts.read();
            if (*std::max_element(counted.begin(), counted.end()) > plan.capacity) {
                ++found.overflows;
                select(0, true);
                if (room() < plan.capacity / 2) make_room();
                chunk = std::max(chunk / 2, room());
                continue;
            }
            select();
            first += rows;
            chunk *= 4;
        }
        score();
        select();
        found.hits = best();
    }

    // With a guess from a sample, as the driver does first; then again for the queries that are incomplete.
    void search() {
        scan_part(0, problem.rows, true);
        select(std::min(problem.k, 2 * problem.k / TOLLER_SCAN_SAMPLE + plan.margin));
        scan_part(0, problem.rows, false);
        select();
        score();
        select(0, false, true);
        auto hits = best();
        const auto again = is_incomplete;
        start();
        search_safely();
        for (uint32_t query = 0; query < problem.queries; ++query) {
            found.incomplete += again[query];
            if (!again[query]) found.hits[query] = hits[query];
        }
    }
};

double inner_product(const float *query, const float *row, uint32_t dim) {
    double sums[16] = {};
    for (uint32_t i = 0; i < dim; ++i) sums[i % 16] += static_cast<double>(query[i]) * row[i];
    for (int half = 8; half > 0; half /= 2) {
        for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    }
    return sums[0];
}

bool admits(const Problem &problem, uint32_t query, uint32_t ordinal) {
    const bool allowed = problem.allowed.empty() || (ordinal / 32 < problem.allowed.size() &&
                                                     (problem.allowed[ordinal / 32] >> ordinal % 32 & 1) != 0);
    if (problem.excluded.empty()) return allowed;
    const auto &list = problem.excluded[query];
    return allowed && std::find(list.begin(), list.end(), ordinal) == list.end();
}

} // namespace

std::string launch(const std::string &kernel, const void *args, size_t bytes, uint32_t x, uint32_t y, uint32_t threads,
                   uint32_t shared) {
    char error[1024] = "";
    const int failed = toller_shim_launch(kernel.c_str(), args, bytes, x, y, threads, shared, error, sizeof(error));
    CHECK((failed != 0) == (error[0] != 0), "%s", error);
    return error;
}

void round_to(Type type, std::vector<float> &numbers) {
    for (float &x : numbers) {
        if (type == Type::F16) x = f16_to_f32(f32_to_f16(std::min(65504.0f, std::max(-65504.0f, x))));
        if (type == Type::Bf16) x = __uint_as_float(__float_as_uint(x) & 0xffff0000u);
    }
}

std::vector<std::vector<toller_hit>> reference(const Problem &problem) {
    std::vector<std::vector<toller_hit>> of_queries;
    for (uint32_t query = 0; query < problem.queries; ++query) {
        std::vector<toller_hit> hits;
        for (uint32_t row = 0; row < problem.rows; ++row) {
            const float *numbers = &problem.query_numbers[query * problem.dim];
            const uint32_t ordinal = problem.first_ordinal + row;
            if (!admits(problem, query, ordinal)) continue;
            const double score = inner_product(numbers, &problem.row_numbers[row * problem.dim], problem.dim);
            hits.push_back({ordinal, static_cast<float>(score)});
        }
        std::sort(hits.begin(), hits.end(), [](const toller_hit &a, const toller_hit &b) {
            return a.score != b.score ? a.score > b.score : a.ordinal < b.ordinal;
        });
        if (hits.size() > problem.k) hits.resize(problem.k);
        of_queries.push_back(hits);
    }
    return of_queries;
}

std::vector<std::vector<toller_candidate>> scanned(const Problem &problem, const Plan &plan) {
    Search search(problem, plan);
    search.scan(0, problem.rows);
    search.select();
    std::vector<std::vector<toller_candidate>> of_queries;
    const auto counts = search.counts.read();
    for (uint32_t query = 0; query < problem.queries; ++query) {
        const auto *first = search.candidates.data() + static_cast<size_t>(query) * plan.capacity;
        of_queries.emplace_back(first, first + std::min(counts[query], plan.capacity));
    }
    return of_queries;
}

Found search(const Problem &problem, const Plan &plan) {
    Search search(problem, plan);
    search.search();
    for (const uint32_t nominated : search.nominated.read()) search.found.nominated += nominated;
    return search.found;
}
