// Switching of stacks: by hand on x86-64 Linux (quicker, since it makes no system calls), else by ucontext.
#include "fiber.h"

#include <cstdint>
#include <vector>

namespace toller_shim {

namespace {

// Unused stacks: every launch needs hundreds, and fresh memory costs more than what runs on it.
std::vector<std::unique_ptr<char[]>> spare_stacks;

} // namespace

Fiber::~Fiber() {
    if (stack) spare_stacks.push_back(std::move(stack));
}

void Fiber::take_stack() {
    if (stack) return;
    if (spare_stacks.empty()) {
        stack.reset(new char[STACK_BYTES]);
    } else {
        stack = std::move(spare_stacks.back());
        spare_stacks.pop_back();
    }
}

#ifdef TOLLER_SHIM_UCONTEXT

namespace {

// makecontext passes only integers: a pointer takes two.
void begin(unsigned function_high, unsigned function_low, unsigned of_high, unsigned of_low) {
    const auto joined = [](unsigned high, unsigned low) { return static_cast<uintptr_t>(high) << 16 << 16 | low; };
    const auto function = reinterpret_cast<void (*)(void *)>(joined(function_high, function_low));
    function(reinterpret_cast<void *>(joined(of_high, of_low)));
}

} // namespace

void Fiber::prepare(void (*function)(void *), void *of) {
    take_stack();
    getcontext(&context);
    context.uc_stack.ss_sp = stack.get();
    context.uc_stack.ss_size = STACK_BYTES;
    context.uc_link = nullptr;
    const auto high = [](uintptr_t x) { return static_cast<unsigned>(x >> 16 >> 16); };
    const auto low = [](uintptr_t x) { return static_cast<unsigned>(x); };
    const auto f = reinterpret_cast<uintptr_t>(function), a = reinterpret_cast<uintptr_t>(of);
    makecontext(&context, reinterpret_cast<void (*)()>(begin), 4, high(f), low(f), high(a), low(a));
}

void Fiber::switch_to(Fiber &other) { swapcontext(&context, &other.context); }

#else

extern "C" void toller_shim_switch(void **from, void *to);
extern "C" void toller_shim_begin();

// Pushes the registers that a call preserves (System V ABI) on the old stack and pops them from the new one.
// A new fiber's stack looks as if it had been left at the first instruction of toller_shim_begin, with
// function and argument in rbx and r12.
asm(R"(
    .text
    .type toller_shim_switch, @function
toller_shim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size toller_shim_switch, .-toller_shim_switch

    .type toller_shim_begin, @function
toller_shim_begin:
    movq %r12, %rdi
    call *%rbx
    ud2
    .size toller_shim_begin, .-toller_shim_begin
)");

void Fiber::prepare(void (*function)(void *), void *of) {
    take_stack();
    const auto end = reinterpret_cast<uintptr_t>(stack.get() + STACK_BYTES) / 16 * 16;
    void **top = reinterpret_cast<void **>(end);
    *--top = nullptr;                                     // aligns the call in toller_shim_begin
    *--top = nullptr;                                     // and ends the chain of frames
    *--top = reinterpret_cast<void *>(toller_shim_begin); // where `ret` goes
    *--top = nullptr;                                     // rbp
    *--top = reinterpret_cast<void *>(function);          // rbx
    *--top = of;                                          // r12
    for (int i = 0; i < 3; ++i) *--top = nullptr;         // r13, r14, r15
    stack_pointer = top;
}

void Fiber::switch_to(Fiber &other) { toller_shim_switch(&stack_pointer, other.stack_pointer); }

#endif

} // namespace toller_shim
