// A stand-in for CUDA's driver on a machine without a GPU: the functions of libcuda.so.1 that Toller calls.
// The shim executes the kernels.
//
// For tests of builds with the feature `cuda`: kernels/driver/build makes the library, and LD_LIBRARY_PATH
// puts it in the driver's place. It is stricter than a GPU: work in a stream is done only when the stream is
// waited for, so that code that forgets to wait finds memory that was never written. And memory must be given
// back before the process ends without an error.
//
// TOLLER_STAND_IN says what it is, as in "driver=13000,devices=2,capability=90,memory=1000000000" (these are
// the defaults, with 1 device).
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "driver/results.h"
#include "driver/stand_in.h"
#include "shim/shim.h"

namespace {

// Of CUdevice_attribute.
enum Attribute { MULTIPROCESSORS = 16, CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76, SHARED_OPT_IN = 97, MEMORY_POOLS = 115 };

// Of CUfunction_attribute.
enum FunctionAttribute { SHARED_STATIC = 1, SHARED_DYNAMIC = 8, SHARED_PERCENT = 9 };

// Of CUtensorMapDataType and of CUtensorMapSwizzle.
enum Tensor { TENSOR_OF_BYTES = 0, TENSOR_SWIZZLE_128 = 3 };

constexpr uint32_t COMMON_SHARED_BYTES = 48 << 10;

struct Settings {
    int driver = 13000, devices = 1, capability = 90;
    size_t memory = 1000000000;

    Settings() {
        const char *text = std::getenv("TOLLER_STAND_IN");
        for (std::string rest = text ? text : ""; !rest.empty();) {
            const size_t comma = rest.find(',');
            const std::string part = rest.substr(0, comma);
            rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
            const size_t equals = part.find('=');
            const std::string name = part.substr(0, equals);
            const long long value = equals == std::string::npos ? 0 : std::atoll(part.c_str() + equals + 1);
            if (name == "driver") driver = int(value);
            else if (name == "devices") devices = int(value);
            else if (name == "capability") capability = int(value);
            else if (name == "memory") memory = size_t(value);
            else std::fprintf(stderr, "stand-in: TOLLER_STAND_IN has no setting %s\n", name.c_str());
        }
    }
};

const Settings settings;

struct Context {
    int device = 0, retained = 0;
    size_t used = 0;
    // The first failure of a kernel: the context cannot be used after it.
    Result failed = SUCCESS;
    std::vector<struct Stream *> streams;
};

struct Stream {
    Context *context;
    std::deque<std::function<Result()>> queued;
};

struct Event {
    // Of the last record.
    Stream *stream;
    std::chrono::steady_clock::time_point time;
    bool recorded;
};

struct Function {
    std::string name;
    size_t argument_bytes;
    uint32_t shared_bytes;
};

struct Allocation {
    Context *context;
    size_t bytes;
};

std::recursive_mutex one;
bool initialized = false;
Context contexts[64];
thread_local Context *current = nullptr;
std::map<uint64_t, Allocation> allocations;
std::map<void *, size_t> pinned;

using Guard = std::lock_guard<std::recursive_mutex>;

// Does the work of a stream.
Result drain(Stream *stream) {
    while (!stream->queued.empty() && stream->context->failed == SUCCESS) {
        const auto work = std::move(stream->queued.front());
        stream->queued.pop_front();
        stream->context->failed = work();
    }
    return stream->context->failed;
}

Result drain(Context *context) {
    for (Stream *stream : context->streams) drain(stream);
    return context->failed;
}

// Whether bytes of the device are all in one allocation of the current context.
bool is_mine(uint64_t address, size_t bytes) {
    auto next = allocations.upper_bound(address);
    if (next == allocations.begin()) return false;
    const auto &[start, allocation] = *--next;
    return allocation.context == current && address - start <= allocation.bytes && bytes <= allocation.bytes - (address - start);
}

void *pointer(uint64_t address) { return reinterpret_cast<void *>(address); }

Result put(void *handle, std::function<Result()> work) {
    auto *stream = static_cast<Stream *>(handle);
    if (!current || (stream && stream->context != current)) return INVALID_CONTEXT;
    if (current->failed != SUCCESS) return current->failed;
    if (stream) {
        stream->queued.push_back(std::move(work));
        return SUCCESS;
    }
    // The stream that waits for all others.
    const Result before = drain(current);
    return before != SUCCESS ? before : (current->failed = work());
}

// Whether a fatbin has code for the device: machine code of its major release, or PTX that is not newer. 0 if
// the bytes are not a fatbin.
Result has_code(const uint8_t *image) {
    const auto read = [&](size_t at, auto value) {
        std::memcpy(&value, image + at, sizeof value);
        return value;
    };
    if (read(0, uint32_t()) != 0xba55ed50) return INVALID_IMAGE;
    const size_t head = read(6, uint16_t()), end = head + read(8, uint64_t());
    for (size_t at = head; at < end;) {
        const int kind = read(at, uint16_t()), needs = int(read(at + 28, uint32_t()));
        const bool runs = kind == 2 ? needs / 10 == settings.capability / 10 && needs <= settings.capability
                                    : needs <= settings.capability;
        if (runs) return SUCCESS;
        at += read(at + 4, uint32_t()) + read(at + 8, uint64_t());
    }
    return NO_BINARY_FOR_GPU;
}

} // namespace

Result stand_in::queue(void *stream, std::function<Result()> work) {
    const Guard guard(one);
    return put(stream, std::move(work));
}

bool stand_in::owns(const void *address, size_t bytes) {
    const Guard guard(one);
    return is_mine(reinterpret_cast<uint64_t>(address), bytes);
}

#define API extern "C" __attribute__((visibility("default"))) Result

API cuDriverGetVersion(int *version) {
    *version = settings.driver;
    return SUCCESS;
}

API cuInit(unsigned flags) {
    if (flags != 0) return INVALID_VALUE;
    if (settings.devices == 0) return NO_DEVICE;
    initialized = true;
    return SUCCESS;
}

API cuGetErrorString(Result result, const char **text) {
    *text = name_of(result);
    return SUCCESS;
}

API cuGetErrorName(Result result, const char **text) { return cuGetErrorString(result, text); }

API cuDeviceGetCount(int *count) {
    *count = settings.devices;
    return initialized ? SUCCESS : NOT_INITIALIZED;
}

API cuDeviceGet(int *device, int ordinal) {
    if (!initialized) return NOT_INITIALIZED;
    if (ordinal < 0 || ordinal >= settings.devices) return INVALID_DEVICE;
    *device = ordinal;
    return SUCCESS;
}

API cuDeviceGetName(char *name, int bytes, int device) {
    std::snprintf(name, size_t(bytes), "stand-in %d", device);
    return SUCCESS;
}

API cuDeviceGetAttribute(int *value, int attribute, int) {
    switch (attribute) {
    case MULTIPROCESSORS: *value = 2; return SUCCESS;
    case CAPABILITY_MAJOR: *value = settings.capability / 10; return SUCCESS;
    case CAPABILITY_MINOR: *value = settings.capability % 10; return SUCCESS;
    case SHARED_OPT_IN: *value = (settings.capability >= 90 ? 227 : 163) << 10; return SUCCESS;
    case MEMORY_POOLS: *value = 0; return SUCCESS;
    default: return INVALID_VALUE;
    }
}

API cuDeviceTotalMem_v2(size_t *bytes, int) {
    *bytes = settings.memory;
    return SUCCESS;
}

API cuDevicePrimaryCtxRetain(Context **context, int device) {
    const Guard guard(one);
    *context = &contexts[device];
    (*context)->device = device;
    (*context)->retained += 1;
    return SUCCESS;
}

API cuDevicePrimaryCtxRelease_v2(int device) {
    const Guard guard(one);
    Context &context = contexts[device];
    if (--context.retained > 0 || context.used == 0) return SUCCESS;
    std::fprintf(stderr, "stand-in: device %d was left with %zu bytes allocated\n", device, context.used);
    std::_Exit(99);
}

API cuCtxGetCurrent(Context **context) {
    *context = current;
    return SUCCESS;
}

API cuCtxSetCurrent(Context *context) {
    current = context;
    return SUCCESS;
}

API cuCtxSynchronize() {
    const Guard guard(one);
    return current ? drain(current) : INVALID_CONTEXT;
}

API cuMemGetInfo_v2(size_t *free, size_t *total) {
    const Guard guard(one);
    if (!current) return INVALID_CONTEXT;
    *total = settings.memory;
    *free = settings.memory - current->used;
    return SUCCESS;
}

API cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    const Guard guard(one);
    if (!current) return INVALID_CONTEXT;
    if (bytes == 0) return INVALID_VALUE;
    if (bytes > settings.memory - current->used) return OUT_OF_MEMORY;
    void *memory = toller_shim_allocate(bytes);
    if (!memory) return OUT_OF_MEMORY;
    *address = reinterpret_cast<uint64_t>(memory);
    allocations[*address] = {current, bytes};
    current->used += bytes;
    return SUCCESS;
}

API cuMemFree_v2(uint64_t address) {
    const Guard guard(one);
    const auto found = allocations.find(address);
    if (found == allocations.end() || found->second.context != current) return INVALID_VALUE;
    const Result before = drain(current);
    current->used -= found->second.bytes;
    allocations.erase(found);
    toller_shim_free(pointer(address));
    return before;
}

API cuMemHostAlloc(void **start, size_t bytes, unsigned) {
    const Guard guard(one);
    if (!current) return INVALID_CONTEXT;
    *start = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!*start) return OUT_OF_MEMORY;
    pinned[*start] = bytes;
    return SUCCESS;
}

API cuMemFreeHost(void *start) {
    const Guard guard(one);
    const auto found = pinned.find(start);
    if (found == pinned.end()) return INVALID_VALUE;
    // Queued copies still read this memory.
    std::memset(start, 0xdd, found->second);
    pinned.erase(found);
    std::free(start);
    return SUCCESS;
}

API cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
    const Guard guard(one);
    if (!is_mine(to, bytes)) return INVALID_VALUE;
    return put(stream, [=] {
        std::memcpy(pointer(to), from, bytes);
        return SUCCESS;
    });
}

API cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
    const Guard guard(one);
    if (!is_mine(from, bytes)) return INVALID_VALUE;
    return put(stream, [=] {
        std::memcpy(to, pointer(from), bytes);
        return SUCCESS;
    });
}

API cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
    const Guard guard(one);
    if (!is_mine(to, bytes) || !is_mine(from, bytes)) return INVALID_VALUE;
    return put(stream, [=] {
        std::memmove(pointer(to), pointer(from), bytes);
        return SUCCESS;
    });
}

API cuMemsetD8Async(uint64_t to, uint8_t byte, size_t bytes, void *stream) {
    const Guard guard(one);
    if (!is_mine(to, bytes)) return INVALID_VALUE;
    return put(stream, [=] {
        std::memset(pointer(to), byte, bytes);
        return SUCCESS;
    });
}

API cuStreamCreate(Stream **stream, unsigned) {
    const Guard guard(one);
    if (!current) return INVALID_CONTEXT;
    *stream = new Stream{current, {}};
    current->streams.push_back(*stream);
    return SUCCESS;
}

API cuStreamSynchronize(Stream *stream) {
    const Guard guard(one);
    if (!stream) return cuCtxSynchronize();
    return drain(stream);
}

API cuStreamDestroy_v2(Stream *stream) {
    const Guard guard(one);
    const Result result = drain(stream);
    std::erase(stream->context->streams, stream);
    delete stream;
    return result;
}

API cuEventCreate(Event **event, unsigned) {
    const Guard guard(one);
    if (!current) return INVALID_CONTEXT;
    *event = new Event{nullptr, {}, false};
    return SUCCESS;
}

API cuEventRecord(Event *event, void *stream) {
    const Guard guard(one);
    event->stream = static_cast<Stream *>(stream);
    return put(stream, [=] {
        event->time = std::chrono::steady_clock::now();
        event->recorded = true;
        return SUCCESS;
    });
}

API cuEventSynchronize(Event *event) {
    const Guard guard(one);
    return event->stream ? drain(event->stream) : SUCCESS;
}

API cuEventElapsedTime(float *milliseconds, Event *start, Event *end) {
    if (!start->recorded || !end->recorded) return INVALID_HANDLE;
    *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
    return SUCCESS;
}

API cuEventDestroy_v2(Event *event) {
    const Guard guard(one);
    const Result result = event->stream ? drain(event->stream) : SUCCESS;
    delete event;
    return result;
}

API cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *start, const uint64_t *sizes, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int, int fill) {
    const Guard guard(one);
    if (!current) return INVALID_CONTEXT;
    const bool is_modelled = type == TENSOR_OF_BYTES && rank == 2 && box[0] == 128 && steps[0] == 1 && steps[1] == 1 && interleave == 0 &&
                             swizzle == TENSOR_SWIZZLE_128 && fill == 0;
    // A GPU finds out when it copies.
    if (!is_modelled || !is_mine(reinterpret_cast<uint64_t>(start), sizes[1] * strides[0])) return INVALID_VALUE;
    return toller_shim_tensor_map(map, start, sizes[0], sizes[1], strides[0], box[1]) == 0 ? SUCCESS : INVALID_VALUE;
}

API cuModuleLoadData(void **module, const void *image) {
    const Result found = has_code(static_cast<const uint8_t *>(image));
    // The module is not kept: the shim finds kernels by name.
    *module = const_cast<void *>(image);
    return found;
}

API cuModuleUnload(void *) { return SUCCESS; }

API cuModuleGetFunction(Function **function, void *, const char *name) {
    const Guard guard(one);
    const size_t bytes = toller_shim_argument_bytes(name);
    if (bytes == 0) return NOT_FOUND;
    static std::map<std::string, Function> functions;
    *function = &functions.try_emplace(name, Function{name, bytes, COMMON_SHARED_BYTES}).first->second;
    return SUCCESS;
}

API cuFuncGetAttribute(int *value, int attribute, Function *) {
    if (attribute != SHARED_STATIC) return INVALID_VALUE;
    *value = 0;
    return SUCCESS;
}

API cuFuncSetAttribute(Function *function, int attribute, int value) {
    if (attribute == SHARED_PERCENT) return value >= -1 && value <= 100 ? SUCCESS : INVALID_VALUE;
    if (attribute != SHARED_DYNAMIC) return INVALID_VALUE;
    int most = 0;
    cuDeviceGetAttribute(&most, SHARED_OPT_IN, 0);
    if (value < 0 || value > most) return INVALID_VALUE;
    function->shared_bytes = uint32_t(value);
    return SUCCESS;
}

API cuLaunchKernel(Function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned threads, unsigned y, unsigned z,
                   unsigned shared_bytes, void *stream, void **arguments, void **extra) {
    const Guard guard(one);
    if (grid_x == 0 || grid_y == 0 || grid_y > 65535 || grid_z != 1 || threads == 0 || threads > 1024 || y != 1 || z != 1 || extra ||
        shared_bytes > function->shared_bytes) {
        return INVALID_VALUE;
    }
    // The driver copies the argument before it returns; 8-byte words, since it holds pointers.
    std::vector<uint64_t> argument((function->argument_bytes + 7) / 8);
    std::memcpy(argument.data(), arguments[0], function->argument_bytes);
    return put(stream, [=] {
        char error[4096];
        const int wrong = toller_shim_launch(function->name.c_str(), argument.data(), function->argument_bytes, grid_x, grid_y, threads,
                                             shared_bytes, error, sizeof error);
        if (!wrong) return SUCCESS;
        std::fprintf(stderr, "stand-in: %s\n", error);
        return LAUNCH_FAILED;
    });
}
