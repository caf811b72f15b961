#include "fiber.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

#ifdef HG_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__)
__asm__(R"(
.text
.globl hg_emu_switch
.hidden hg_emu_switch
.type hg_emu_switch, @function
hg_emu_switch:
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
.size hg_emu_switch, .-hg_emu_switch
)");
static const int saved_words = 6;  // below the return address
static const int frame_words = 8;  // and one, so that entry's stack is aligned
static const int return_word = 6;
#elif defined(__aarch64__)
__asm__(R"(
.text
.globl hg_emu_switch
.hidden hg_emu_switch
.type hg_emu_switch, %function
hg_emu_switch:
	sub sp, sp, #160
	stp x19, x20, [sp, #0]
	stp x21, x22, [sp, #16]
	stp x23, x24, [sp, #32]
	stp x25, x26, [sp, #48]
	stp x27, x28, [sp, #64]
	stp x29, x30, [sp, #80]
	stp d8, d9, [sp, #96]
	stp d10, d11, [sp, #112]
	stp d12, d13, [sp, #128]
	stp d14, d15, [sp, #144]
	mov x2, sp
	str x2, [x0]
	mov sp, x1
	ldp x19, x20, [sp, #0]
	ldp x21, x22, [sp, #16]
	ldp x23, x24, [sp, #32]
	ldp x25, x26, [sp, #48]
	ldp x27, x28, [sp, #64]
	ldp x29, x30, [sp, #80]
	ldp d8, d9, [sp, #96]
	ldp d10, d11, [sp, #112]
	ldp d12, d13, [sp, #128]
	ldp d14, d15, [sp, #144]
	add sp, sp, #160
	ret
.size hg_emu_switch, .-hg_emu_switch
)");
static const int frame_words = 20;
static const int return_word = 11; // x30
#else
#error "the emulator switches fibers on x86-64 and AArch64 only"
#endif

namespace hg_emu {

static const size_t guard_size = 64 << 10; // a multiple of every page size

#ifdef HG_ASAN
static const size_t stack_size = 256 << 10; // red zones make frames larger

// The stack that the library was called on, as the sanitizer knows it.
static const void *caller_low;
static size_t caller_size;
static bool left_caller;

static void arrived(void *shadow) {
  const void *low;
  size_t size;
  __sanitizer_finish_switch_fiber(shadow, &low, &size);
  if (!left_caller) return;
  caller_low = low;
  caller_size = size;
}
#else
static const size_t stack_size = 96 << 10;
#endif

// Stacks begin at differing distances from the end of their memory. Otherwise those of
// all threads would share a few lines of the processor's caches.
static const size_t colour_step = 9 * 64, colour_count = 49; // 27.6 KiB at most

static Stack *free_stacks;

// The guards of all stacks, for stack_guards: stacks are never unmapped.
static const int most_stacks = 2048;
static Stack *all_stacks[most_stacks];
static int stack_count;

static Stack *stack_map() {
  size_t size = guard_size + stack_size;
  void *p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED || mprotect(p, guard_size, PROT_NONE) != 0 || stack_count == most_stacks) {
    perror("hg emulator: no memory for the stack of a thread");
    abort();
  }
  size_t top = stack_size - stack_count % colour_count * colour_step;
  Stack *s = new Stack{(char *)p + guard_size, stack_size, top, nullptr};
  all_stacks[stack_count++] = s;
  return s;
}

Stack *stack_take() {
  Stack *s = free_stacks;
  if (s == nullptr) return stack_map();
  free_stacks = s->next;
  return s;
}

void stack_abandon(Stack *s) {
#ifdef HG_ASAN
  __asan_unpoison_memory_region(s->low, s->size);
#else
  (void)s;
#endif
}

void stack_reuse(Stack *s) {
#ifdef HG_ASAN
  const char *frame = (const char *)__builtin_frame_address(0);
  __asan_unpoison_memory_region(s->low, (size_t)(frame - s->low));
#else
  (void)s;
#endif
}

void stack_free(Stack *s) {
  stack_abandon(s);
  s->next = free_stacks;
  free_stacks = s;
}

bool stack_guards(const void *address) {
  for (int i = 0; i < stack_count; i++) {
    const char *low = all_stacks[i]->low;
    if ((const char *)address < low && (const char *)address >= low - guard_size) return true;
  }
  return false;
}

void fiber_start(Fiber &fiber, Stack *stack, void (*entry)()) {
  void **top = (void **)(stack->low + stack->top) - frame_words;
  for (int i = 0; i < frame_words; i++) top[i] = nullptr;
  top[return_word] = (void *)entry;
  fiber = {top, stack};
}

#ifdef HG_ASAN
void fiber_switch(Fiber &from, const Fiber &to) {
  void *shadow = nullptr;
  left_caller = from.stack == nullptr;
  const void *low = to.stack ? to.stack->low : caller_low;
  __sanitizer_start_switch_fiber(&shadow, low, to.stack ? to.stack->size : caller_size);
  hg_emu_switch(&from.at, to.at);
  arrived(shadow);
}
#endif

void fiber_entered() {
#ifdef HG_ASAN
  arrived(nullptr);
#endif
}

} // namespace hg_emu
