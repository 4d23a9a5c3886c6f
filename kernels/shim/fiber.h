// A stack to run a function on, with switching to it and away from it.
#pragma once

#include <cstddef>
#include <memory>

// May be defined elsewhere too, to try it.
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

    // The next switch to this fiber begins `function(of)`, which must never return, but switch away for good.
    void prepare(void (*function)(void *), void *of);
    // Leaves this fiber, which is the running one, for `other`; comes back when somebody switches to this one.
    void switch_to(Fiber &other);

  private:
    // Enough for a kernel's frames without optimization.
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
