// What the benchmarks of kernels share: checked calls, arrays, times by events, lines of JSON.
//
// A benchmark is a program of its own: nvcc of the machine with the GPU compiles it in seconds, without Rust.
// It prints an object of JSON a line. With the argument --once it launches every kernel once, for a profiler.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#define CHECKED(CALL)                                                                                                  \
    do {                                                                                                               \
        const cudaError_t wrong = (CALL);                                                                              \
        if (wrong != cudaSuccess) {                                                                                    \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #CALL, cudaGetErrorString(wrong));             \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (false)

// Ends the program when a result is wrong.
inline void require(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "not so: %s\n", what);
    std::exit(1);
}

// An array on the device.
template <class T>
class Array {
  public:
    explicit Array(size_t count) : count(count) { CHECKED(cudaMalloc(&memory, count * sizeof(T))); }
    explicit Array(const std::vector<T> &values) : Array(values.size()) {
        CHECKED(cudaMemcpy(memory, values.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~Array() { cudaFree(memory); }
    Array(const Array &) = delete;
    Array &operator=(const Array &) = delete;

    T *data() const { return memory; }
    size_t bytes() const { return count * sizeof(T); }
    std::vector<T> read() const {
        std::vector<T> values(count);
        CHECKED(cudaMemcpy(values.data(), memory, bytes(), cudaMemcpyDeviceToHost));
        return values;
    }

  private:
    size_t count;
    T *memory = nullptr;
};

// A pseudo-random number for each index (SplitMix64).
__device__ inline uint64_t mixed(uint64_t index) {
    index = index * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull;
    index = (index ^ index >> 30) * 0xbf58476d1ce4e5b9ull;
    index = (index ^ index >> 27) * 0x94d049bb133111ebull;
    return index ^ index >> 31;
}

// The device, and how it is asked to run.
struct Machine {
    int multiprocessors, major, minor;
    // The most shared memory of a block.
    size_t shared;
    bool once;

    static Machine of(int count, char **arguments) {
        cudaDeviceProp facts;
        CHECKED(cudaGetDeviceProperties(&facts, 0));
        return {facts.multiProcessorCount, facts.major, facts.minor, facts.sharedMemPerBlockOptin, count > 1 && std::strcmp(arguments[1], "--once") == 0};
    }
    bool is_hopper() const { return major == 9 && minor == 0; }
};

// The median milliseconds of `launch`, each round after a `before` that does not count.
template <class Before, class Launch>
float milliseconds(const Machine &machine, Before before, Launch launch) {
    const int warm_ups = machine.once ? 0 : 2, rounds = machine.once ? 1 : 7;
    cudaEvent_t start, end;
    CHECKED(cudaEventCreate(&start));
    CHECKED(cudaEventCreate(&end));
    std::vector<float> times;
    for (int round = -warm_ups; round < rounds; ++round) {
        before();
        CHECKED(cudaEventRecord(start));
        launch();
        CHECKED(cudaGetLastError());
        CHECKED(cudaEventRecord(end));
        CHECKED(cudaEventSynchronize(end));
        float time;
        CHECKED(cudaEventElapsedTime(&time, start, end));
        if (round >= 0) times.push_back(time);
    }
    CHECKED(cudaEventDestroy(start));
    CHECKED(cudaEventDestroy(end));
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}
