// A fatbin is a head and parts, each a head and code for one capability. NVIDIA does not describe the format; what is
// used here is the same in those of CUDA 12 and 13. Those of CUDA 13 are compressed: the system's libzstd reads them.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

#include "driver/fatbin.h"

namespace {

constexpr uint32_t MAGIC = 0xba55ed50;

enum Kind { PTX = 1, MACHINE_CODE = 2 };

// Flags of a part. Code for sm_90a runs on 9.0, and on nothing newer.
constexpr uint64_t ZSTD = 0x8000, FOR_ONE_CAPABILITY = 0x100000;

template <class T>
T read(const uint8_t *from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

struct Part {
    const uint8_t *start;

    int kind() const { return read<uint16_t>(start); }
    size_t head() const { return read<uint32_t>(start + 4); }
    size_t bytes() const { return read<uint64_t>(start + 8); }
    size_t compressed_bytes() const { return read<uint32_t>(start + 16); }
    int capability() const { return int(read<uint32_t>(start + 28)); }
    uint64_t flags() const { return read<uint64_t>(start + 40); }
    size_t uncompressed_bytes() const { return read<uint64_t>(start + 56); }

    bool runs_on(int device) const {
        if (flags() & FOR_ONE_CAPABILITY) return capability() == device;
        return capability() <= device && (kind() == PTX || capability() / 10 == device / 10);
    }

    // Machine code is preferred to PTX, and newer code to older.
    bool is_preferred_to(const Part &other) const {
        return kind() != other.kind() ? kind() == MACHINE_CODE : capability() > other.capability();
    }
};

// The code of a part; empty if it cannot be decompressed.
std::string code_of(const Part &part) {
    const uint8_t *code = part.start + part.head();
    if (!(part.flags() & ZSTD)) return {reinterpret_cast<const char *>(code), part.bytes()};
    using Decompress = size_t (*)(void *, size_t, const void *, size_t);
    static void *const library = dlopen("libzstd.so.1", RTLD_NOW);
    static const auto decompress = library ? reinterpret_cast<Decompress>(dlsym(library, "ZSTD_decompress")) : nullptr;
    if (!decompress) {
        std::fprintf(stderr, "stand-in: the kernels are compressed, and there is no libzstd.so.1\n");
        return {};
    }
    std::string text(part.uncompressed_bytes(), '\0');
    const size_t done = decompress(text.data(), text.size(), code, part.compressed_bytes());
    return done == text.size() ? text : std::string();
}

} // namespace

Result stand_in::find_code(const void *fatbin, int capability, std::string *code) {
    const auto *start = static_cast<const uint8_t *>(fatbin);
    if (read<uint32_t>(start) != MAGIC) return INVALID_IMAGE;
    Part best{nullptr};
    const uint8_t *end = start + read<uint16_t>(start + 6) + read<uint64_t>(start + 8);
    for (Part part{start + read<uint16_t>(start + 6)}; part.start < end; part.start += part.head() + part.bytes()) {
        if (part.runs_on(capability) && (!best.start || part.is_preferred_to(best))) best = part;
    }
    if (!best.start) return NO_BINARY_FOR_GPU;
    *code = code_of(best);
    return code->empty() ? INVALID_IMAGE : SUCCESS;
}

bool stand_in::has_kernel(const std::string &code, const std::string &name) {
    // The name of the kernel's section, which a zero byte ends; or its declaration in PTX.
    const std::string section = ".text." + name + '\0', entry = ".entry " + name + '(';
    return code.find(section) != std::string::npos || code.find(entry) != std::string::npos;
}
