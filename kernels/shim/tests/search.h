// A search with the kernels through the shim, and what it must find.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ip_topk.h"

enum class Type { F16, Bf16, F32 };

// Rows and queries. Ordinals begin at `first_ordinal`.
struct Problem {
    Type type = Type::F16;
    uint32_t rows = 0, queries = 0, dim = 0, k = 0;
    uint32_t first_ordinal = 0;
    std::vector<float> row_numbers;   // [rows, dim], as stored: exact in `type`
    std::vector<float> query_numbers; // [queries, dim]
    std::vector<uint32_t> allowed;    // words, or empty for all
    std::vector<std::vector<uint32_t>> excluded; // per query, or empty
};

// How it is searched.
struct Plan {
    // "8", "64", "256" or "tma".
    const char *tile = "8";
    bool codes = false;
    uint32_t capacity = 0;
    uint32_t blocks = 2;
    // Candidates of a sample above what it is expected to hold of the k best: few make guesses too high.
    uint32_t margin = 5;
};

struct Found {
    std::vector<std::vector<toller_hit>> hits;
    // How many candidates of all queries were rescored.
    uint64_t nominated = 0;
    // How many candidates waited until the k best sums were scored.
    uint64_t left_for_later = 0;
    uint32_t overflows = 0;
    // How many queries were searched again.
    uint32_t incomplete = 0;
};

// Rounds numbers to `type`.
void round_to(Type type, std::vector<float> &numbers);

// The hits by definition: all scores in f64 in the fixed order, sorted.
std::vector<std::vector<toller_hit>> reference(const Problem &problem);

// The candidates of each query after one scan of all rows without thresholds.
std::vector<std::vector<toller_candidate>> scanned(const Problem &problem, const Plan &plan);

// The hits of the kernels. Ends the program when a launch fails.
Found search(const Problem &problem, const Plan &plan);

// Launches a kernel; returns the error.
std::string launch(const std::string &kernel, const void *args, size_t bytes, uint32_t x, uint32_t y, uint32_t threads,
                   uint32_t shared);
