// The kernels' sources, compiled for the host, and their launch by name.
#define TOLLER_SHIM 1

#include <cstdio>
#include <exception>

#include "device.h"
#include "shim.h"

#include "../encoder.cu"
#include "../encoder_attention.cu"
#include "../encoder_product.cu"
#include "../encoder_tma.cu"
#include "../ip_topk.cu"
#include "../ip_topk_scan.cu"
#include "../ip_topk_tma.cu"

using namespace toller_shim;

namespace {

// Bytes of a kernel's arguments, at most; they are aligned as on a GPU.
constexpr size_t MOST_ARGUMENT_BYTES = 4 << 10, ARGUMENT_ALIGNMENT = 128;

// The most shared memory of a block on any GPU that the kernels are made for (sm_90).
constexpr uint32_t MOST_SHARED_BYTES = 227 << 10;

struct Kernel {
    const char *name;
    size_t args_bytes;
    void (*run)(const void *args);
};

#define TOLLER_KERNEL_ENTRY(NAME, ARGS)                                                                               \
    {#NAME, sizeof(ARGS), [](const void *args) { NAME(*static_cast<const ARGS *>(args)); }},
const Kernel KERNELS[] = {TOLLER_IP_TOPK_KERNELS(TOLLER_KERNEL_ENTRY) TOLLER_IP_TOPK_SM90A_KERNELS(TOLLER_KERNEL_ENTRY)
                              TOLLER_ENCODER_KERNELS(TOLLER_KERNEL_ENTRY) TOLLER_ENCODER_SM90A_KERNELS(TOLLER_KERNEL_ENTRY)};

std::string launch(const Kernel &kernel, const void *args, size_t args_bytes, Index grid, uint32_t block_threads,
                   uint32_t shared_bytes) {
    if (args_bytes != kernel.args_bytes) {
        return "its arguments have " + std::to_string(kernel.args_bytes) + " bytes, not " + std::to_string(args_bytes);
    }
    if (shared_bytes > MOST_SHARED_BYTES) return std::to_string(shared_bytes) + " bytes of shared memory are too many";
    if (block_threads == 0 || block_threads > 1024) return std::to_string(block_threads) + " threads are no block";
    if (grid.x == 0 || grid.y == 0 || grid.y > 65535) return "a grid without blocks, or with too many";
    alignas(ARGUMENT_ALIGNMENT) unsigned char own_args[MOST_ARGUMENT_BYTES];
    std::memcpy(own_args, args, args_bytes);
    Block block(block_threads, shared_bytes);
    for (uint32_t y = 0; y < grid.y; ++y) {
        for (uint32_t x = 0; x < grid.x; ++x) {
            const std::string wrong = block.run([&] { kernel.run(own_args); }, {x, y, 0}, grid);
            if (!wrong.empty()) return wrong;
        }
    }
    return {};
}

} // namespace

size_t toller_shim_argument_bytes(const char *name) {
    for (const Kernel &kernel : KERNELS) {
        if (std::strcmp(kernel.name, name) == 0) return kernel.args_bytes;
    }
    return 0;
}

int toller_shim_launch(const char *name, const void *args, size_t args_bytes, uint32_t grid_x, uint32_t grid_y,
                       uint32_t block_threads, uint32_t shared_bytes, char *error, size_t error_bytes) {
    std::string wrong = "there is no such kernel";
    try {
        for (const Kernel &kernel : KERNELS) {
            if (std::strcmp(kernel.name, name) == 0) {
                wrong = launch(kernel, args, args_bytes, {grid_x, grid_y, 1}, block_threads, shared_bytes);
            }
        }
    } catch (const std::exception &problem) {
        wrong = problem.what();
    }
    if (wrong.empty()) return 0;
    std::snprintf(error, error_bytes, "%s: %s", name, wrong.c_str());
    return 1;
}
