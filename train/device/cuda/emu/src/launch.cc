#include "launch.h"
#include "codes.h"
#include "options.h"

#include <cstdio>
#include <numeric>

namespace hg_emu {

Place place;
u64 launch_number;
Kernel *kernels;
Block block;

static Fiber caller; // of launch_run
static Failure failure;
static bool in_kernel;

static Dim coordinates[most_threads]; // of each thread of the block
static int turns[most_threads];       // threads in the order in which they run
static int turn;                      // next in turns

bool launch_in_kernel() { return in_kernel; }

u32 lane() { return (u32)block.current & 31; }

static void set_current(int thread) {
  block.current = thread;
  block.state[thread] = running;
  place.thread = coordinates[thread];
}

// pick returns the next thread in turn that can run, or −1 at the end of the pass.
static int pick() {
  while (turn < block.count) {
    int t = turns[turn++];
    if (block.state[t] <= ready) return t;
  }
  return -1;
}

static void runner();

// resume is the fiber that continues a thread; −1 stands for launch_run. A fresh
// thread gets a stack.
static const Fiber &resume(int thread) {
  if (thread < 0) return caller;
  Thread &t = block.thread[thread];
  if (block.state[thread] == fresh) {
    fiber_start(t.fiber, stack_take(), runner);
  } else {
    block.ready_count--;
  }
  set_current(thread);
  return t.fiber;
}

// runner is the entry of a stack. It runs fresh threads one after the other, so a
// thread that never waits costs a function call. A thread that waits keeps the stack.
static void runner() {
  fiber_entered();
  Stack *own = block.thread[block.current].fiber.stack;
  for (;;) {
    stack_reuse(own);
    block.launch->kernel->call(block.launch->kernel->function, block.launch->arguments.data());
    block.state[block.current] = done;
    block.done_count++;
    block.absent[block.current / 32] |= 1u << (block.current & 31);
    int next = pick();
    if (next >= 0 && block.state[next] == fresh) {
      set_current(next);
      block.thread[next].fiber.stack = own;
      continue;
    }
    stack_free(own);
    Fiber ended = {nullptr, own};
    fiber_switch(ended, resume(next));
  }
}

void wait_now(State state) {
  Thread &t = block.thread[block.current];
  block.state[block.current] = state;
  fiber_switch(t.fiber, resume(pick()));
}

void barrier() {
  block.barrier_count++;
  wait_now(at_barrier);
}

void launch_fail(int code, const std::string &text) {
  char where[256];
  const Dim &b = place.block, &t = place.thread;
  snprintf(where, sizeof where, "kernel %s, block (%u,%u,%u), thread (%u,%u,%u): ", block.launch->kernel->name, b.x,
           b.y, b.z, t.x, t.y, t.z);
  failure = {code, where + text};
  Fiber abandoned = block.thread[block.current].fiber;
  fiber_switch(abandoned, caller);
  __builtin_unreachable();
}

// fail_block is launch_fail for what no single thread did.
static void fail_block(int code, const std::string &text) {
  char where[256];
  const Dim &b = place.block;
  snprintf(where, sizeof where, "kernel %s, block (%u,%u,%u): ", block.launch->kernel->name, b.x, b.y, b.z);
  failure = {code, where + text};
}

static void shuffle_turns() {
  for (int i = block.count - 1; i > 0; i--) std::swap(turns[i], turns[random_below(i + 1)]);
}

// open_barrier lets all threads of the block go on where all have arrived.
static bool open_barrier() {
  if (block.barrier_count != block.count) return false;
  block.barrier_count = 0;
  for (int i = 0; i < block.count; i++) block.state[i] = ready;
  block.ready_count = block.count;
  return true;
}

static void run_block() {
  for (int i = 0; i < block.count; i++) block.state[i] = fresh;
  for (int w = 0; w * 32 < block.count; w++) {
    int lanes = block.count - w * 32;
    block.waiting[w] = 0;
    block.absent[w] = lanes < 32 ? ~0u << lanes : 0;
  }
  block.ready_count = block.barrier_count = block.done_count = 0;
  shared_poison();
  do {
    if (order == order_shuffled) shuffle_turns();
    turn = 0;
    int first = pick();
    in_kernel = true;
    if (first >= 0) fiber_switch(caller, resume(first));
    in_kernel = false;
    if (failure.code != 0) return;
  } while (block.ready_count > 0 || open_barrier());
  if (block.done_count < block.count) return fail_block(error_launch_failed, divergence());
  std::string overrun = shared_check();
  if (!overrun.empty()) fail_block(error_illegal_address, overrun);
}

// free_waiting gives back the stacks of threads that a failure left waiting.
static void free_waiting(Stack *current) {
  for (int i = 0; i < block.count; i++)
    if (block.state[i] == ready || block.state[i] == at_barrier || block.state[i] == at_vote)
      stack_free(block.thread[i].fiber.stack);
  if (current) stack_free(current);
}

static void begin(Launch &launch) {
  failure = {};
  launch_number++;
  block.launch = &launch;
  Dim n = launch.threads;
  block.count = (int)(n.x * n.y * n.z);
  place.threads = n;
  place.blocks = launch.blocks;
  for (int i = 0; i < block.count; i++) {
    coordinates[i] = {i % n.x, i / n.x % n.y, i / (n.x * n.y)};
    turns[i] = order == order_reversed ? block.count - 1 - i : i;
  }
  shared_begin(launch.shared, launch.shared_limit);
}

Failure launch_run(Launch &launch) {
  begin(launch);
  Dim n = launch.blocks;
  u64 total = (u64)n.x * n.y * n.z;
  // Shuffled blocks are visited at first + i·step modulo their number.
  u64 first = 0, step = 1;
  if (order == order_reversed) first = total - 1, step = total - 1;
  if (order == order_shuffled) {
    first = random_below((u32)(total < 0xffffffffu ? total : 0xffffffffu));
    do step = random_below(0xffffffffu) % total + 1;
    while (std::gcd(step, total) != 1);
  }
  u64 at = first;
  for (u64 i = 0; i < total; i++) {
    place.block = {(u32)(at % n.x), (u32)(at / n.x % n.y), (u32)(at / n.x / n.y)};
    run_block();
    if (failure.code != 0) {
      bool inside = block.state[block.current] == running;
      free_waiting(inside ? block.thread[block.current].fiber.stack : nullptr);
      break;
    }
    at = (at + step) % total;
  }
  return failure;
}

} // namespace hg_emu
