#include "fault.h"
#include "codes.h"
#include "fiber.h"
#include "launch.h"
#include "memory.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace hg_emu {

static std::atomic<long> executor; // the thread that runs queued work, 0: none

Executing::Executing() { executor = syscall(SYS_gettid); }
Executing::~Executing() {
  executor = 0;
  memory_close();
}

static const int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
static struct sigaction previous[32];

// What the handler leaves for landing.
static int fault_signal;
static uintptr_t fault_address;

// landing is where a kernel continues after it faulted.
[[noreturn]] static void landing() {
  void *address = (void *)fault_address;
  if (fault_signal == SIGFPE) launch_fail(error_launch_failed, "integer division by zero, or one that overflows");
  if (fault_signal == SIGILL || fault_signal == SIGTRAP) // what the compiler's check of alignment executes
    launch_fail(error_misaligned_address, "access at an address that the size of its type does not divide");
  if (stack_guards(address)) launch_fail(error_launch_failed, "the thread's stack is full");
  if (shared_guards(address)) launch_fail(error_illegal_address, "address outside the block's shared memory");
  launch_fail(error_illegal_address, "access to " + memory_describe(fault_address));
}

// land makes the interrupted code continue in landing, at the top of its stack: it may
// have overflowed, and nothing on it is needed.
static void land(ucontext_t *context) {
  Stack *stack = block.fiber[place.number].stack;
  stack_abandon(stack);
  uintptr_t top = (uintptr_t)stack->low + stack->top;
#if defined(__x86_64__)
  context->uc_mcontext.gregs[REG_RSP] = (greg_t)(top - 8);
  context->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)landing;
#elif defined(__aarch64__)
  context->uc_mcontext.sp = top;
  context->uc_mcontext.pc = (uintptr_t)landing;
#endif
}

// chain passes a signal on to the handler that was there before us.
static void chain(int signal, siginfo_t *info, void *context) {
  const struct sigaction &old = previous[signal];
  if (old.sa_flags & SA_SIGINFO) return old.sa_sigaction(signal, info, context);
  if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) return old.sa_handler(signal);
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr); // the instruction is repeated and ends the process
}

static void handle(int signal, siginfo_t *info, void *context) {
  if (executor.load() != syscall(SYS_gettid)) return chain(signal, info, context);
  uintptr_t address = (uintptr_t)info->si_addr;
  bool memory = signal == SIGSEGV || signal == SIGBUS;
  if (memory && memory_in_range(address) && memory_open(address)) return; // first use since it was closed
  if (!launch_in_kernel()) return chain(signal, info, context);
  fault_signal = signal;
  fault_address = address;
  land((ucontext_t *)context);
}

void fault_install() {
  static bool installed;
  if (installed) return;
  installed = true;
  struct sigaction ours = {};
  ours.sa_sigaction = handle;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigfillset(&ours.sa_mask);
  for (int s : caught) sigaction(s, &ours, &previous[s]);
}

} // namespace hg_emu
