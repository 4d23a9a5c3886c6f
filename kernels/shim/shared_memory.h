// The shared memory of a block. A shadow notes who touched each word last, to find accesses out of bounds,
// races, and reads of words that were never written or have not arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace toller_shim {

enum class Access { Read, Write, Atomic };

class SharedMemory {
  public:
    // `bytes` bytes of 0xff that count as not written.
    void reset(size_t bytes);

    // Checks that the running thread may touch `bytes` bytes at `offset`, notes that it does, and returns
    // their place. All accesses are in words of four bytes.
    unsigned char *touch(uint32_t offset, uint32_t bytes, Access access);
    // A read by a unit that needs a proxy fence between ordinary writes and its reads (wgmma).
    const unsigned char *touch_by_proxy(uint32_t offset, uint32_t bytes);

    // Notes that the running thread copies to this place; until `arrive`, no thread may touch it.
    void await(uint32_t offset, uint32_t bytes);
    unsigned char *arrive(uint32_t offset, uint32_t bytes);

    size_t bytes() const { return memory.size(); }

  private:
    // An access: by which thread, and between which barriers.
    struct Mark {
        uint32_t thread = NOBODY;
        uint32_t block_epoch = 0;
        uint32_t warp_epoch = 0;
    };
    struct Word {
        Mark writer, reader;
        // A reader of another warp than that of `reader`.
        Mark other_reader;
        // How many fences the writer had made before it wrote.
        uint32_t fences = 0;
        bool is_atomic = false;
        bool is_awaited = false;
    };
    static constexpr uint32_t NOBODY = UINT32_MAX;

    std::vector<unsigned char> memory;
    std::vector<Word> words;

    void check_bounds(uint32_t offset, uint32_t bytes) const;
    static Mark mark();
    static bool is_before(const Mark &other, const Mark &now);
    static void note(Word &word, uint32_t offset, Access access, const Mark &now);
};

} // namespace toller_shim
