// A stack to run a function on, with switching to it and away from it.
#pragma once

#include <cstddef>
#include <memory>

// Can also be defined elsewhere, to try this way.
#if !(defined(__x86_64__) && defined(__linux__)) && !defined(TOLLER_SHIM_UCONTEXT)
#define TOLLER_SHIM_UCONTEXT
#endif
#ifdef TOLLER_SHIM_UCONTEXT
#include <ucontext.h>
#endif

namespace toller_shim {

class Fiber {
  public:
    Fiber() = default;
    ~Fiber();
    Fiber(const Fiber &) = delete;
    Fiber &operator=(const Fiber &) = delete;

    // The next switch to this fiber begins `function(of)`, which switches away at its end and never returns.
    void prepare(void (*function)(void *), void *of);
    // Leaves this fiber, which is running, for `other`; returns when another fiber switches back.
    void switch_to(Fiber &other);

  private:
    // Enough for the frames of a kernel that is compiled without optimization.
    static constexpr size_t STACK_BYTES = 128 << 10;

    std::unique_ptr<char[]> stack;

    void take_stack();

#ifdef TOLLER_SHIM_UCONTEXT
    ucontext_t context;
#else
    void *stack_pointer = nullptr;
#endif
};

} // namespace toller_shim
