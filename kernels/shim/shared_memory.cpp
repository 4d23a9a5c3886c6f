#include "shared_memory.h"

#include <string>

#include "block.h"

namespace toller_shim {
namespace {

constexpr uint32_t WORD = 4;

std::string at(uint32_t offset) { return " at byte " + std::to_string(offset) + " of shared memory"; }

} // namespace

void SharedMemory::reset(size_t bytes) {
    memory.assign(bytes, 0xff);
    words.assign((bytes + WORD - 1) / WORD, Word{});
}

void SharedMemory::check_bounds(uint32_t offset, uint32_t bytes) const {
    if (offset % WORD != 0 || bytes % WORD != 0) fail("touches part of a word" + at(offset));
    if (offset > memory.size() || bytes > memory.size() - offset) {
        fail("touches " + std::to_string(bytes) + " bytes" + at(offset) + ", which has " +
             std::to_string(memory.size()));
    }
}

void SharedMemory::note(Word &word, uint32_t offset, Access access, const Mark &now) {
    const auto race = [&](const char *what, const Mark &other) {
        const bool is_copy = other.block_epoch == Mark::NO_EPOCH;
        fail(std::string("races: ") + what + at(offset) + " that " +
             (is_copy ? "a bulk copy" : "thread " + std::to_string(other.thread)) + (other.thread == word.writer.thread ? " writes" : " reads") + " between the same barriers");
    };
    if (word.is_taken) fail("touches an mbarrier" + at(offset));
    if (word.is_awaited) fail("touches what an asynchronous copy has not brought yet" + at(offset));
    const bool both_atomic = access == Access::Atomic && word.is_atomic;
    if (!both_atomic && !word.writer.is_before_now()) {
        race(access == Access::Read ? "reads a word" : "writes a word", word.writer);
    }
    if (access != Access::Write && word.writer.thread == Mark::NOBODY) fail("reads what nobody has written" + at(offset));
    if (access == Access::Read) {
        if (word.reader.thread != Mark::NOBODY && word.reader.thread / 32 != now.thread / 32) {
            word.other_reader = word.reader;
        }
        word.reader = now;
        return;
    }
    for (const Mark &reader : {word.reader, word.other_reader}) {
        if (!reader.is_before_now()) race("writes a word", reader);
    }
    word.writer = now;
    word.fences = running().fences;
    word.is_atomic = access == Access::Atomic;
    word.is_by_proxy = false;
}

unsigned char *SharedMemory::touch(uint32_t offset, uint32_t bytes, Access access) {
    check_bounds(offset, bytes);
    const Mark now = Mark::now();
    for (uint32_t byte = offset; byte < offset + bytes; byte += WORD) note(words[byte / WORD], byte, access, now);
    return memory.data() + offset;
}

const unsigned char *SharedMemory::touch_by_proxy(uint32_t offset, uint32_t bytes) {
    touch(offset, bytes, Access::Read);
    for (uint32_t byte = offset; byte < offset + bytes; byte += WORD) {
        const Word &word = words[byte / WORD];
        if (!word.is_by_proxy && block().thread(word.writer.thread).fences == word.fences) {
            fail("reads by the asynchronous proxy what was written without a fence" + at(byte));
        }
    }
    return memory.data() + offset;
}

void SharedMemory::await(uint32_t offset, uint32_t bytes) {
    touch(offset, bytes, Access::Write);
    for (uint32_t byte = offset; byte < offset + bytes; byte += WORD) words[byte / WORD].is_awaited = true;
}

unsigned char *SharedMemory::arrive(uint32_t offset, uint32_t bytes) {
    for (uint32_t byte = offset; byte < offset + bytes; byte += WORD) {
        Word &word = words[byte / WORD];
        word.is_awaited = false;
        word.writer = Mark::now();
        word.fences = running().fences;
    }
    return memory.data() + offset;
}

unsigned char *SharedMemory::arrive_by_proxy(uint32_t offset, uint32_t bytes, const Mark &mark) {
    for (uint32_t byte = offset; byte < offset + bytes; byte += WORD) {
        Word &word = words[byte / WORD];
        word.is_awaited = false;
        word.writer = mark;
        word.is_by_proxy = true;
    }
    return memory.data() + offset;
}

void SharedMemory::take(uint32_t offset, uint32_t bytes) {
    touch(offset, bytes, Access::Write);
    for (uint32_t byte = offset; byte < offset + bytes; byte += WORD) words[byte / WORD].is_taken = true;
}

} // namespace toller_shim
