// Assertions and pseudo-random numbers for tests.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

// Ends the program when a condition does not hold.
#define CHECK(CONDITION, ...)                                                                                          \
    do {                                                                                                               \
        if (!(CONDITION)) {                                                                                            \
            std::fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #CONDITION);                               \
            std::fprintf(stderr, __VA_ARGS__);                                                                         \
            std::fprintf(stderr, "\n");                                                                                \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (false)

inline bool contains(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

// Pseudo-random numbers (xorshift).
class Random {
  public:
    explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15u | 1) {}

    uint32_t bits() {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        return static_cast<uint32_t>(state >> 24);
    }

    uint32_t below(uint32_t n) { return bits() % n; }

    // In -1..1.
    float number() { return static_cast<float>(bits() % (1 << 24)) / (1 << 23) - 1; }

  private:
    uint64_t state;
};
