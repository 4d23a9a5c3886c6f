// How the hard data are made.
#include "data.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "check.h"

namespace {

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

} // namespace

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
        // For the first query, every vector scores more than all before it.
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
        if (seed % 2 == 0) {
            scale_all(1e30f);
        } else {
            for (float &x : vectors) x *= 3e38f;
        }
        break;
    case Data::Magnitudes:
        each([&](float *row, uint32_t) {
            const float scale = std::pow(10.0f, static_cast<float>(random.below(40)) - 20);
            for (uint32_t j = 0; j < dim; ++j) row[j] *= scale;
        });
        break;
    case Data::Growing:
        for (auto *all : {&vectors, &queries}) {
            for (float &x : *all) x = std::fabs(x);
        }
        round_to(problem.type, queries);
        break;
    case Data::Cut: {
        // The largest fraction below 1; and of f32, all the bits that tf32 does not have.
        const float below_one = problem.type == Type::Bf16 ? 1 - 0x1p-8f : 1 - 0x1p-11f;
        const float largest = problem.type == Type::F32 ? 1 + 0x1p-10f - 0x1p-23f : 1.0f;
        each([&](float *row, uint32_t i) {
            const float scale = (i % 2 == 0 ? 1.0f : -1.0f) * static_cast<float>(1 << i % 3);
            for (uint32_t j = 0; j < dim; ++j) row[j] = scale * (j == 0 ? largest : 0x1p-12f * below_one);
        });
        for (uint32_t i = 0; i < queries.size(); ++i) queries[i] = i % dim == 0 ? 1.0f : 0x1p-11f;
        break;
    }
    case Data::BetweenCodes:
        each([&](float *row, uint32_t i) {
            for (uint32_t j = 0; j < dim; ++j) {
                const float towards = base[j] < 0 ? -1.0f : 1.0f;
                row[j] = j == 0 ? 127.0f : towards * (0.49f + static_cast<float>(i % 3));
            }
        });
        for (uint32_t i = 0; i < queries.size(); ++i) queries[i] = base[i % dim] < 0 ? -1.0f : 1.0f;
        break;
    }
    round_to(problem.type, vectors);
}
