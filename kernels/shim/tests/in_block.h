// Small kernels in one block, and the mistakes that they must be refused for.
#pragma once

#include <functional>
#include <string>

#include "../block.h"
#include "check.h"

// Runs a kernel in one block; returns its mistake.
inline std::string run(uint32_t threads, uint32_t shared_bytes, const std::function<void()> &kernel) {
    return toller_shim::Block(threads, shared_bytes).run(kernel, {0, 0, 0}, {1, 1, 1});
}

inline void check_runs(uint32_t threads, uint32_t shared_bytes, const std::function<void()> &kernel) {
    const std::string wrong = run(threads, shared_bytes, kernel);
    CHECK(wrong.empty(), "%s", wrong.c_str());
}

inline void check_fails(const char *expected, uint32_t threads, uint32_t shared_bytes, const std::function<void()> &kernel) {
    const std::string wrong = run(threads, shared_bytes, kernel);
    CHECK(contains(wrong, expected), "\"%s\" does not say \"%s\"", wrong.c_str(), expected);
}
