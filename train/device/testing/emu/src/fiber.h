// Fibers: stacks of their own that a thread of the processor changes between.
#pragma once

#include <cstddef>

// hg_emu_switch pushes the registers that a C function must keep, stores the stack
// pointer at *from, and pops those of the stack at to.
extern "C" void hg_emu_switch(void **from, void *to);

namespace hg_emu {

// Stack is memory for one fiber. Below it lies a page that nothing may touch.
struct Stack {
  char *low;
  size_t size;
  size_t top;  // where a fiber begins, a multiple of 16 from low
  Stack *next; // among the free ones
};

// Fiber is a flow of control that is not running at the moment.
struct Fiber {
  void *at;     // its stack pointer
  Stack *stack; // null: the stack of the thread that called the library
};

// stack_reuse tells the address sanitizer that nothing lies below the caller's frame,
// where a thread that has ended ran before. The caller runs on s.
void stack_reuse(Stack *s);

// stack_take returns a free stack, or maps one. It ends the process without memory.
Stack *stack_take();
void stack_free(Stack *);

// stack_abandon tells the address sanitizer that no frame on a stack counts any more.
void stack_abandon(Stack *);

// stack_guards reports whether an address lies in a stack's guard page.
bool stack_guards(const void *address);

// fiber_start makes a fiber that will run entry on a stack. entry never returns.
void fiber_start(Fiber &fiber, Stack *stack, void (*entry)());

// fiber_switch leaves the running fiber, whose state goes to from, for another.
#ifdef HG_ASAN
void fiber_switch(Fiber &from, const Fiber &to);
#else
inline void fiber_switch(Fiber &from, const Fiber &to) { hg_emu_switch(&from.at, to.at); }
#endif

// fiber_entered is the first call of a fiber's entry; the address sanitizer is told.
void fiber_entered();

} // namespace hg_emu
