// The shared memory of a block. A shadow notes who touched each word last, to find accesses out of bounds,
// races, and reads of words that were never written or have not arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "order.h"

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
    // The same for a bulk copy, whose data are there for those that know of `mark`.
    unsigned char *arrive_by_proxy(uint32_t offset, uint32_t bytes, const Mark &mark);
    // Gives a place to an mbarrier: nothing else may touch it.
    void take(uint32_t offset, uint32_t bytes);

    size_t bytes() const { return memory.size(); }

  private:
    struct Word {
        Mark writer, reader;
        // A reader of another warp than that of `reader`.
        Mark other_reader;
        // How many fences the writer had made before it wrote.
        uint32_t fences = 0;
        bool is_atomic = false;
        bool is_awaited = false;
        // Whether a bulk copy wrote it, and whether an mbarrier has it.
        bool is_by_proxy = false;
        bool is_taken = false;
    };

    std::vector<unsigned char> memory;
    std::vector<Word> words;

    void check_bounds(uint32_t offset, uint32_t bytes) const;
    static void note(Word &word, uint32_t offset, Access access, const Mark &now);
};

} // namespace toller_shim
