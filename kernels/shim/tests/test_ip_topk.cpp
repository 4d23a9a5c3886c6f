// The top-k kernels against the definition, bit by bit.
//
//     test_ip_topk [NAME]     all tests, or those whose names contain NAME
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "check.h"
#include "data.h"

namespace {

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
constexpr const char *TILES[] = {"8", "64", "256", "tma"};

Plan plan_of(const char *tile, bool codes, uint32_t capacity, uint32_t blocks) {
    Plan plan;
    plan.tile = tile, plan.codes = codes, plan.capacity = capacity, plan.blocks = blocks;
    return plan;
}

std::string describe(const Problem &problem, const Plan &plan, int data) {
    return "type " + std::to_string(static_cast<int>(problem.type)) + ", data " + std::to_string(data) + ", tile " +
           plan.tile + (plan.codes ? " of codes" : "") + ", " + std::to_string(problem.rows) + " x " +
           std::to_string(problem.queries) + " x " + std::to_string(problem.dim);
}

// For every query and row: the score is within the scan's bounds, and for ordinary data these are not much
// wider than the rounding to the scan's type explains.
void bounds_hold_and_are_not_wide() {
    uint64_t seed = 100;
    for (const Data data : DATA) {
        for (const Type type : TYPES) {
            for (const bool codes : {false, true}) {
                ++seed;
                const Problem problem = problem_of(type, data, 130, 4, 64 + seed % 3 * 200, 130, seed);
                const Plan plan = plan_of(TILES[seed % std::size(TILES)], codes, 130, 2);
                const auto scores = reference(problem);
                const auto candidates = scanned(problem, plan);
                const std::string what = describe(problem, plan, static_cast<int>(data));
                for (uint32_t query = 0; query < problem.queries; ++query) {
                    CHECK(candidates[query].size() == problem.rows, "%s: %zu", what.c_str(), candidates[query].size());
                    std::vector<float> score_of(problem.rows);
                    for (const toller_hit hit : scores[query]) score_of[hit.ordinal] = hit.score;
                    for (const toller_candidate &candidate : candidates[query]) {
                        const float score = score_of[candidate.ordinal];
                        CHECK(candidate.lower <= score && score <= candidate.upper && candidate.lower < candidate.upper,
                              "%s: %.9g is not in %.9g to %.9g", what.c_str(), score, candidate.lower, candidate.upper);
                        if (data != Data::Random) continue;
                        // Lengths are about sqrt(dim / 3) each.
                        const double product = problem.dim / 3.0, half = (candidate.upper - candidate.lower) / 2;
                        const double unit = codes ? 1.0 / 100 : type == Type::Bf16 ? 1.0 / 300 : 1.0 / 700;
                        CHECK(half < 1.5 * unit * product, "%s: %.9g", what.c_str(), half / product);
                    }
                }
            }
        }
    }
}

// The largest error of a query's sums, as a share of the bounds' half-width.
double largest_share(const std::vector<toller_candidate> &candidates, const std::vector<toller_hit> &scores) {
    double largest = 0;
    for (const toller_hit hit : scores) {
        const auto is_it = [&](const toller_candidate &candidate) { return candidate.ordinal == hit.ordinal; };
        const auto found = std::find_if(candidates.begin(), candidates.end(), is_it);
        CHECK(found != candidates.end(), "row %u", hit.ordinal);
        const double middle = (static_cast<double>(found->lower) + found->upper) / 2;
        largest = std::max(largest, std::fabs(hit.score - middle) / (found->upper - middle));
    }
    return largest;
}

// With the worst data for each type and engine, scores come close to the bounds and never pass them. Bounds
// that are two or three times too narrow would fail.
void the_worst_data_stay_within_the_bounds() {
    for (const char *tile : TILES) {
        for (const Type type : TYPES) {
            for (const bool codes : {false, true}) {
                const Data data = codes ? Data::BetweenCodes : Data::Cut;
                const Problem problem = problem_of(type, data, 140, 2, 464, 140, 7);
                const Plan plan = plan_of(tile, codes, 140, 2);
                const auto scores = reference(problem);
                const auto candidates = scanned(problem, plan);
                // The bound charges twice what the least exact tensor core loses; tf32 loses more by cutting
                // rows.
                const double least = codes ? 0.95 : type == Type::F32 ? 0.8 : 0.4;
                for (uint32_t query = 0; query < problem.queries; ++query) {
                    const double share = largest_share(candidates[query], scores[query]);
                    CHECK(share > least && share < 1, "%s: %.3f", describe(problem, plan, static_cast<int>(data)).c_str(), share);
                }
            }
        }
    }
}

void hard_data_are_found_bit_by_bit() {
    uint64_t seed = 0;
    for (const Data data : DATA) {
        for (const char *tile : TILES) {
            Random random(++seed);
            const bool wide = tile[0] == '2' || tile[0] == 'w' || tile[0] == 't';
            const uint32_t rows = 1 + random.below(wide ? 250 : 400), dim = 1 + random.below(wide ? 100 : 200);
            const uint32_t queries = 1 + random.below(tile[0] == '6' ? 20 : 9);
            // Each kind of data is tested with each type, each tile with each type and with codes.
            const Type type = TYPES[(seed + seed / 5 * 2) % 3];
            const Problem problem = problem_of(type, data, rows, queries, dim, 1 + random.below(40), seed);
            const Plan plan = plan_of(tile, seed % 2 == 0, 200, 1 + random.below(4));
            check_same(search(problem, plan).hits, reference(problem), describe(problem, plan, static_cast<int>(data)));
        }
    }
}

// More queries than a tile has, and several tiles per block, in an order that depends on their number.
void tiles_of_queries_do_not_mix() {
    for (const char *tile : TILES) {
        const uint32_t queries = tile[0] == '8' ? 27 : tile[0] == '6' ? 130 : 260;
        // With bulk copies, several tiles are copied ahead, each with its table.
        const uint32_t rows = tile[0] == 't' ? 1000 : 270;
        const Problem problem = problem_of(Type::F16, Data::Random, rows, queries, 16, 3, queries);
        for (const uint32_t blocks : {1, 2}) {
            if (queries == 260 && (blocks == 1) == (tile[0] == 'w')) continue;
            const Plan plan = plan_of(tile, false, rows, blocks);
            check_same(search(problem, plan).hits, reference(problem), describe(problem, plan, 0));
        }
    }
}

void filters_leave_out_what_they_should() {
    constexpr const char *OF_SEED[] = {"8", "64", "tma"};
    for (uint64_t seed = 0; seed < 12; ++seed) {
        Random random(seed);
        Problem problem = problem_of(TYPES[seed % 3], DATA[seed % 3], 700, 5, 24, 30, seed);
        // Words for fewer rows than there are; whole tiles without any.
        problem.first_ordinal = 40 + random.below(100);
        problem.allowed.assign((problem.first_ordinal + 640) / 32, 0);
        for (uint32_t word = 0; word < problem.allowed.size(); ++word) {
            if (word < 5 || word > 17) problem.allowed[word] = random.bits() & random.bits();
        }
        for (uint32_t query = 0; query < problem.queries; ++query) {
            std::vector<uint32_t> excluded;
            for (uint32_t i = 0; i < 900; ++i) {
                if (random.below(query + 2) == 0) excluded.push_back(i);
            }
            problem.excluded.push_back(query == 3 ? std::vector<uint32_t>{} : excluded);
        }
        if (seed % 4 == 1) problem.allowed.clear();
        if (seed % 4 == 2) problem.excluded.clear();
        const Plan plan = plan_of(OF_SEED[seed / 4], seed % 3 == 0, 200, 3);
        check_same(search(problem, plan).hits, reference(problem), "filter " + std::to_string(seed));
    }
}

void many_hits_are_sorted() {
    for (const Data data : {Data::Random, Data::Duplicates, Data::SignedZeros}) {
        const uint32_t k = TOLLER_BEST_IN_SHARED + 333, rows = k + 1200;
        const Problem problem = problem_of(Type::F32, data, rows, 2, 8, k, 5);
        check_same(search(problem, plan_of("8", false, rows, 2)).hits, reference(problem), "many hits");
    }
}

void fewer_rows_than_hits_and_the_last_ordinals() {
    Problem problem = problem_of(Type::Bf16, Data::Random, 37, 3, 8, 100, 6);
    problem.first_ordinal = 0u - 37;
    const Found found = search(problem, plan_of("8", false, 64, 2));
    check_same(found.hits, reference(problem), "the last ordinals");
    CHECK(found.hits[0].size() == 37 && found.overflows == 0, "%zu hits", found.hits[0].size());
}

void full_buffers_are_counted_and_scanned_again() {
    // Every vector scores more than all before it, so that whole chunks are nominated.
    const Problem problem = problem_of(Type::F16, Data::Ascending, 600, 3, 32, 7, 9);
    const Found found = search(problem, plan_of("8", false, 40, 3));
    check_same(found.hits, reference(problem), "full buffers");
    CHECK(found.overflows > 3, "%u", found.overflows);
    CHECK(found.incomplete == 3, "%u", found.incomplete);
}

void guesses_that_are_too_high_are_noticed() {
    // A third of the rows is the sample. Of the 20 best, it holds more than 2 and fewer than 20.
    const Problem problem = problem_of(Type::F16, Data::Random, 400, 3, 64, 20, 12);
    for (const char *tile : TILES) {
        for (const bool codes : {false, true}) {
            Plan plan = plan_of(tile, codes, 400, 2);
            for (const uint32_t margin : {1, 20}) {
                plan.margin = margin;
                const Found found = search(problem, plan);
                check_same(found.hits, reference(problem), "guesses");
                CHECK(found.incomplete == (margin == 1 ? 3u : 0u), "%s, margin %u: %u", tile, margin, found.incomplete);
            }
        }
    }
}

void few_are_nominated() {
    const Problem problem = problem_of(Type::F16, Data::Random, 3000, 8, 128, 10, 10);
    for (const bool codes : {false, true}) {
        const Found found = search(problem, plan_of("8", codes, 600, 2));
        check_same(found.hits, reference(problem), "few");
        // The 10 best of each of 8 queries, and what the bounds add. Of the wide bounds of codes, the scores of the 10 best sums
        // leave little.
        CHECK(found.nominated >= 80 && found.nominated <= (codes ? 120u : 90u), "%u", static_cast<uint32_t>(found.nominated));
        CHECK((found.left_for_later > 0) == codes, "%llu wait for the best sums", static_cast<unsigned long long>(found.left_for_later));
    }
}

void what_is_not_finite_does_no_harm() {
    Problem problem = problem_of(Type::F32, Data::Random, 500, 4, 24, 10, 11);
    const float bad[] = {std::nanf(""), HUGE_VALF, -HUGE_VALF};
    for (uint32_t i = 0; i < problem.row_numbers.size(); i += 7) problem.row_numbers[i] = bad[i % 3];
    for (const bool codes : {false, true}) {
        for (const auto &hits : search(problem, plan_of("8", codes, 500, 2)).hits) CHECK(hits.size() == 10, "hits");
    }
}

} // namespace

int main(int count, char **arguments) {
    const std::string chosen = count > 1 ? arguments[1] : "";
    bool any = false;
    const auto run = [&](const char *name, void (*test)()) {
        if (!contains(name, chosen.c_str())) return;
        const auto start = std::chrono::steady_clock::now();
        test();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        std::printf("%s: %.1f s\n", name, took.count());
        any = true;
    };
#define RUN(TEST) run(#TEST, TEST)
    RUN(bounds_hold_and_are_not_wide);
    RUN(the_worst_data_stay_within_the_bounds);
    RUN(fewer_rows_than_hits_and_the_last_ordinals);
    RUN(full_buffers_are_counted_and_scanned_again);
    RUN(guesses_that_are_too_high_are_noticed);
    RUN(what_is_not_finite_does_no_harm);
    RUN(few_are_nominated);
    RUN(tiles_of_queries_do_not_mix);
    RUN(filters_leave_out_what_they_should);
    RUN(many_hits_are_sorted);
    RUN(hard_data_are_found_bit_by_bit);
    CHECK(any, "no test is called \"%s\"", chosen.c_str());
}
