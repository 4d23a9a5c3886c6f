// The kernels of the top-k against the definition, bit by bit.
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>

#include "check.h"
#include "search.h"

namespace {

enum class Data { Random, AllEqual, Duplicates, OneBit, Outliers, Ascending, AntiCorrelated, Zeros, SignedZeros, Tiny, Huge, Magnitudes };
constexpr Data DATA[] = {Data::Random,         Data::AllEqual, Data::Duplicates,  Data::OneBit, Data::Outliers, Data::Ascending,
                         Data::AntiCorrelated, Data::Zeros,    Data::SignedZeros, Data::Tiny,   Data::Huge,     Data::Magnitudes};

std::vector<float> numbers(Random &random, size_t count) {
    std::vector<float> made(count);
    for (float &x : made) x = random.number();
    return made;
}

double score(const float *a, const float *b, uint32_t dim) {
    double sum = 0;
    for (uint32_t i = 0; i < dim; ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
}

// Data that are hard in one way or another.
void fill(Problem &problem, Data data, uint64_t seed) {
    Random random(seed);
    const uint32_t rows = problem.rows, dim = problem.dim;
    auto &queries = problem.query_numbers = numbers(random, static_cast<size_t>(problem.queries) * dim);
    auto &vectors = problem.row_numbers = numbers(random, static_cast<size_t>(rows) * dim);
    const auto base = numbers(random, dim * 3);
    const auto each = [&](const std::function<void(float *, uint32_t)> &change) {
        for (uint32_t row = 0; row < rows; ++row) change(&vectors[row * dim], row);
    };
    const auto scale_all = [&](float scale) {
        for (float &x : vectors) x *= scale;
        for (float &x : queries) x *= scale;
    };
    switch (data) {
    case Data::Random:
        break;
    case Data::AllEqual:
        each([&](float *row, uint32_t) { std::copy_n(base.begin(), dim, row); });
        break;
    case Data::Duplicates:
        each([&](float *row, uint32_t) { std::copy_n(base.begin() + random.below(3) * dim, dim, row); });
        break;
    case Data::OneBit:
        each([&](float *row, uint32_t) {
            std::copy_n(base.begin(), dim, row);
            float &x = row[random.below(dim)];
            x = std::nextafter(x, random.below(2) != 0 ? 2.0f : -2.0f);
        });
        break;
    case Data::Outliers:
        for (float &x : vectors) x *= random.below(50) == 0 ? 1e3f : 1.0f;
        for (float &x : queries) x *= random.below(50) == 0 ? 1e4f : 1.0f;
        break;
    case Data::Ascending:
        // Every vector beats all before it for the first query.
        each([&](float *row, uint32_t i) {
            const double of = score(row, queries.data(), dim), norm = score(queries.data(), queries.data(), dim);
            for (uint32_t j = 0; j < dim; ++j) row[j] += static_cast<float>((0.01 * i - of) / norm) * queries[j];
        });
        break;
    case Data::AntiCorrelated:
        each([&](float *row, uint32_t) {
            const float scale = std::fabs(random.number());
            for (uint32_t j = 0; j < dim; ++j) row[j] = -scale * base[j] + 1e-3f * row[j];
        });
        for (uint32_t i = 0; i < queries.size(); ++i) queries[i] = base[i % dim];
        break;
    case Data::Zeros:
        std::fill(vectors.begin(), vectors.end(), 0.0f);
        break;
    case Data::SignedZeros:
        for (auto *all : {&vectors, &queries}) {
            for (float &x : *all) x = (random.below(2) != 0 ? 1.0f : -1.0f) * (random.below(2) != 0 ? 0.0f : 1e-30f);
        }
        break;
    case Data::Tiny:
        for (float &x : vectors) x *= 1e-41f;
        break;
    case Data::Huge:
        scale_all(1e30f);
        break;
    case Data::Magnitudes:
        each([&](float *row, uint32_t) {
            const float scale = std::pow(10.0f, static_cast<float>(random.below(40)) - 20);
            for (uint32_t j = 0; j < dim; ++j) row[j] *= scale;
        });
        break;
    }
    round_to(problem.type, vectors);
}

void check_same(const std::vector<std::vector<toller_hit>> &got, const std::vector<std::vector<toller_hit>> &expected,
                const std::string &what) {
    CHECK(got.size() == expected.size(), "%s", what.c_str());
    for (size_t query = 0; query < got.size(); ++query) {
        CHECK(got[query].size() == expected[query].size(), "%s, query %zu: %zu hits, not %zu", what.c_str(), query,
              got[query].size(), expected[query].size());
        for (size_t i = 0; i < got[query].size(); ++i) {
            const toller_hit a = got[query][i], b = expected[query][i];
            CHECK(a.ordinal == b.ordinal && std::memcmp(&a.score, &b.score, 4) == 0,
                  "%s, query %zu, hit %zu: %u %.9g, not %u %.9g", what.c_str(), query, i, a.ordinal, a.score, b.ordinal,
                  b.score);
        }
    }
}

Problem problem_of(Type type, Data data, uint32_t rows, uint32_t queries, uint32_t dim, uint32_t k, uint64_t seed) {
    Problem problem;
    problem.type = type, problem.rows = rows, problem.queries = queries, problem.dim = dim, problem.k = k;
    fill(problem, data, seed);
    return problem;
}

constexpr Type TYPES[] = {Type::F16, Type::Bf16, Type::F32};

std::string describe(const Problem &problem, const Plan &plan, int data) {
    return "type " + std::to_string(static_cast<int>(problem.type)) + ", data " + std::to_string(data) + ", tile " +
           plan.tile + (plan.codes ? " of codes" : "") + ", " + std::to_string(problem.rows) + " x " +
           std::to_string(problem.queries) + " x " + std::to_string(problem.dim);
}

void hard_data_are_found_bit_by_bit() {
    uint64_t seed = 0;
    for (const Data data : DATA) {
        for (const Type type : TYPES) {
            for (const char *tile : {"8", "64", "256"}) {
                ++seed;
                Random random(seed);
                const bool wide = tile[0] == '2';
                const uint32_t rows = 1 + random.below(wide ? 300 : 500), dim = 8 * (1 + random.below(wide ? 12 : 24));
                const uint32_t queries = 1 + random.below(tile[0] == '8' ? 10 : wide ? 20 : 40);
                const Problem problem = problem_of(type, data, rows, queries, dim, 1 + random.below(40), seed);
                const auto expected = reference(problem);
                for (const bool codes : {false, true}) {
                    if (wide && (seed % 2 == 0) != codes) continue;
                    Plan plan;
                    plan.tile = tile, plan.codes = codes, plan.capacity = 150, plan.blocks = 1 + random.below(4);
                    const Found found = search(problem, plan);
                    check_same(found.hits, expected, describe(problem, plan, static_cast<int>(data)));
                }
            }
        }
    }
}

} // namespace

int main() {
    const auto timed = [](const char *name, void (*test)()) {
        const auto start = std::chrono::steady_clock::now();
        test();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        std::printf("%s: %.1f s\n", name, took.count());
    };
    timed("hard_data_are_found_bit_by_bit", hard_data_are_found_bit_by_bit);
}
